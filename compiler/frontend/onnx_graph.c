#include <string.h>

#include "compiler/frontend/base/onnx_internal.h"
#include "compiler/frontend/base/onnx_sparse.h"
#include "compiler/frontend/base/onnx_tensor.h"
#include "compiler/frontend/onnx_given.h"

Error *onnx_graph_nodes(
    OnnxImport *import, OnnxScope *scope, Onnx__NodeProto *const *nodes, size_t count) {
    TRY(onnx_order_nodes(import, scope, count, &nodes));
    for (size_t i = 0; i < count; i++) TRY(onnx_node_convert(import, scope, nodes[i]));
    return NULL;
}

/* Of several initializers with one name the last one counts. */
static Error *find_last(const Onnx__GraphProto *graph, NameMap **out_last) {
    OWN(NameMap, last) = NULL;
    TRY(name_map_create(&last));
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const char *name = graph->initializer[i]->name;
        TRY(name_map_set(last, name ? name : "", graph->initializer[i]));
    }
    *out_last = TAKE(last);
    return NULL;
}

static Error *read_initializers(
    OnnxImport *import, OnnxScope *scope, const Onnx__GraphProto *graph) {
    OWN(NameMap, last) = NULL;
    TRY(find_last(graph, &last));
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const Onnx__TensorProto *proto = graph->initializer[i];
        const char *name = proto->name ? proto->name : "";
        IrVariable *constant;
        if (name_map_find(last, name) != proto) continue;
        if (onnx_given_is_wanted(import, scope, name)) continue;
        TRY_WRAP(onnx_constant_tensor(import, proto, &constant), "initializer %s", name);
        TRY(onnx_scope_set(scope, name, constant));
    }
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *proto = graph->sparse_initializer[i];
        const char *name = onnx_sparse_name(proto);
        IrVariable *constant;
        if (!name[0]) FAIL(INVALID, "a sparse initializer whose values have no name");
        TRY_WRAP(onnx_constant_sparse(import, proto, &constant), "initializer %s", name);
        TRY(onnx_scope_set(scope, name, constant));
    }
    return NULL;
}

Error *onnx_graph_body(OnnxImport *import, OnnxScope *scope, const Onnx__GraphProto *graph,
    IrVariable ***out_results) {
    if (graph->n_output > IR_OPERANDS_MAX) FAIL(UNSUPPORTED, "%zu outputs", graph->n_output);
    TRY(read_initializers(import, scope, graph));
    TRY(onnx_graph_nodes(import, scope, graph->node, graph->n_node));
    void *memory;
    TRY(arena_alloc(&import->module->arena, graph->n_output, sizeof(IrVariable *), &memory));
    IrVariable **results = memory;
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = graph->output[i]->name ? graph->output[i]->name : "";
        if (name[0] == '\0') FAIL(INVALID, "output %zu of a graph has no name", i);
        TRY_WRAP(onnx_scope_find(scope, name, &results[i]), "output %s", name);
    }
    *out_results = results;
    return NULL;
}

static Error *read_dimension(
    IrModule *module, const Onnx__TensorShapeProto__Dimension *dimension, int64_t *out) {
    uint32_t symbol;
    *out = IR_DIM_UNKNOWN;
    if (dimension->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        dimension->dim_value >= 0)
        *out = dimension->dim_value;
    const char *name = onnx_dimension_name(dimension);
    if (name) {
        TRY(ir_module_symbol(module, name, &symbol));
        *out = ir_dim_symbol(symbol);
    }
    return NULL;
}

static Error *read_tensor_type(
    IrModule *module, const Onnx__TypeProto *type, const char *name, IrType *out) {
    *out = ir_type_tensor(DTYPE_NONE);
    if (!type || type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET) return NULL;
    if (type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        FAIL(UNSUPPORTED, "%s is not made of tensors but of maps or sparse tensors", name);
    DType dtype = DTYPE_NONE;
    if (type->tensor_type->elem_type) TRY(onnx_dtype(type->tensor_type->elem_type, &dtype));
    *out = ir_type_tensor(dtype);
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    if (!shape) return NULL;
    if (shape->n_dim > SHAPE_RANK_MAX)
        FAIL(UNSUPPORTED, "rank %zu; at most %d", shape->n_dim, SHAPE_RANK_MAX);
    int64_t dims[SHAPE_RANK_MAX] = {0};
    for (size_t i = 0; i < shape->n_dim; i++) TRY(read_dimension(module, shape->dim[i], &dims[i]));
    *out = ir_type_shaped(dtype, (uint32_t)shape->n_dim, dims);
    return NULL;
}

Error *onnx_graph_type(IrModule *module, const Onnx__ValueInfoProto *info, IrType *out) {
    const Onnx__TypeProto *type = info->type;
    const char *name = info->name ? info->name : "a value";
    bool optional = type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
    if (optional) type = type->optional_type->elem_type;
    bool list = type && type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
    if (list) type = type->sequence_type->elem_type;
    if (type && (type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE ||
                    type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE))
        FAIL(UNSUPPORTED, "%s is a sequence of sequences or optionals", name);
    IrType inner;
    TRY(read_tensor_type(module, type, name, out));
    if (list) {
        inner = *out;
        TRY(ir_type_container(module, IR_TYPE_LIST, &inner, out));
    }
    if (optional) {
        inner = *out;
        TRY(ir_type_container(module, IR_TYPE_OPTIONAL, &inner, out));
    }
    return NULL;
}
