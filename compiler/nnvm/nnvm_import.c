#include "compiler/nnvm/nnvm_import.h"

#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "compiler/nnvm/nnvm_operators.h"
#include "compiler/nnvm/nnvm_params.h"
#include "compiler/relay/relay_build_internal.h"

typedef struct Made {
    uint32_t count;
    IrVariable **results;
    bool wanted; /* a variable that some node reads, not as a label */
    bool shaped; /* a variable with a shape of the graph's */
    Shape shape; /* a dimension of 0 or less is not known */
    DType dtype; /* of a variable */
} Made;

typedef struct NnvmImport {
    const NnvmGraph *graph;
    NnvmParams *params;
    bool has_params;
    IrModule *module;
    IrFunction *main;
    Made *made; /* one a node */
} NnvmImport;

static Error *set_shape(Made *made, const int64_t *dims, uint32_t rank) {
    if (rank > SHAPE_RANK_MAX) FAIL(UNSUPPORTED, "a shape of %u dimensions", rank);
    made->shaped = true;
    made->shape = (Shape){.rank = rank};
    for (uint32_t i = 0; i < rank; i++) made->shape.dims[i] = dims[i];
    return NULL;
}

/* __shape__ and __dtype__ of a variable. */
static Error *read_hints(const NnvmNode *node, Made *made) {
    int64_t dims[NNVM_INTS_MAX], number;
    uint32_t count;
    const char *type = nnvm_node_attribute(node, "__dtype__");
    TRY_WRAP(nnvm_parse_ints(nnvm_node_attribute(node, "__shape__"), dims, &count), "__shape__");
    if (count != NNVM_ABSENT && count > 0) TRY(set_shape(made, dims, count));
    made->dtype = DTYPE_FLOAT32;
    if (!type) return NULL;
    made->dtype = text_parse_i64(type, &number) ? nnvm_params_dtype(number) : dtype_find(type);
    if (made->dtype == DTYPE_NONE) FAIL(UNSUPPORTED, "__dtype__ is %.100s", type);
    return NULL;
}

/* The graph's own list of shapes has one for each result; those of variables are read. */
static Error *read_shapes(NnvmImport *import) {
    json_object *shapes, *rows;
    TRY(nnvm_graph_list(import->graph, "shape", &shapes));
    if (!shapes) return NULL;
    if (!json_object_object_get_ex(import->graph->root, "node_row_ptr", &rows) ||
        !json_object_is_type(rows, json_type_array))
        FAIL(INVALID, "the graph has a list of shapes, but no \"node_row_ptr\"");
    for (uint32_t i = 0; i < import->graph->node_count; i++) {
        if (!nnvm_node_is_variable(&import->graph->nodes[i])) continue;
        const int64_t entry = json_object_get_int64(json_object_array_get_idx(rows, i));
        json_object *shape = entry < 0 ? NULL : json_object_array_get_idx(shapes, (size_t)entry);
        int64_t dims[SHAPE_RANK_MAX];
        if (!json_object_is_type(shape, json_type_array) ||
            json_object_array_length(shape) > SHAPE_RANK_MAX)
            FAIL(INVALID, "node %u: no shape of it in the graph's list", i);
        const uint32_t rank = (uint32_t)json_object_array_length(shape);
        for (uint32_t d = 0; d < rank; d++)
            dims[d] = json_object_get_int64(json_object_array_get_idx(shape, d));
        TRY(set_shape(&import->made[i], dims, rank));
    }
    return NULL;
}

