#include "compiler/ir/ir_permutation.h"

#include "tests/compiler/compiler_fixtures.h"

/* A binding of an operator with the order as its attribute, or without one. */
static IrBinding binding_of(
    const char *operator_name, const int64_t *order, uint32_t rank, Attributes **out) {
    const OperatorInfo *info = operator_find(operator_name);
    assert_ok(attributes_create(out));
    if (order) assert_ok(attributes_set_ints(*out, "perm", order, rank));
    assert_ok(attributes_check(*out, info));
    return (IrBinding){.kind = IR_OPERATOR, .operator_info = info, .attributes = *out};
}

static void test_ir_permutes_compares_the_whole_order(void **state) {
    (void)state;
    static const int64_t order[4] = {0, 2, 3, 1}, other[4] = {0, 3, 1, 2};
    Attributes *attributes;
    IrBinding binding = binding_of("Transpose", order, 4, &attributes);
    assert_true(ir_permutes(&binding, order, 4));
    assert_false(ir_permutes(&binding, other, 4));
    assert_false(ir_permutes(&binding, order, 3));
    binding.kind = IR_CALL;
    assert_false(ir_permutes(&binding, order, 4));
    assert_false(ir_permutes(NULL, order, 4));
    attributes_release(attributes);
    binding = binding_of("Transpose", NULL, 0, &attributes);
    assert_false(ir_permutes(&binding, order, 4));
    attributes_release(attributes);
    binding = binding_of("Relu", NULL, 0, &attributes);
    assert_false(ir_permutes(&binding, order, 4));
    attributes_release(attributes);
}

static void test_ir_swaps_last_keeps_the_other_dimensions(void **state) {
    (void)state;
    static const struct {
        int64_t order[4];
        uint32_t rank;
        bool swaps;
    } rows[] = {{{1, 0}, 2, true}, {{0, 1}, 2, false}, {{0, 2, 1}, 3, true}, {{2, 0, 1}, 3, false},
        {{0, 1, 3, 2}, 4, true}, {{1, 0, 3, 2}, 4, false}, {{0}, 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Attributes *attributes;
        const IrBinding binding = binding_of("Transpose", rows[i].order, rows[i].rank, &attributes);
        assert_true(ir_swaps_last(&binding) == rows[i].swaps);
        attributes_release(attributes);
    }
    Attributes *attributes;
    const IrBinding reversed = binding_of("Transpose", NULL, 0, &attributes);
    assert_false(ir_swaps_last(&reversed)); /* of a rank that is not known */
    attributes_release(attributes);
}

int test_ir_permutation(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_permutes_compares_the_whole_order),
        cmocka_unit_test(test_ir_swaps_last_keeps_the_other_dimensions),
    };
    return cmocka_run_group_tests_name("ir_permutation", tests, NULL, NULL);
}
