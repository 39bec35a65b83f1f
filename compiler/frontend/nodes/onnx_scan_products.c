/* Products of a scan input's slices with a constant matrix (the input half of a written-out
 * recurrent cell) become one product of the whole input before the loop; each round takes its rows.
 * Otherwise each round would read the whole matrix for one row. */
#include "compiler/frontend/nodes/onnx_scan.h"
#include "compiler/frontend/base/onnx_sparse.h"

/* More columns than this for each of depth would keep more than is saved. */
enum { COLUMNS_PER_DEPTH_MAX = 16 };

static const char *text_of(const char *text) { return text ? text : ""; }

/* The names that the body defines, which hide outer names. */
static Error *body_names(const Onnx__GraphProto *body, NameMap **out) {
    OWN(NameMap, names) = NULL;
    TRY(name_map_create(&names));
    for (size_t i = 0; i < body->n_input; i++)
        TRY(name_map_set(names, text_of(body->input[i]->name), names));
    for (size_t i = 0; i < body->n_initializer; i++)
        TRY(name_map_set(names, text_of(body->initializer[i]->name), names));
    for (size_t i = 0; i < body->n_sparse_initializer; i++)
        TRY(name_map_set(names, onnx_sparse_name(body->sparse_initializer[i]), names));
    for (size_t i = 0; i < body->n_node; i++)
        for (size_t j = 0; j < body->node[i]->n_output; j++)
            TRY(name_map_set(names, body->node[i]->output[j], names));
    *out = TAKE(names);
    return NULL;
}

/* The constant matrix of that outer name, or NULL if there is none or it is too small. */
static IrVariable *matrix_named(const OnnxNode *node, const NameMap *inner, const char *name) {
    IrVariable *found;
    if (name_map_find(inner, name)) return NULL;
    Error *error = onnx_scope_find(node->scope, name, &found);
    if (error) {
        error_free(error); /* the conversion of the body reports the error */
        return NULL;
    }
    const Tensor *tensor = ir_variable_tensor(found);
    if (!tensor || tensor->shape.rank != 2 || !dtype_is_float(tensor->dtype)) return NULL;
    const int64_t depth = tensor->shape.dims[0], columns = tensor->shape.dims[1];
    return (columns + COLUMNS_PER_DEPTH_MAX - 1) / COLUMNS_PER_DEPTH_MAX <= depth ? found : NULL;
}

/* Finds the scan input whose slices have that name and at least one axis; input_count if none
 * has. */
static Error *input_named(
    const OnnxNode *node, const ScanParts *parts, const char *name, uint32_t *out) {
    uint32_t index = 0;
    while (index < parts->input_count &&
           strcmp(text_of(parts->body->input[parts->state_count + index]->name), name) != 0)
        index++;
    *out = parts->input_count;
    if (index == parts->input_count) return NULL;
    IrType type;
    int64_t axis;
    TRY(onnx_graph_type(
        node->import->module, parts->body->input[parts->state_count + index], &type));
    TRY(onnx_scan_list_entry(node, "scan_input_axes", index, parts->input_count, &axis));
    if (axis == 0 && type.kind == IR_TYPE_TENSOR && type.rank_known && type.rank > 0) *out = index;
    return NULL;
}

static bool is_product(const Onnx__NodeProto *node) {
    return onnx_is_default_domain(node->domain) && node->op_type &&
           strcmp(node->op_type, "MatMul") == 0 && node->n_input == 2 && node->n_output == 1;
}

/* whole NULL: the node stays in the body. */
static Error *take(const OnnxNode *node, const ScanParts *parts, const NameMap *inner,
    const Onnx__NodeProto *product, ScanProduct *out) {
    OnnxLocalFunction *function;
    *out = (ScanProduct){.name = is_product(product) ? product->output[0] : NULL};
    if (!out->name || !out->name[0]) return NULL;
    TRY(onnx_function_find(node->import->functions, product, &function));
    if (function) return NULL; /* a function of the model that is called MatMul */
    TRY(input_named(node, parts, product->input[0], &out->input));
    if (out->input == parts->input_count) return NULL;
    IrVariable *matrix = matrix_named(node, inner, product->input[1]);
    if (!matrix) return NULL;
    return ir_build_simple(ir_at_end(parts->block), "MatMul", NULL, parts->inputs[out->input],
        matrix, NULL, &out->whole);
}

Error *onnx_scan_take_products(const OnnxNode *node, ScanParts *parts) {
    const Onnx__GraphProto *body = parts->body;
    Arena *arena = &node->import->module->arena;
    void *products, *rest, *graph;
    OWN(NameMap, inner) = NULL;
    TRY(body_names(body, &inner));
    TRY(arena_alloc(arena, body->n_node, sizeof(ScanProduct), &products));
    TRY(arena_alloc(arena, body->n_node, sizeof(Onnx__NodeProto *), &rest));
    TRY(arena_alloc(arena, 1, sizeof(Onnx__GraphProto), &graph));
    Onnx__GraphProto *left = graph;
    *left = *body;
    left->node = rest;
    left->n_node = 0;
    parts->products = products;
    for (size_t i = 0; i < body->n_node; i++) {
        ScanProduct *product = &parts->products[parts->product_count];
        TRY(take(node, parts, inner, body->node[i], product));
        if (product->whole)
            parts->product_count++;
        else
            left->node[left->n_node++] = body->node[i];
    }
    parts->body = left;
    return NULL;
}
