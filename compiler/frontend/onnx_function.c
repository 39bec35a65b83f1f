/* Local functions of a model: found by their key, expanded at their calls. */
#include "base/allocator.h"
#include "compiler/frontend/base/onnx_internal.h"
#include "compiler/frontend/base/onnx_wire.h"
#include "kernels/tensor/string_tensor.h"

/* The schema of this reader is older than FunctionProto.attribute_proto and than overloads. Both
 * therefore are among the unknown fields, as bytes. */
enum {
    ATTRIBUTE_DEFAULTS_FIELD = 11,
    FUNCTION_OVERLOAD_FIELD = 13,
    NODE_OVERLOAD_FIELD = 8,
    OVERLOAD_LENGTH_MAX = 1024,
};

/* The name by which nodes call a function; absent parts are "". */
typedef struct FunctionName {
    const char *domain, *name;
    StringView overload;
} FunctionName;

/* "domain:name", "domain:name:overload" */
static Error *print_name(const FunctionName *name, TextBuilder *out) {
    text_appendf(out, "%s:%s", name->domain, name->name);
    if (name->overload.size)
        text_appendf(out, ":%.*s", (int)name->overload.size, name->overload.text);
    return text_builder_check(out);
}

/* The key has lengths, since each part may hold a colon. */
static Error *make_key(const FunctionName *name, TextBuilder *out) {
    text_appendf(out, "%zu:%zu:", strlen(name->domain), strlen(name->name));
    return print_name(name, out);
}

/* The bytes of an unknown field begin with their length. */
static Error *read_unknown(
    const ProtobufCMessageUnknownField *field, const char *what, StringView *out) {
    uint64_t size = 0;
    size_t at = 0;
    bool ended = false;
    for (unsigned shift = 0; !ended && at < field->len && shift < 64; shift += 7) {
        size |= (uint64_t)(field->data[at] & 0x7f) << shift;
        ended = !(field->data[at++] & 0x80);
    }
    if (field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED || !ended ||
        size != field->len - at)
        FAIL(CORRUPT, "%s that is none", what);
    *out = (StringView){(const char *)field->data + at, size};
    return NULL;
}

/* Reads a function's overload; an absent one is empty. */
static Error *read_overload(const ProtobufCMessage *message, unsigned tag, StringView *out) {
    StringView found = {"", 0};
    for (unsigned i = 0; i < message->n_unknown_fields; i++)
        if (message->unknown_fields[i].tag == tag)
            TRY(read_unknown(&message->unknown_fields[i], "an overload", &found));
    if (found.size > OVERLOAD_LENGTH_MAX || !text_is_utf8(found.text, found.size) ||
        memchr(found.text, 0, found.size))
        FAIL(CORRUPT, "an overload that is no text of at most %d bytes", OVERLOAD_LENGTH_MAX);
    *out = found;
    return NULL;
}

static Error *read_name(const char *domain, const char *name, const ProtobufCMessage *message,
    unsigned overload_field, FunctionName *out) {
    *out = (FunctionName){onnx_is_default_domain(domain) ? "" : domain, name ? name : "", {"", 0}};
    return read_overload(message, overload_field, &out->overload);
}

static Error *name_of_node(const Onnx__NodeProto *node, FunctionName *out) {
    return read_name(node->domain, node->op_type, &node->base, NODE_OVERLOAD_FIELD, out);
}

static Error *unpack_default(
    const ProtobufCMessageUnknownField *field, Onnx__AttributeProto **out) {
    StringView bytes;
    TRY(read_unknown(field, "a default value", &bytes));
    TRY(onnx_wire_unpack_attribute((const uint8_t *)bytes.text, bytes.size, out));
    if ((*out)->name && (*out)->name[0] && !((*out)->ref_attr_name && (*out)->ref_attr_name[0]))
        return NULL;
    FAIL(INVALID, "a default value without a name, or that refers to another attribute");
}

static Error *read_defaults(OnnxLocalFunction *function) {
    const ProtobufCMessage *base = &function->proto->base;
    void *memory;
    TRY(memory_alloc(base->n_unknown_fields, sizeof *function->defaults, &memory));
    function->defaults = memory;
    for (unsigned i = 0; i < base->n_unknown_fields; i++) {
        if (base->unknown_fields[i].tag != ATTRIBUTE_DEFAULTS_FIELD) continue;
        TRY(unpack_default(
            &base->unknown_fields[i], &function->defaults[function->default_count++]));
    }
    return NULL;
}

static Error *read_function(OnnxLocalFunction *function, NameMap *by_key) {
    const Onnx__FunctionProto *proto = function->proto;
    FunctionName name;
    TextBuilder OWN_TEXT(key) = {0};
    TextBuilder OWN_TEXT(label) = {0};
    TRY_WRAP(read_name(proto->domain, proto->name, &proto->base, FUNCTION_OVERLOAD_FIELD, &name),
        "function %s", proto->name ? proto->name : "");
    TRY(make_key(&name, &key));
    TRY(print_name(&name, &label));
    if (name_map_find(by_key, text_builder_get(&key)))
        FAIL(INVALID, "function %s is there twice", text_builder_get(&label));
    TRY_WRAP(read_defaults(function), "function %s", text_builder_get(&label));
    return name_map_set(by_key, text_builder_get(&key), function);
}

