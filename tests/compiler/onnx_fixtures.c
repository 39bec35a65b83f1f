#include "tests/compiler/onnx_fixtures.h"

#include <stdlib.h>

#include "base/text.h"
#include "kernels/tensor/dtype_bits.h"
#include "kernels/tensor/shape.h"

enum { LIST_MAX = 4096, WORD_SIZE = 64 };

/* protobuf-c frees what it unpacked with free(), so messages made here come from malloc. */
static void *zeroed(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    assert_non_null(memory);
    return memory;
}

char *onnx_text(const char *text) {
    char *copy = zeroed(strlen(text) + 1, 1);
    memcpy(copy, text, strlen(text) + 1);
    return copy;
}

/* Puts an item behind a repeated field of messages. The array doubles where it is full, at each
 * power of two: a sanitizer's realloc always copies, and some nodes have 70000 inputs. */
static void append(void *array_field, size_t *inout_count, void *item) {
    void **array;
    const size_t count = *inout_count;
    memcpy(&array, array_field, sizeof array);
    if ((count & (count - 1)) == 0) array = realloc(array, (count ? 2 * count : 1) * sizeof *array);
    assert_non_null(array);
    array[count] = item;
    *inout_count = count + 1;
    memcpy(array_field, &array, sizeof array);
}

/* "a,,b" */
static char **split(const char *text, size_t *out_count) {
    char **names = NULL;
    size_t count = 0;
    for (const char *at = text; at && *text;) {
        const char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        char *name = zeroed(length + 1, 1);
        memcpy(name, at, length);
        append(&names, &count, name);
        at = comma ? comma + 1 : NULL;
    }
    *out_count = count;
    return names;
}

OnnxGraph *onnx_graph_make(void) {
    OnnxGraph *graph = zeroed(1, sizeof *graph);
    onnx__graph_proto__init(graph);
    graph->name = onnx_text("graph");
    return graph;
}

void onnx_model_import_domain(OnnxModel *model, const char *domain, int64_t version) {
    Onnx__OperatorSetIdProto *import = zeroed(1, sizeof *import);
    onnx__operator_set_id_proto__init(import);
    import->domain = onnx_text(domain);
    import->has_version = 1;
    import->version = version;
    append(&model->opset_import, &model->n_opset_import, import);
}

OnnxModel *onnx_model_make(int64_t opset) {
    OnnxModel *model = zeroed(1, sizeof *model);
    onnx__model_proto__init(model);
    model->has_ir_version = 1;
    model->ir_version = 8;
    model->graph = onnx_graph_make();
    onnx_model_import_domain(model, "", opset);
    return model;
}

/* A tensor's text, taken apart. */
typedef struct TensorText {
    DType dtype;
    bool shaped;
    size_t rank;
    char dims[SHAPE_RANK_MAX + 1][WORD_SIZE];
    const char *values; /* "" where only a type is meant */
} TensorText;

static TensorText parse_tensor(const char *text) {
    TensorText parsed = {0};
    char name[WORD_SIZE];
    text += strspn(text, " ");
    size_t length = strcspn(text, "[ ;");
    assert_true(length < sizeof name);
    memcpy(name, text, length);
    name[length] = 0;
    parsed.dtype = dtype_find(name);
    if (parsed.dtype == DTYPE_NONE) fail_msg("no element type %s", name);
    parsed.values = text + length;
    if (*parsed.values != '[') return parsed;
    parsed.shaped = true;
    const char *at = parsed.values + 1;
    while (*at != ']') {
        length = strcspn(at, ",]");
        assert_true(parsed.rank <= SHAPE_RANK_MAX && length < WORD_SIZE);
        memcpy(parsed.dims[parsed.rank], at, length);
        parsed.dims[parsed.rank++][length] = 0;
        at += length;
        if (*at == ',') at++;
    }
    parsed.values = at + 1;
    return parsed;
}

