#include "compiler/frontend/base/onnx_wire.h"

#include <stdlib.h>

#include "compiler/frontend/onnx_import.h"
#include "tests/compiler/onnx_run.h"

/* Field numbers of the schema, with the wire type of messages. */
enum {
    MODEL_GRAPH_KEY = 7 << 3 | 2,
    GRAPH_NODE_KEY = 1 << 3 | 2,
    NODE_ATTRIBUTE_KEY = 5 << 3 | 2,
    ATTRIBUTE_GRAPH_KEY = 6 << 3 | 2,
};

/* Something of everything: functions, control flow, attributes of each kind, initializers. */
static uint8_t *varied_model(size_t *out_size) {
    OnnxModel *model = onnx_model_make(13);
    onnx_model_import_domain(model, "own", 1);
    OnnxFunction *function = onnx_add_function(model, "own", "Twice", "a", "b");
    onnx_function_add_node(function, "Add", "a,a", "b");
    onnx_add_input(model->graph, "x", "float32[n,2]");
    onnx_add_initializer(model->graph, "w", "float32[2] 1 2");
    onnx_add_initializer(model->graph, "yes", "bool[] 1");
    OnnxNodeProto *node = onnx_add_node(model->graph, "Twice", "x", "twice");
    onnx_node_set_domain(node, "own");
    node = onnx_add_node(model->graph, "Softmax", "twice", "soft");
    onnx_set_int(node, "axis", 1);
    OnnxGraph *branch = onnx_graph_make();
    onnx_add_node(branch, "Mul", "soft,w", "product");
    onnx_add_output(branch, "product", "float32");
    OnnxGraph *other = onnx_graph_make();
    onnx_set_ints(onnx_add_node(other, "Transpose", "soft", "turned"), "perm", "0 1");
    onnx_add_output(other, "turned", "float32");
    node = onnx_add_node(model->graph, "If", "yes", "y");
    onnx_set_graph(node, "then_branch", branch);
    onnx_set_graph(node, "else_branch", other);
    onnx_add_output(model->graph, "y", "float32[n,2]");
    return onnx_model_pack(model, out_size);
}

/* Either is right, as long as it ends: a module or an Error with a message. */
static bool import_survives(const uint8_t *data, size_t size) {
    /* a copy of its own, so that a sanitizer sees a read behind the end */
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size) memcpy(copy, data, size);
    OWN(IrModule, module) = NULL;
    Error *error = onnx_import(copy, size, NULL, &module);
    bool refused = error != NULL;
    assert_true(refused == (module == NULL));
    if (error) {
        assert_true(error_message(error)[0]);
        assert_int_not_equal(error_code(error), ERROR_INTERNAL);
        error_free(error);
    }
    free(copy);
    return !refused;
}

static void test_onnx_wire_takes_a_varied_model(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = varied_model(&size);
    assert_true(import_survives(bytes, size));
    free(bytes);
}

static void test_onnx_wire_survives_every_truncation(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = varied_model(&size);
    for (size_t cut = 0; cut < size; cut++) (void)import_survives(bytes, cut);
    free(bytes);
}

static void test_onnx_wire_survives_every_flipped_bit(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = varied_model(&size);
    for (size_t i = 0; i < size; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] = (uint8_t)(bytes[i] ^ 1u << bit);
            (void)import_survives(bytes, size);
            bytes[i] = (uint8_t)(bytes[i] ^ 1u << bit);
        }
    free(bytes);
}

static void test_onnx_wire_survives_every_byte_made_extreme(void **state) {
    (void)state;
    static const uint8_t values[] = {0x00, 0x7f, 0x80, 0xff};
    size_t size;
    uint8_t *bytes = varied_model(&size);
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            uint8_t kept = bytes[i];
            bytes[i] = values[k];
            (void)import_survives(bytes, size);
            bytes[i] = kept;
        }
    free(bytes);
}

