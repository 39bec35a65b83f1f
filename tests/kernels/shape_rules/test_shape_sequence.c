#include "tests/kernels/fixtures/infer_fixture.h"

static void test_rotary_embedding_rule_checks_every_operand(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"RotaryEmbedding", NULL, "float32[2,3,4,8] float32[2,4,4] float32[2,4,4]",
            "float32[2, 3, 4, 8]"},
        {"RotaryEmbedding", "{num_heads=3, rotary_embedding_dim=4}",
            "float16[2,4,24] float16[9,2] float16[9,2] int64[2,4]", "float16[2, 4, 24]"},
        {"RotaryEmbedding", NULL, "int32[2,3,4,8] int32[2,4,4] int32[2,4,4]", "! input 0 is int32"},
        {"RotaryEmbedding", NULL, "float32[2,8] float32[2,4,4] float32[2,4,4]",
            "! input 0 has rank 2, not 3 or 4"},
        {"RotaryEmbedding", NULL, "float32[2,4,24] float32[2,4,4] float32[2,4,4]",
            "! num_heads 0 for 24 columns"},
        {"RotaryEmbedding", "{num_heads=5}", "float32[2,4,24] float32[2,4,4] float32[2,4,4]",
            "! num_heads 5 for 24 columns"},
        {"RotaryEmbedding", "{rotary_embedding_dim=10}",
            "float32[2,3,4,8] float32[2,4,4] float32[2,4,4]",
            "! 10 of 8 columns of a head to rotate"},
        {"RotaryEmbedding", "{rotary_embedding_dim=3}",
            "float32[2,3,4,8] float32[2,4,4] float32[2,4,4]", "! 3 of 8 columns"},
        {"RotaryEmbedding", NULL, "float32[2,3,4,8] float32[2,4,3] float32[2,4,3]",
            "! input 1 has shape"},
        {"RotaryEmbedding", NULL, "float32[2,3,4,8] float32[2,4,4] float32[1,4,4]",
            "! input 2 has shape"},
        {"RotaryEmbedding", NULL, "float32[2,3,4,8] float32[9,4] float32[8,4] int64[2,4]",
            "! input 2 has shape"},
        {"RotaryEmbedding", NULL, "float32[2,3,4,8] float32[9,4] float32[9,4] int64[2,5]",
            "! input 3 has shape"},
        {"RotaryEmbedding", NULL, "float32[2,3,4,8] float32[9,4] float32[9,4] int32[2,4]",
            "! input 3 is int32"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_linear_attention_rule_checks_every_operand(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"linear\"}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10]",
            "float32[2, 3, 20] float32[2, 2, 4, 5]"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2}",
            "float16[2,3,16] float16[2,3,8] float16[2,3,10] float32[2,2,4,5] float16[2,3,2] "
            "float16[2,3,1]",
            "float16[2, 3, 20] float32[2, 2, 4, 5]"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10]",
            "! update_rule \"gated_delta\" needs decay"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"delta\"}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10] - float32[2,3,2]",
            "! update_rule \"delta\" does not take decay"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"delta\"}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10]", "! update_rule \"delta\" needs beta"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"gated\"}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10] - float32[2,3,2] float32[2,3,2]",
            "! update_rule \"gated\" does not take beta"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"none\"}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10]", "! update_rule \"none\""},
        {"LinearAttention", "{q_num_heads=3, kv_num_heads=2, update_rule=\"linear\"}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10]", "! q_num_heads 3 and kv_num_heads 2"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"linear\"}",
            "float32[2,3,16] float32[2,3,10] float32[2,3,10]",
            "! 16, 10 and 10 columns for 4 and 2 heads"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"linear\"}",
            "float32[2,3,16] float32[2,4,8] float32[2,3,10]",
            "! dimension 1 of query, key and value differ"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"linear\"}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10] float32[2,2,5,4]",
            "! input 3 has shape"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"gated\"}",
            "float32[2,3,16] float32[2,3,8] float32[2,3,10] - float32[2,3,3]",
            "! input 4 is [2, 3, 3] for 2 heads of 4"},
        {"LinearAttention", "{q_num_heads=4, kv_num_heads=2, update_rule=\"linear\"}",
            "float64[2,3,16] float64[2,3,8] float64[2,3,10]", "! input 0 is float64"},
        {"LinearAttention",
            "{q_num_heads=4611686018427387904, kv_num_heads=1, update_rule=\"linear\"}",
            "float32[0,3,0] float32[0,3,0] float32[0,3,5]", "! 4611686018427387904 heads of 5"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_multinomial_rule_checks_its_operand(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Multinomial", "{sample_size=4}", "float16[2,3]", "int32[2, 4]"},
        {"Multinomial", "{dtype=int64}", "float64[2,3]", "int64[2, 1]"},
        {"Multinomial", "{dtype=float32}", "float32[2,3]", "! dtype float32"},
        {"Multinomial", "{sample_size=-1}", "float32[2,3]", "! sample_size -1"},
        {"Multinomial", NULL, "float32[2,0]", "! samples of 0 classes"},
        {"Multinomial", NULL, "float32[2]", "! input 0 has rank 1"},
        {"Multinomial", NULL, "int32[2,3]", "! input 0 is int32"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_sequence(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rotary_embedding_rule_checks_every_operand),
        cmocka_unit_test(test_linear_attention_rule_checks_every_operand),
        cmocka_unit_test(test_multinomial_rule_checks_its_operand),
    };
    return cmocka_run_group_tests_name("shape_sequence", tests, NULL, NULL);
}