static Onnx__TensorShapeProto *make_shape(const TensorText *text) {
    Onnx__TensorShapeProto *shape = zeroed(1, sizeof *shape);
    onnx__tensor_shape_proto__init(shape);
    for (size_t i = 0; i < text->rank; i++) {
        Onnx__TensorShapeProto__Dimension *dimension = zeroed(1, sizeof *dimension);
        onnx__tensor_shape_proto__dimension__init(dimension);
        int64_t value;
        if (text_parse_i64(text->dims[i], &value)) {
            dimension->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dimension->dim_value = value;
        } else if (strcmp(text->dims[i], "?") != 0) {
            dimension->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dimension->dim_param = onnx_text(text->dims[i]);
        }
        append(&shape->dim, &shape->n_dim, dimension);
    }
    return shape;
}

static bool take_word(const char **inout_text, const char *word) {
    if (strncmp(*inout_text, word, strlen(word)) != 0) return false;
    *inout_text += strlen(word);
    return true;
}

static Onnx__TypeProto *make_type(const char *type);

static Onnx__TypeProto *make_list_type(const char *element) {
    Onnx__TypeProto *type = zeroed(1, sizeof *type);
    onnx__type_proto__init(type);
    type->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
    type->sequence_type = zeroed(1, sizeof *type->sequence_type);
    onnx__type_proto__sequence__init(type->sequence_type);
    type->sequence_type->elem_type = make_type(element);
    return type;
}

static Onnx__TypeProto *make_optional_type(const char *element) {
    Onnx__TypeProto *type = zeroed(1, sizeof *type);
    onnx__type_proto__init(type);
    type->value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
    type->optional_type = zeroed(1, sizeof *type->optional_type);
    onnx__type_proto__optional__init(type->optional_type);
    type->optional_type->elem_type = make_type(element);
    return type;
}

/* As deep as the text has words. */
static Onnx__TypeProto *make_type(const char *type) {
    if (take_word(&type, "optional ")) return make_optional_type(type);
    if (take_word(&type, "list ")) return make_list_type(type);
    TensorText text = parse_tensor(type);
    Onnx__TypeProto__Tensor *tensor = zeroed(1, sizeof *tensor);
    onnx__type_proto__tensor__init(tensor);
    tensor->has_elem_type = 1;
    tensor->elem_type = (int32_t)text.dtype;
    if (text.shaped) tensor->shape = make_shape(&text);
    Onnx__TypeProto *made = zeroed(1, sizeof *made);
    onnx__type_proto__init(made);
    made->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    made->tensor_type = tensor;
    return made;
}

static Onnx__ValueInfoProto *make_value(const char *name, const char *type) {
    Onnx__ValueInfoProto *value = zeroed(1, sizeof *value);
    onnx__value_info_proto__init(value);
    value->name = onnx_text(name);
    if (type[0]) value->type = make_type(type);
    return value;
}

void onnx_add_input(OnnxGraph *graph, const char *name, const char *type) {
    append(&graph->input, &graph->n_input, make_value(name, type));
}

void onnx_add_output(OnnxGraph *graph, const char *name, const char *type) {
    append(&graph->output, &graph->n_output, make_value(name, type));
}

/* Shape and bytes of a text's tensor; the caller frees the bytes. */
static uint8_t *make_bytes(const TensorText *text, Shape *out_shape, size_t *out_size) {
    uint64_t bytes;
    *out_shape = (Shape){.rank = (uint32_t)text->rank};
    for (size_t i = 0; i < text->rank; i++)
        assert_true(text_parse_i64(text->dims[i], &out_shape->dims[i]));
    assert_ok(shape_bytes(out_shape, text->dtype, &bytes));
    const uint64_t count = (uint64_t)shape_count_unchecked(out_shape);
    uint8_t *data = zeroed(bytes, 1);
    const char *at = text->values;
    for (uint64_t i = 0; i < count; i++) {
        char *end;
        double value = strtod(at, &end);
        if (end == at) fail_msg("too few values: %s", text->values);
        assert_true(dtype_bits_write_element(text->dtype, data, i, value));
        at = end;
    }
    *out_size = bytes;
    return data;
}