/* Marks the variables that are read, and refuses a graph of a library. */
static Error *find_wanted(NnvmImport *import) {
    const NnvmGraph *graph = import->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const NnvmNode *node = &graph->nodes[i];
        const NnvmOperator *row;
        if (nnvm_node_is_variable(node)) continue;
        TRY_WRAP(nnvm_operator_find(node->op, &row), "node %u: %s (%s)", i, node->name, node->op);
        TRY_WRAP(nnvm_operator_check(row, node), "node %u: %s (%s)", i, node->name, node->op);
        for (uint32_t k = 0; k < node->input_count; k++) {
            const char kind = nnvm_operator_input(row, k);
            Made *from = &import->made[node->inputs[k].node];
            const NnvmNode *read = &graph->nodes[node->inputs[k].node];
            from->wanted |= kind != 'l';
            if (kind == 'w' && import->has_params && nnvm_node_is_variable(read) &&
                !nnvm_params_find(import->params, read->name))
                FAIL(INVALID, "the params have no %s, which node %u: %s (%s) reads", read->name, i,
                    node->name, node->op);
        }
    }
    for (uint32_t i = 0; i < graph->head_count; i++)
        import->made[graph->heads[i].node].wanted = true;
    return NULL;
}

static Error *give(NnvmImport *import, uint32_t index, uint32_t count, IrVariable *const *results) {
    void *memory;
    TRY(arena_alloc(&import->module->arena, count, sizeof(IrVariable *), &memory));
    memcpy(memory, results, count * sizeof(IrVariable *));
    import->made[index].results = memory;
    import->made[index].count = count;
    return NULL;
}

static Error *check_shape(const Made *made, const Tensor *tensor) {
    bool same = tensor->shape.rank == made->shape.rank;
    for (uint32_t i = 0; same && i < made->shape.rank; i++)
        same = made->shape.dims[i] <= 0 || made->shape.dims[i] == tensor->shape.dims[i];
    if (same) return NULL;
    TextBuilder OWN_TEXT(text) = {0};
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        text_appendf(&text, "%s%lld", i ? ", " : "", (long long)tensor->shape.dims[i]);
    text_append(&text, "] in the params and [");
    for (uint32_t i = 0; i < made->shape.rank; i++)
        text_appendf(&text, "%s%lld", i ? ", " : "", (long long)made->shape.dims[i]);
    FAIL(INVALID, "the shape is [%s] in the graph", text_builder_get(&text));
}

static Error *add_input(
    NnvmImport *import, const NnvmNode *node, const Made *made, IrVariable **out) {
    IrType type = ir_type_tensor(made->dtype);
    if (made->shaped) {
        int64_t dims[SHAPE_RANK_MAX];
        for (uint32_t i = 0; i < made->shape.rank; i++)
            dims[i] = made->shape.dims[i] > 0 ? made->shape.dims[i] : IR_DIM_UNKNOWN;
        type = ir_type_shaped(made->dtype, made->shape.rank, dims);
    }
    return ir_function_add_parameter(import->main, node->name, &type, out);
}

static Error *make_variable(NnvmImport *import, uint32_t index) {
    const NnvmNode *node = &import->graph->nodes[index];
    Made *made = &import->made[index];
    NnvmParam *param = nnvm_params_find(import->params, node->name);
    IrVariable *variable;
    if (param) param->used = true;
    if (!made->wanted) return give(import, index, 1, &(IrVariable *){NULL});
    if (param) {
        if (made->shaped) TRY(check_shape(made, param->tensor));
        TRY(ir_constant_tensor(import->module, param->tensor, &variable));
    } else {
        TRY(add_input(import, node, made, &variable));
    }
    return give(import, index, 1, &variable);
}

/* The result of an earlier node. */
static Error *find_entry(const NnvmImport *import, NnvmEntry entry, IrVariable **out) {
    const Made *from = &import->made[entry.node];
    if (entry.index >= from->count)
        FAIL(INVALID, "result %u of node %u (%s), which has %u", entry.index, entry.node,
            import->graph->nodes[entry.node].name, from->count);
    *out = from->results[entry.index];
    return NULL;
}

