#include "tests/kernels/fixtures/infer_fixture.h"

#define TABLES "int32[9] int32[3,5] "
#define OWN_KEYS "float32[3,2,8] float32[3,2,8] "

static void test_paged_attention_rule_checks_every_operand(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES OWN_KEYS "- - float32[5,2,2,2,8]",
            "float32[3, 4, 8]"},
        {"PagedAttention", "{value_size=6}",
            "float16[3,4,8] " TABLES "- - - - float16[5,2,1,1,8] float16[5,2,1,1,8]",
            "float16[3, 4, 6]"},
        {"PagedAttention", "{value_size=5}",
            "float32[3,4,8] " TABLES "float32[3,2,8] float32[3,2,5]", "float32[3, 4, 5]"},
        {"PagedAttention", NULL, "float64[3,4,8] " TABLES OWN_KEYS, "! input 0 is float64"},
        {"PagedAttention", NULL, "float32[3,4,0] " TABLES OWN_KEYS, "! queries of 0 elements"},
        {"PagedAttention", "{value_size=-1}", "float32[3,4,8] " TABLES OWN_KEYS, "! value_size -1"},
        {"PagedAttention", NULL, "float32[3,4,8] int64[9] int32[3,5] " OWN_KEYS,
            "! input 1 is int64"},
        {"PagedAttention", NULL, "float32[3,4,8] int32[9] int32[3,4] " OWN_KEYS,
            "! input 2 has shape"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES "float32[3,2,8]",
            "! keys and values come together"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES "float32[3,2,6] float32[3,2,8]",
            "! keys of 6 elements, queries of 8"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES "float32[3,3,8] float32[3,3,8]",
            "! 4 heads of queries share 3 of keys"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES OWN_KEYS "float32[9,2,3]",
            "! input 5 has shape"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES OWN_KEYS "- bool[2,4]",
            "! input 6 has shape"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES OWN_KEYS "- int8[3,4]",
            "! input 6 is int8"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES, "float32[3, 4, 8]"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES OWN_KEYS "- - float32[5,2,3,2,8]",
            "! rows of pages have 3 parts"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES OWN_KEYS "- - float32[5,2,2,1,8]",
            "! pages have 1 heads of 8, not 2 of 8"},
        {"PagedAttention", NULL,
            "float32[3,4,8] " TABLES OWN_KEYS "- - float32[5,2,2,2,8] float32[4,2,2,2,8]",
            "! input 8 has shape"},
        {"PagedAttention", NULL, "float32[3,4,8] " TABLES OWN_KEYS "- - float32[70000,70000,2,2,8]",
            "! pages have too many rows"},
        {"PagedAttention", "{value_size=9}", "float32[3,4,8] " TABLES "- - - - float32[5,2,1,2,8]",
            "! values of 9 elements in pages of 8"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_paged_attention(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paged_attention_rule_checks_every_operand),
    };
    return cmocka_run_group_tests_name("shape_paged_attention", tests, NULL, NULL);
}