OnnxTensor *onnx_tensor_make(const char *name, const char *tensor) {
    TensorText text = parse_tensor(tensor);
    OnnxTensor *made = zeroed(1, sizeof *made);
    onnx__tensor_proto__init(made);
    made->name = onnx_text(name);
    made->has_data_type = 1;
    made->data_type = (int32_t)text.dtype;
    made->n_dims = text.rank;
    made->dims = zeroed(text.rank, sizeof *made->dims);
    for (size_t i = 0; i < text.rank; i++)
        assert_true(text_parse_i64(text.dims[i], &made->dims[i]));
    if (!text.values[0]) return made;
    Shape shape;
    made->has_raw_data = 1;
    made->raw_data.data = make_bytes(&text, &shape, &made->raw_data.len);
    return made;
}

OnnxTensor *onnx_add_initializer(OnnxGraph *graph, const char *name, const char *tensor) {
    OnnxTensor *made = onnx_tensor_make(name, tensor);
    append(&graph->initializer, &graph->n_initializer, made);
    return made;
}

static OnnxNodeProto *make_node(const char *op_type, const char *inputs, const char *outputs) {
    OnnxNodeProto *node = zeroed(1, sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = onnx_text(op_type);
    node->input = split(inputs, &node->n_input);
    node->output = split(outputs, &node->n_output);
    return node;
}

OnnxNodeProto *onnx_add_node(
    OnnxGraph *graph, const char *op_type, const char *inputs, const char *outputs) {
    OnnxNodeProto *node = make_node(op_type, inputs, outputs);
    append(&graph->node, &graph->n_node, node);
    return node;
}

OnnxFunction *onnx_add_function(OnnxModel *model, const char *domain, const char *name,
    const char *inputs, const char *outputs) {
    OnnxFunction *function = zeroed(1, sizeof *function);
    onnx__function_proto__init(function);
    function->domain = onnx_text(domain);
    function->name = onnx_text(name);
    function->input = split(inputs, &function->n_input);
    function->output = split(outputs, &function->n_output);
    append(&model->functions, &model->n_functions, function);
    return function;
}

OnnxNodeProto *onnx_function_add_node(
    OnnxFunction *function, const char *op_type, const char *inputs, const char *outputs) {
    OnnxNodeProto *node = make_node(op_type, inputs, outputs);
    append(&function->node, &function->n_node, node);
    return node;
}

void onnx_node_set_domain(OnnxNodeProto *node, const char *domain) {
    node->domain = onnx_text(domain);
}

/* Fields of a schema later than the one that protobuf-c reads. */
static void add_unknown_text(ProtobufCMessage *message, unsigned tag, const char *text) {
    const unsigned count = message->n_unknown_fields;
    const size_t size = strlen(text);
    assert_true(size < 128);
    message->unknown_fields =
        realloc(message->unknown_fields, (count + 1) * sizeof(ProtobufCMessageUnknownField));
    assert_non_null(message->unknown_fields);
    ProtobufCMessageUnknownField *field = &message->unknown_fields[count];
    *field = (ProtobufCMessageUnknownField){.tag = tag,
        .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
        .len = size + 1,
        .data = zeroed(1, size + 1)};
    field->data[0] = (uint8_t)size;
    memcpy(field->data + 1, text, size);
    message->n_unknown_fields = count + 1;
}

void onnx_node_set_overload(OnnxNodeProto *node, const char *overload) {
    add_unknown_text(&node->base, 8, overload);
}

void onnx_function_set_overload(OnnxFunction *function, const char *overload) {
    add_unknown_text(&function->base, 13, overload);
}

void onnx_node_set_name(OnnxNodeProto *node, const char *name) { node->name = onnx_text(name); }

static OnnxAttribute *add_attribute(
    OnnxNodeProto *node, const char *name, Onnx__AttributeProto__AttributeType type) {
    OnnxAttribute *attribute = zeroed(1, sizeof *attribute);
    onnx__attribute_proto__init(attribute);
    attribute->name = onnx_text(name);
    attribute->has_type = 1;
    attribute->type = type;
    append(&node->attribute, &node->n_attribute, attribute);
    return attribute;
}

OnnxAttribute *onnx_set_int(OnnxNodeProto *node, const char *name, int64_t value) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    attribute->has_i = 1;
    attribute->i = value;
    return attribute;
}

