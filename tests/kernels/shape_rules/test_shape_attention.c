#include "tests/kernels/fixtures/infer_fixture.h"

static void test_attention_rule_takes_both_forms_of_operands(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6]",
            "float32[2, 4, 3, 6] float32[2, 2, 5, 8] float32[2, 2, 5, 6] float32[2, 4, 3, 5]"},
        {"Attention", "{q_num_heads=4, kv_num_heads=2}",
            "float32[2,3,32] float32[2,5,16] float32[2,5,12]",
            "float32[2, 3, 24] float32[2, 2, 5, 8]"},
        {"Attention", NULL,
            "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] bool[3,4] float32[2,2,7,8] "
            "float32[2,2,7,6]",
            "float32[2, 4, 3, 6] float32[2, 2, 12, 8] float32[2, 2, 12, 6] float32[2, 4, 3, 12]"},
        {"Attention", NULL, "float16[2,4,3,8] float16[2,2,5,8] float32[2,2,5,6] - - - int64[2]",
            "float16[2, 4, 3, 6] float16[2, 2, 5, 8] float32[2, 2, 5, 6]"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_attention_rule_refuses_what_does_not_fit(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Attention", NULL, "float32[2,8] float32[2,8] float32[2,8]",
            "! input 0 has rank 2, not 3 or 4"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,5,8] float32[2,2,5,6]",
            "! input 1 has rank 3, not 4"},
        {"Attention", NULL, "int32[2,4,3,8] int32[2,2,5,8] int32[2,2,5,6]", "! input 0 is int32"},
        {"Attention", NULL, "float32[2,4,3,8] float64[2,2,5,8] float32[2,2,5,6]",
            "! input 0 is float32, input 1 is float64"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] int64[2,2,5,6]",
            "! input 2 is int64"},
        {"Attention", "{q_num_heads=3}", "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6]",
            "! q_num_heads 3, input 0 has 4"},
        {"Attention", "{kv_num_heads=2}", "float32[2,3,32] float32[2,5,16] float32[2,5,12]",
            "! operands of rank 3 need q_num_heads"},
        {"Attention", "{q_num_heads=5, kv_num_heads=2}",
            "float32[2,3,32] float32[2,5,16] float32[2,5,12]",
            "! q_num_heads 5 does not divide the 32 columns of input 0"},
        {"Attention", "{q_num_heads=-1, kv_num_heads=2}",
            "float32[2,3,32] float32[2,5,16] float32[2,5,12]", "! q_num_heads -1 does not divide"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,7] float32[2,2,5,6]",
            "! keys of 7 elements, queries of 8"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,6,6]",
            "! keys and values do not fit each other or the batch of 2"},
        {"Attention", NULL, "float32[2,4,3,8] float32[1,2,5,8] float32[2,2,5,6]",
            "! keys and values do not fit"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,3,5,8] float32[2,3,5,6]",
            "! 4 heads of queries share 3 of keys"},
        {"Attention", NULL, "float32[2,0,3,8] float32[2,2,5,8] float32[2,2,5,6]",
            "! 0 heads of queries share 2 of keys"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] - float32[2,2,7,8]",
            "! past_key and past_value come together"},
        {"Attention", NULL,
            "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] - float32[2,2,7,8] "
            "float32[2,2,7,6] int64[2]",
            "! nonpad_kv_seqlen together with past_key"},
        {"Attention", NULL,
            "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] - float32[2,2,7,9] "
            "float32[2,2,7,6]",
            "! input 4 has shape"},
        {"Attention", NULL,
            "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] - float32[2,2,7,8] "
            "float32[2,2,6,6]",
            "! input 5 has shape"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] - - - int32[2]",
            "! input 6 is int32"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] - - - int64[3]",
            "! input 6 has shape"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] float32[1,2,4,3,5]",
            "! a mask of rank 5"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] float32[3,6]",
            "! dimension 1 of the mask is 6, the scores have 5"},
        {"Attention", NULL, "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6] float32[3,1,3,5]",
            "! dimension 0 of the mask is 3, the scores have 2"},
        {"Attention", "{left_window_size=-2}", "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6]",
            "! a window from -2 to -1"},
        {"Attention", "{qk_matmul_output_mode=4}",
            "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6]", "! qk_matmul_output_mode 4"},
        {"Attention", "{softmax_precision=int32}",
            "float32[2,4,3,8] float32[2,2,5,8] float32[2,2,5,6]", "! softmax_precision int32"},
        {"Attention", NULL,
            "float32[1,1,1,1] float32[1,1,4611686018427387904,1] "
            "float32[1,1,4611686018427387904,1] - float32[1,1,4611686018427387904,1] "
            "float32[1,1,4611686018427387904,1]",
            "! too many keys"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_attention(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_rule_takes_both_forms_of_operands),
        cmocka_unit_test(test_attention_rule_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("shape_attention", tests, NULL, NULL);
}