static void test_onnx_wire_refuses_what_is_no_protobuf(void **state) {
    (void)state;
    OWN(Onnx__ModelProto, model) = NULL;
    static const uint8_t endless[] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t group[] = {0x0b, 0x0c};
    static const uint8_t field_zero[] = {0x02, 0x00};
    static const uint8_t beyond[] = {0x3a, 0x05, 0x0a};
    static const uint8_t huge[] = {
        0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    assert_fails_saying(
        CORRUPT, "broken number", onnx_wire_unpack(endless, sizeof endless, &model));
    assert_fails_saying(CORRUPT, "wire type", onnx_wire_unpack(group, sizeof group, &model));
    assert_fails_saying(
        CORRUPT, "field number", onnx_wire_unpack(field_zero, sizeof field_zero, &model));
    assert_fails_saying(
        CORRUPT, "ends behind its message", onnx_wire_unpack(beyond, sizeof beyond, &model));
    assert_fails_saying(
        CORRUPT, "ends behind its message", onnx_wire_unpack(huge, sizeof huge, &model));
    assert_null(model);
}

/* A field's key and its length; answers how many bytes that took. */
static size_t put_header(uint8_t *to, uint8_t key, size_t length) {
    size_t count = 0;
    to[count++] = key;
    for (; length > 0x7f; length >>= 7) to[count++] = (uint8_t)((length & 0x7f) | 0x80);
    to[count++] = (uint8_t)length;
    return count;
}

/* Messages inside messages, each as long as the rest: graph, node, attribute, graph … Answers the
 * size of all, which stand before the end. */
static size_t nest(uint8_t *end, size_t depth) {
    static const uint8_t keys[] = {GRAPH_NODE_KEY, NODE_ATTRIBUTE_KEY, ATTRIBUTE_GRAPH_KEY};
    size_t size = 0;
    for (size_t i = depth; i-- > 0;) {
        uint8_t header[16];
        size_t count = put_header(header, i == 0 ? MODEL_GRAPH_KEY : keys[(i - 1) % 3], size);
        size += count;
        memcpy(end - size, header, count);
    }
    return size;
}

static void test_onnx_wire_refuses_a_million_levels(void **state) {
    (void)state;
    static const size_t depths[] = {ONNX_NESTING_MAX - 1, ONNX_NESTING_MAX, 1000000};
    enum { BYTES_A_LEVEL = 5 };
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        OWN(Onnx__ModelProto, model) = NULL;
        uint8_t *buffer = malloc(depths[i] * BYTES_A_LEVEL);
        assert_non_null(buffer);
        uint8_t *end = buffer + depths[i] * BYTES_A_LEVEL;
        size_t size = nest(end, depths[i]);
        if (depths[i] < ONNX_NESTING_MAX)
            assert_ok(onnx_wire_unpack(end - size, size, &model));
        else
            assert_fails_saying(
                CORRUPT, "nested deeper", onnx_wire_unpack(end - size, size, &model));
        free(buffer);
    }
}

/* Two bytes make a message of some hundred in memory. */
static void test_onnx_wire_refuses_a_file_that_explodes_in_memory(void **state) {
    (void)state;
    enum { EMPTY_ATTRIBUTES = 400000, SIZE = EMPTY_ATTRIBUTES * 2 };
    OWN(Onnx__ModelProto, model) = NULL;
    uint8_t *buffer = malloc(SIZE + 32);
    assert_non_null(buffer);
    uint8_t node_header[16];
    size_t node_size = put_header(node_header, GRAPH_NODE_KEY, SIZE);
    size_t size = put_header(buffer, MODEL_GRAPH_KEY, node_size + SIZE);
    memcpy(buffer + size, node_header, node_size);
    size += node_size;
    for (size_t i = 0; i < EMPTY_ATTRIBUTES; i++)
        size += put_header(buffer + size, NODE_ATTRIBUTE_KEY, 0);
    assert_fails_saying(CORRUPT, "takes over", onnx_wire_unpack(buffer, size, &model));
    free(buffer);
}

static void test_onnx_wire_refuses_texts_that_are_not_utf8(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(13);
    onnx_add_node(model->graph, "Relu", "x", "y\xff");
    onnx_model_refused(CORRUPT, "not UTF-8", model);
}

/* People's remarks are not looked at: old exporters wrote them in any encoding. */
static void test_onnx_wire_takes_any_bytes_as_doc_string(void **state) {
    (void)state;
    OnnxModel *model = onnx_model_make(13);
    model->doc_string = onnx_text("caf\xe9");
    onnx_add_input(model->graph, "x", "float32[1]");
    onnx_add_output(model->graph, "y", "float32[1]");
    onnx_add_node(model->graph, "Neg", "x", "y");
    onnx_model_expect(model, "float32[1] 2 -> float32[1] -2");
}

int test_onnx_wire(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_wire_takes_a_varied_model),
        cmocka_unit_test(test_onnx_wire_survives_every_truncation),
        cmocka_unit_test(test_onnx_wire_survives_every_flipped_bit),
        cmocka_unit_test(test_onnx_wire_survives_every_byte_made_extreme),
        cmocka_unit_test(test_onnx_wire_refuses_what_is_no_protobuf),
        cmocka_unit_test(test_onnx_wire_refuses_a_million_levels),
        cmocka_unit_test(test_onnx_wire_refuses_a_file_that_explodes_in_memory),
        cmocka_unit_test(test_onnx_wire_refuses_texts_that_are_not_utf8),
        cmocka_unit_test(test_onnx_wire_takes_any_bytes_as_doc_string),
    };
    return cmocka_run_group_tests_name("onnx_wire", tests, NULL, NULL);
}