static Error *make_node(NnvmImport *import, uint32_t index) {
    const NnvmNode *node = &import->graph->nodes[index];
    IrBlock *block = import->main->body;
    IrBinding *before = block->last;
    NnvmCall call = {.node = node, .at = ir_at_end(block), .count = node->input_count};
    void *memory;
    bool known;
    TRY(nnvm_operator_find(node->op, &call.row));
    TRY(arena_alloc(&import->module->arena, call.count + 1, sizeof(IrVariable *), &memory));
    call.inputs = memory;
    for (uint32_t i = 0; i < call.count; i++)
        TRY_WRAP(find_entry(import, node->inputs[i], &call.inputs[i]), "input %u", i);
    TRY(call.row->build(&call));
    IrBinding *first = before ? before->next : block->first;
    for (IrBinding *binding = first; binding; binding = binding->next)
        TRY(ir_module_text(import->module, node->name, &binding->name));
    TRY(relay_shapes_infer_from(first, &known));
    return give(import, index, call.result_count, call.results);
}

static Error *make_all(NnvmImport *import) {
    const NnvmGraph *graph = import->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const NnvmNode *node = &graph->nodes[i];
        if (nnvm_node_is_variable(node))
            TRY_WRAP(make_variable(import, i), "node %u: %s", i, node->name);
        else
            TRY_WRAP(make_node(import, i), "node %u: %s (%s)", i, node->name, node->op);
    }
    for (uint64_t i = 0; i < import->params->count; i++)
        if (!import->params->items[i].used)
            FAIL(INVALID, "the params have %s, which is no variable of the graph",
                import->params->items[i].name);
    return NULL;
}

/* "fc" for a node's only result, else "fc0", "fc1". */
static Error *name_result(NnvmImport *import, NnvmEntry head, const char **out) {
    const char *name = import->graph->nodes[head.node].name;
    TextBuilder OWN_TEXT(text) = {0};
    uint32_t heads = 0;
    for (uint32_t i = 0; i < import->graph->head_count; i++)
        heads += import->graph->heads[i].node == head.node;
    text_append(&text, name);
    if (heads > 1) text_appendf(&text, "%u", head.index);
    TRY(text_builder_check(&text));
    return ir_module_text(import->module, text_builder_get(&text), out);
}

static Error *set_results(NnvmImport *import) {
    const uint32_t count = import->graph->head_count;
    void *memory, *names;
    TRY(arena_alloc(&import->module->arena, count, sizeof(IrVariable *), &memory));
    TRY(arena_alloc(&import->module->arena, count, sizeof(char *), &names));
    for (uint32_t i = 0; i < count; i++) {
        const NnvmEntry head = import->graph->heads[i];
        TRY_WRAP(find_entry(import, head, &((IrVariable **)memory)[i]), "head %u", i);
        TRY(name_result(import, head, &((const char **)names)[i]));
    }
    return ir_function_set_results(import->main, count, memory, names, NULL);
}

static Error *run(NnvmImport *import) {
    const NnvmGraph *graph = import->graph;
    void *memory;
    TRY(arena_alloc(&import->module->arena, graph->node_count, sizeof(Made), &memory));
    import->made = memory;
    memset(memory, 0, graph->node_count * sizeof(Made));
    TRY(read_shapes(import));
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (nnvm_node_is_variable(&graph->nodes[i]))
            TRY_WRAP(read_hints(&graph->nodes[i], &import->made[i]), "node %u: %s", i,
                graph->nodes[i].name);
    TRY(find_wanted(import));
    TRY(ir_function_create(import->module, "main", true, NULL, &import->main));
    TRY(make_all(import));
    return set_results(import);
}

Error *nnvm_import(
    const NnvmGraph *graph, const uint8_t *params, size_t params_size, IrModule **out) {
    OWN(NnvmParams, read) = NULL;
    OWN(IrModule, module) = NULL;
    if (nnvm_graph_is_native(graph))
        FAIL(UNSUPPORTED,
            "a graph of TVM's graph executor, whose functions are in a library: name it with "
            "--library");
    TRY(nnvm_params_read(params, params_size, &read));
    TRY(ir_module_create(&module));
    NnvmImport import = {
        .graph = graph, .params = read, .has_params = params != NULL, .module = module};
    TRY(run(&import));
    *out = TAKE(module);
    return NULL;
}