OnnxAttribute *onnx_set_float(OnnxNodeProto *node, const char *name, float value) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    attribute->has_f = 1;
    attribute->f = value;
    return attribute;
}

OnnxAttribute *onnx_set_text(OnnxNodeProto *node, const char *name, const char *value) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    attribute->has_s = 1;
    attribute->s.data = (uint8_t *)onnx_text(value);
    attribute->s.len = strlen(value);
    return attribute;
}

OnnxAttribute *onnx_set_ints(OnnxNodeProto *node, const char *name, const char *values) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    attribute->ints = zeroed(strlen(values), sizeof *attribute->ints);
    for (char *end = NULL; *values; values = end) {
        attribute->ints[attribute->n_ints++] = strtoll(values, &end, 10);
        assert_true(end > values);
    }
    return attribute;
}

Onnx__SparseTensorProto *onnx_sparse_make(
    const char *name, const char *values, const char *indices, const char *dims) {
    Onnx__SparseTensorProto *sparse = zeroed(1, sizeof *sparse);
    onnx__sparse_tensor_proto__init(sparse);
    if (values) sparse->values = onnx_tensor_make(name, values);
    if (indices) sparse->indices = onnx_tensor_make("indices", indices);
    sparse->dims = zeroed(strlen(dims) + 1, sizeof *sparse->dims);
    for (char *end = NULL; *dims; dims = end) {
        sparse->dims[sparse->n_dims++] = strtoll(dims, &end, 10);
        assert_true(end > dims);
    }
    return sparse;
}

void onnx_add_sparse_initializer(OnnxGraph *graph, Onnx__SparseTensorProto *owned_sparse) {
    append(&graph->sparse_initializer, &graph->n_sparse_initializer, owned_sparse);
}

void onnx_set_sparse(OnnxNodeProto *node, const char *name, Onnx__SparseTensorProto *owned_sparse) {
    add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR)->sparse_tensor =
        owned_sparse;
}

OnnxAttribute *onnx_set_floats(OnnxNodeProto *node, const char *name, const char *values) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    attribute->floats = zeroed(strlen(values), sizeof *attribute->floats);
    for (char *end = NULL; *values; values = end) {
        attribute->floats[attribute->n_floats++] = strtof(values, &end);
        assert_true(end > values);
    }
    return attribute;
}

OnnxAttribute *onnx_set_texts(OnnxNodeProto *node, const char *name, const char *values) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
    attribute->strings = zeroed(strlen(values), sizeof *attribute->strings);
    while (*values) {
        const size_t length = strcspn(values, " ");
        ProtobufCBinaryData *text = &attribute->strings[attribute->n_strings++];
        text->data = zeroed(length, 1);
        text->len = length;
        memcpy(text->data, values, length);
        values += length + (values[length] == ' ');
    }
    return attribute;
}

OnnxAttribute *onnx_set_tensor(OnnxNodeProto *node, const char *name, const char *tensor) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    attribute->t = onnx_tensor_make("", tensor);
    return attribute;
}

OnnxAttribute *onnx_set_graph(OnnxNodeProto *node, const char *name, OnnxGraph *owned_graph) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
    attribute->g = owned_graph;
    return attribute;
}

OnnxAttribute *onnx_set_reference(OnnxNodeProto *node, const char *name, const char *of_caller) {
    OnnxAttribute *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    attribute->ref_attr_name = onnx_text(of_caller);
    return attribute;
}

uint8_t *onnx_model_pack(OnnxModel *owned_model, size_t *out_size) {
    *out_size = onnx__model_proto__get_packed_size(owned_model);
    uint8_t *bytes = zeroed(*out_size, 1);
    assert_int_equal(onnx__model_proto__pack(owned_model, bytes), *out_size);
    onnx__model_proto__free_unpacked(owned_model, NULL);
    return bytes;
}
