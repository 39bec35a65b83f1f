#include "tests/kernels/fixtures/infer_fixture.h"

static void test_einsum_infers_its_result(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Einsum", "{equation=\"ij,jk->ik\"}", "float32[2,3] float32[3,4]", "float32[2, 4]"},
        {"Einsum", "{equation=\"...ij,...jk\"}", "int8[5,1,2,3] int8[7,3,4]", "int8[5, 7, 2, 4]"},
        {"Einsum", "{equation=\"iji->j\"}", "float32[2,3,2]", "float32[3]"},
        {"Einsum", "{equation=\"a,b,c,d,e->ebdca\"}",
            "float16[2] float16[3] float16[4] float16[5] float16[6]", "float16[6, 3, 5, 4, 2]"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_einsum_refuses_operands_that_do_not_fit(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Einsum", "{equation=\"i->i\"}", "bool[2]", "! operands of bool"},
        {"Einsum", "{equation=\"i,i->i\"}", "float32[2] float64[2]",
            "! input 0 is float32, input 1 is float64"},
        {"Einsum", "{equation=\"ii->i\"}", "float32[2,3]",
            "! equation: 'i' is 2 and 3 in one operand"},
        {"Einsum", "{equation=\"ij,jk->ik\"}", "float32[2,3] float32[4,5]",
            "! equation: 'j' is 3 and 4"},
        {"Einsum", "{equation=\"...i,...i->...\"}", "float32[2,3] float32[4,3]",
            "! equation: '.' is 2 and 4"},
        {"Einsum", "{equation=\"ab,cd,ef,gh,ij->a\"}",
            "float32[1,1] float32[1,1] float32[1,1] float32[1,1] float32[1,1]", "float32[1]"},
        {"Einsum", "{equation=\"abc,def,ghi,adg,beh,cfi->\"}",
            "float32[2,2,2] float32[2,2,2] float32[2,2,2] float32[2,2,2] float32[2,2,2] "
            "float32[2,2,2]",
            "? an intermediate value of more than 8 dimensions"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_expand_einsum(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_einsum_infers_its_result),
        cmocka_unit_test(test_einsum_refuses_operands_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("expand_einsum", tests, NULL, NULL);
}