Error *onnx_functions_read(
    const Onnx__ModelProto *model, NameMap *by_key, OnnxLocalFunctions *out) {
    void *memory;
    TRY(memory_alloc(model->n_functions, sizeof(OnnxLocalFunction), &memory));
    out->items = memory;
    out->count = model->n_functions;
    for (size_t i = 0; i < model->n_functions; i++) {
        out->items[i].proto = model->functions[i];
        TRY(read_function(&out->items[i], by_key));
    }
    return NULL;
}

void onnx_functions_deinit(OnnxLocalFunctions *functions) {
    for (size_t i = 0; i < functions->count; i++) {
        for (uint32_t j = 0; j < functions->items[i].default_count; j++)
            onnx_wire_release_attribute(functions->items[i].defaults[j]);
        memory_free(functions->items[i].defaults);
    }
    memory_free(functions->items);
    *functions = (OnnxLocalFunctions){0};
}

Error *onnx_function_find(NameMap *by_key, const Onnx__NodeProto *node, OnnxLocalFunction **out) {
    FunctionName name;
    *out = NULL;
    if (name_map_count(by_key) == 0 && node->base.n_unknown_fields == 0) return NULL;
    TRY(name_of_node(node, &name));
    TextBuilder OWN_TEXT(key) = {0};
    TRY(make_key(&name, &key));
    *out = name_map_find(by_key, text_builder_get(&key));
    if (*out || name.overload.size == 0) return NULL;
    /* no operator has overloads */
    TextBuilder OWN_TEXT(label) = {0};
    TRY(print_name(&name, &label));
    FAIL(INVALID, "the model has no function %s", text_builder_get(&label));
}

static Error *count_function(NameMap *by_key, OnnxLocalFunction *function, uint32_t depth);

/* depth: of the scope in which the nodes would be expanded. Nodes deeper than ONNX_CALL_DEPTH_MAX
 * are not counted: expansion refuses the call at that depth. */
static Error *count_nodes(NameMap *by_key, Onnx__NodeProto *const *nodes, size_t count,
    uint32_t depth, uint32_t *inout_total) {
    const uint32_t too_many = ONNX_EXPANDED_NODES_MAX + 1;
    for (size_t i = 0; i < count && *inout_total < too_many && depth <= ONNX_CALL_DEPTH_MAX; i++) {
        OnnxLocalFunction *called;
        TRY(onnx_function_find(by_key, nodes[i], &called));
        if (called) TRY(count_function(by_key, called, depth + 1));
        *inout_total += 1 + (called ? called->node_count : 0);
        for (size_t j = 0; j < nodes[i]->n_attribute; j++) {
            const Onnx__AttributeProto *attribute = nodes[i]->attribute[j];
            const Onnx__GraphProto *body = attribute->g;
            if (body) TRY(count_nodes(by_key, body->node, body->n_node, depth + 1, inout_total));
        }
        if (*inout_total > too_many) *inout_total = too_many;
    }
    return NULL;
}

/* A function that is counted already may call itself; expansion refuses it. */
static Error *count_function(NameMap *by_key, OnnxLocalFunction *function, uint32_t depth) {
    if (function->counted) return NULL;
    function->counted = true;
    uint32_t total = 0;
    TRY(count_nodes(by_key, function->proto->node, function->proto->n_node, depth, &total));
    function->node_count = total;
    return NULL;
}

static Error *bind_and_fill(
    const OnnxNode *node, const Onnx__FunctionProto *function, OnnxScope *scope) {
    if (scope->depth > ONNX_CALL_DEPTH_MAX)
        FAIL(UNSUPPORTED, "functions nested deeper than %d", ONNX_CALL_DEPTH_MAX);
    for (uint32_t i = 0; i < function->n_input; i++)
        TRY(onnx_input(node, i) ? name_map_set(scope->names, function->input[i], node->inputs[i])
                                : onnx_scope_set_absent(scope, function->input[i]));
    TRY(onnx_graph_nodes(node->import, scope, function->node, function->n_node));
    for (uint32_t i = 0; i < function->n_output && i < node->proto->n_output; i++) {
        IrVariable *result;
        TRY(onnx_scope_find(scope, function->output[i], &result));
        TRY(onnx_node_set_output(node, i, result));
    }
    return NULL;
}

Error *onnx_function_expand(const OnnxNode *node, OnnxLocalFunction *called) {
    const Onnx__FunctionProto *function = called->proto;
    OnnxScope scope;
    int64_t opset;
    for (const OnnxScope *caller = node->scope; caller; caller = caller->caller_scope)
        if (caller->function == called)
            FAIL(INVALID, "function %s:%s calls itself", function->domain, function->name);
    if (node->input_count > function->n_input || node->output_count > function->n_output)
        FAIL(INVALID, "%u inputs and %u outputs for a function of %zu and %zu", node->input_count,
            node->output_count, function->n_input, function->n_output);
    TRY(count_function(node->import->functions, called, node->scope->depth + 1));
    TRY(onnx_check_room(node->import, called->node_count));
    TRY(onnx_import_opset(function->opset_import, function->n_opset_import, &opset));
    TRY(onnx_scope_init(&scope, NULL, node->scope->block));
    scope.function = called;
    scope.caller = node->proto;
    scope.caller_scope = node->scope;
    scope.depth = node->scope->depth + 1;
    scope.opset = opset ? opset : node->scope->opset;
    Error *error = bind_and_fill(node, function, &scope);
    onnx_scope_deinit(&scope);
    return error;
}
