#include "tests/compiler/onnx_run.h"

/* Sixteen numbers, all 1. */
#define ONES "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
static const char run[] = "float32[1,16] " ONES " -> float32[1,1] ";

/* One row of sixteen weights in a block; the result is the sum of the weights if A is ones. */
static OnnxModel *model_of(int64_t bits, const char *inputs, const char *b, OnnxNodeProto **out) {
    OnnxModel *model = onnx_model_make(21);
    onnx_add_input(model->graph, "a", "float32");
    onnx_add_initializer(model->graph, "b", b);
    onnx_add_initializer(model->graph, "s", "float32[1,1] 2");
    onnx_add_output(model->graph, "y", "float32");
    *out = onnx_add_node(model->graph, "MatMulNBits", inputs, "y");
    onnx_node_set_domain(*out, "com.microsoft");
    onnx_set_int(*out, "K", 16);
    onnx_set_int(*out, "N", 1);
    onnx_set_int(*out, "bits", bits);
    onnx_set_int(*out, "block_size", 16);
    return model;
}

static void expect(OnnxModel *model, const char *result) {
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, run);
    text_append(&text, result);
    onnx_model_expect(model, text_builder_get(&text));
}

/* Codes 9 and 10 beside fourteen of 8, which is 0 where there is no zero point. */
static const char nibbles[] = "uint8[1,1,8] 169 136 136 136 136 136 136 136";

static void test_onnx_nbits_has_its_zero_in_the_middle(void **state) {
    OnnxNodeProto *node;
    (void)state;
    expect(model_of(4, "a,b,s", nibbles, &node), "6");
    /* 3 beside fifteen of 2 */
    expect(model_of(2, "a,b,s", "uint8[1,1,4] 171 170 170 170", &node), "2");
    expect(model_of(8, "a,b,s",
               "uint8[1,1,16] 129 128 128 128 128 128 128 128 128 128 128 128 128 "
               "128 128 127",
               &node),
        "0");
    /* the codes of three bits cross bytes: 4 is 0, the second one is 5 */
    expect(model_of(3, "a,b,s", "uint8[1,1,6] 44 73 146 36 73 146", &node), "2");
}

static void test_onnx_nbits_takes_zero_points_of_any_form(void **state) {
    OnnxNodeProto *node;
    OnnxModel *model = model_of(4, "a,b,s,z", nibbles, &node);
    (void)state;
    onnx_add_initializer(model->graph, "z", "uint8[1,1] 7");
    expect(model, "38");
    model = model_of(4, "a,b,s,z", nibbles, &node);
    onnx_add_initializer(model->graph, "z", "float32[1,1] 7.5");
    expect(model, "22");
    model = model_of(4, "a,b,s,,g,c", nibbles, &node);
    onnx_add_initializer(model->graph, "g", "int32[16] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    onnx_add_initializer(model->graph, "c", "float32[1] 100");
    expect(model, "106");
}

static void test_onnx_nbits_refuses_sizes_that_do_not_fit(void **state) {
    OnnxNodeProto *node;
    OnnxModel *model;
    (void)state;
    onnx_model_refused(
        INVALID, "B has 1 bytes, not 1 rows of 8", model_of(4, "a,b,s", "uint8[1,1,1] 1", &node));
    onnx_model_refused(INVALID, "bits is 9, not 2 to 8", model_of(9, "a,b,s", nibbles, &node));
    model = model_of(4, "a,b,s,,g", nibbles, &node);
    onnx_add_initializer(model->graph, "g", "int32[16] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1");
    onnx_model_refused(INVALID, "g_idx 1 of 1 blocks", model);
    model = model_of(4, "a,a,s", nibbles, &node);
    onnx_model_refused(UNSUPPORTED, "input B is computed", model);
}

/* Code 3 of FP4 is 1, code 11 is -1; the first code of a byte is in its high bits. */
static void test_onnx_nbits_reads_tables_of_four_bits(void **state) {
    OnnxModel *model = onnx_model_make(21);
    OnnxNodeProto *node;
    (void)state;
    onnx_add_input(model->graph, "a", "float32[1,3]");
    onnx_add_initializer(model->graph, "b", "uint8[2] 59 48");
    onnx_add_initializer(model->graph, "s", "float32[1] 2");
    onnx_add_output(model->graph, "y", "float32");
    node = onnx_add_node(model->graph, "MatMulBnb4", "a,b,s", "y");
    onnx_node_set_domain(node, "com.microsoft");
    onnx_set_int(node, "K", 3);
    onnx_set_int(node, "N", 1);
    onnx_set_int(node, "block_size", 16);
    onnx_set_int(node, "quant_type", 0);
    onnx_model_expect(model, "float32[1,3] 1 10 100 -> float32[1,1] 182");
}

int test_onnx_nbits(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_nbits_has_its_zero_in_the_middle),
        cmocka_unit_test(test_onnx_nbits_takes_zero_points_of_any_form),
        cmocka_unit_test(test_onnx_nbits_refuses_sizes_that_do_not_fit),
        cmocka_unit_test(test_onnx_nbits_reads_tables_of_four_bits),
    };
    return cmocka_run_group_tests_name("onnx_nbits", tests, NULL, NULL);
}
