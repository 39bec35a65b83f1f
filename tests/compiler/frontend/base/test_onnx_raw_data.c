#include "compiler/frontend/base/onnx_raw_data.h"

#include <stdlib.h>

#include "base/allocator.h"
#include "compiler/frontend/base/onnx_wire.h"
#include "tests/compiler/onnx_run.h"

/* Sizes around that of a reference, which has 16 bytes, and of a number's first two bytes. */
static const size_t sizes[] = {0, 1, 15, 16, 17, 127, 128, 300, 20000};

static void fill(OnnxTensor *tensor, size_t size, unsigned seed) {
    free(tensor->raw_data.data);
    tensor->has_raw_data = 1;
    tensor->raw_data.len = size;
    tensor->raw_data.data = malloc(size ? size : 1);
    assert_non_null(tensor->raw_data.data);
    for (size_t i = 0; i < size; i++) tensor->raw_data.data[i] = (uint8_t)(i * 7 + seed);
}

static void assert_filled(const OnnxTensor *tensor, size_t size, unsigned seed) {
    assert_true(tensor->has_raw_data);
    assert_int_equal(tensor->raw_data.len, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(tensor->raw_data.data[i], (uint8_t)(i * 7 + seed));
}

static bool lies_in(const OnnxTensor *tensor, const uint8_t *bytes, size_t size) {
    const uintptr_t distance = (uintptr_t)tensor->raw_data.data - (uintptr_t)bytes;
    return distance < size && tensor->raw_data.len <= size - distance;
}

/* A tensor as initializer, as attribute, and as attribute of a graph inside. */
static OnnxModel *make_model(size_t size) {
    OnnxModel *model = onnx_model_make(13);
    OnnxGraph *inner = onnx_graph_make();
    fill(onnx_add_initializer(model->graph, "w", "float32[1] 1"), size, 1);
    fill(onnx_add_initializer(inner, "v", "float32[1] 1"), size, 2);
    onnx_set_graph(onnx_add_node(model->graph, "If", "yes", "y"), "then_branch", inner);
    OnnxNodeProto *node = onnx_add_node(model->graph, "Constant", "", "c");
    onnx_set_tensor(node, "value", "float32[1] 1");
    fill(node->attribute[0]->t, size, 3);
    return model;
}

static void test_onnx_raw_data_stays_where_the_model_is(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        OWN(Onnx__ModelProto, model) = NULL;
        size_t size;
        uint8_t *bytes = onnx_model_pack(make_model(sizes[i]), &size);
        assert_ok(onnx_wire_unpack(bytes, size, &model));
        const Onnx__GraphProto *graph = model->graph;
        const OnnxTensor *tensors[] = {graph->initializer[0],
            graph->node[0]->attribute[0]->g->initializer[0], graph->node[1]->attribute[0]->t};
        for (unsigned t = 0; t < 3; t++) {
            assert_filled(tensors[t], sizes[i], t + 1);
            if (sizes[i] > 0)
                assert_int_equal(
                    lies_in(tensors[t], bytes, size), sizes[i] >= ONNX_RAW_DATA_REFERENCE_SIZE);
        }
        onnx_wire_release(TAKE(model));
        free(bytes);
    }
}

/* What another program can make of a mapped file between two looks at it. */
static void test_onnx_raw_data_refuses_references_that_lead_out_of_the_model(void **state) {
    (void)state;
    static const uint64_t references[][2] = {
        {0, 101}, {101, 16}, {90, 16}, {UINT64_MAX, 16}, {16, UINT64_MAX}, {0, 1}, {0, 0}};
    uint8_t bytes[100] = {0};
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        OnnxTensor *tensor = onnx_tensor_make("t", "float32[1] 1");
        fill(tensor, ONNX_RAW_DATA_REFERENCE_SIZE, 0);
        memcpy(tensor->raw_data.data, references[i], ONNX_RAW_DATA_REFERENCE_SIZE);
        assert_fails_saying(
            CORRUPT, "changed while", onnx_raw_data_resolve(&tensor->base, bytes, sizeof bytes));
        assert_null(tensor->raw_data.data);
        onnx_raw_data_forget(&tensor->base);
        onnx__tensor_proto__free_unpacked(tensor, NULL);
    }
}

static void test_onnx_raw_data_refuses_data_in_place_of_a_reference(void **state) {
    (void)state;
    OnnxTensor *tensor = onnx_tensor_make("t", "float32[1] 1");
    uint8_t bytes[100] = {0};
    fill(tensor, 40, 0);
    assert_fails_saying(
        CORRUPT, "changed while", onnx_raw_data_resolve(&tensor->base, bytes, sizeof bytes));
    onnx_raw_data_forget(&tensor->base);
    onnx__tensor_proto__free_unpacked(tensor, NULL);
}

int test_onnx_raw_data(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_raw_data_stays_where_the_model_is),
        cmocka_unit_test(test_onnx_raw_data_refuses_references_that_lead_out_of_the_model),
        cmocka_unit_test(test_onnx_raw_data_refuses_data_in_place_of_a_reference),
    };
    return cmocka_run_group_tests_name("onnx_raw_data", tests, NULL, NULL);
}
