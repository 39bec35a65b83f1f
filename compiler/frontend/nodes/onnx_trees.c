/* Tree ensembles as TreeScores: nodes stand by levels, the two children of a node side by side, so
 * that a test's result is what is added to an index. Tests are intervals: x < t is x <= the number
 * before t; x != t is x == t with its children swapped. */
#include "compiler/frontend/nodes/onnx_trees.h"

#include <inttypes.h>
#include <math.h>

#include "base/allocator.h"

typedef struct Tables {
    const TreeEnsemble *ensemble;
    uint32_t count;  /* slots so far */
    uint32_t *nodes; /* of each slot */
    uint32_t *slots; /* of each node, or unset */
    int64_t depth;
    Tensor *intervals, *links, *roots, *starts, *targets, *weights, *base;
} Tables;

static Error *make_tensor(
    const OnnxNode *node, DType dtype, int64_t rows, int64_t columns, Tensor **out) {
    const int64_t dims[2] = {rows, columns};
    const Shape shape = shape_make(columns ? 2 : 1, dims);
    return tensor_create_on_host(node->import->device, dtype, &shape, out);
}

static void set_number(Tensor *tensor, size_t at, double value) {
    if (tensor->dtype == DTYPE_FLOAT32)
        ((float *)tensor_data(tensor))[at] = (float)value;
    else
        ((double *)tensor_data(tensor))[at] = value;
}

static double next_to(const Tensor *like, double from, double toward) {
    return like->dtype == DTYPE_FLOAT32 ? (double)nextafterf((float)from, (float)toward)
                                        : nextafter(from, toward);
}

/* Writes the interval of a test. A NaN is equal to nothing and below nothing. */
static void set_interval(Tables *tables, uint32_t slot, const TreeNode *node) {
    double from = -INFINITY, to = INFINITY;
    const double t = node->split;
    bool empty = node->mode < TREE_LEAF && isnan(t);
    switch (node->mode) {
    case TREE_LEQ:
        to = t;
        break;
    case TREE_LT:
        empty = empty || t == -INFINITY;
        to = next_to(tables->intervals, t, -INFINITY);
        break;
    case TREE_GTE:
        from = t;
        break;
    case TREE_GT:
        empty = empty || t == INFINITY;
        from = next_to(tables->intervals, t, INFINITY);
        break;
    case TREE_EQ:
    case TREE_NEQ:
        from = to = t;
        break;
    case TREE_LEAF:
    case TREE_GO:
        break;
    }
    set_number(tables->intervals, 2 * (size_t)slot, empty ? INFINITY : from);
    set_number(tables->intervals, 2 * (size_t)slot + 1, empty ? -INFINITY : to);
}

/* Errors: INVALID the node has a slot already. */
static Error *place(Tables *tables, uint32_t index) {
    const TreeNode *node = &tables->ensemble->nodes[index];
    if (tables->slots[index] != TREE_UNSET && tables->ensemble->spare)
        FAIL(INVALID, "node %" PRId64 " is reached in two ways", node->id);
    if (tables->slots[index] != TREE_UNSET)
        FAIL(INVALID, "node %" PRId64 " of tree %" PRId64 " is reached in two ways", node->id,
            node->tree);
    tables->slots[index] = tables->count;
    tables->nodes[tables->count++] = index;
    return NULL;
}

static Error *lay_out_tree(Tables *tables, uint32_t root) {
    const TreeNode *nodes = tables->ensemble->nodes;
    int32_t *links = tensor_data(tables->links);
    uint32_t slot = tables->count, level_end = slot + 1;
    int64_t depth = 0;
    TRY(place(tables, root));
    for (; slot < tables->count; slot++) {
        const TreeNode *node = &nodes[tables->nodes[slot]];
        const bool swapped = node->mode == TREE_NEQ, leaf = node->mode >= TREE_LEAF;
        if (slot == level_end) {
            depth++;
            level_end = tables->count;
        }
        set_interval(tables, slot, node);
        /* a NaN goes to the side of != in any case */
        const bool missing = leaf || (node->missing && !swapped);
        links[2 * (size_t)slot] = (int32_t)((leaf ? 0 : node->column << 1) | missing);
        links[2 * (size_t)slot + 1] = (int32_t)(leaf ? slot : tables->count);
        if (leaf) continue;
        TRY(place(tables, swapped ? node->no : node->yes));
        TRY(place(tables, swapped ? node->yes : node->no));
    }
    if (depth > tables->depth) tables->depth = depth;
    return NULL;
}

/* Gives the nodes that only go on the places where they go. */
static void link_detours(Tables *tables) {
    const TreeEnsemble *ensemble = tables->ensemble;
    int32_t *links = tensor_data(tables->links);
    for (uint32_t slot = 0; slot < tables->count; slot++) {
        const TreeNode *node = &ensemble->nodes[tables->nodes[slot]];
        if (node->mode == TREE_GO) links[2 * (size_t)slot + 1] = (int32_t)tables->slots[node->yes];
    }
    tables->depth *= 1 + (int64_t)ensemble->detour;
}

static Error *lay_out(Tables *tables) {
    const TreeEnsemble *ensemble = tables->ensemble;
    int32_t *roots = tensor_data(tables->roots);
    for (uint32_t i = 0; i < ensemble->root_count; i++) {
        roots[i] = (int32_t)tables->count;
        TRY(lay_out_tree(tables, ensemble->roots[i]));
    }
    for (uint32_t i = 0; i < ensemble->node_count; i++)
        if (tables->slots[i] == TREE_UNSET && !ensemble->spare)
            FAIL(INVALID, "node %" PRId64 " of tree %" PRId64 " is in a cycle",
                ensemble->nodes[i].id, ensemble->nodes[i].tree);
    link_detours(tables);
    return NULL;
}

/* Sorts the weights by slots, those of one in their order. */
static void set_weights(Tables *tables) {
    const TreeEnsemble *ensemble = tables->ensemble;
    int32_t *starts = tensor_data(tables->starts), *targets = tensor_data(tables->targets);
    memset(starts, 0, tensor_bytes(tables->starts));
    for (uint32_t i = 0; i < ensemble->weight_count; i++)
        starts[tables->slots[ensemble->weights[i].node]]++;
    for (uint32_t i = 0, sum = 0; i <= ensemble->node_count; i++) {
        sum += (uint32_t)starts[i];
        starts[i] = (int32_t)sum; /* the end, which the loop below moves to the beginning */
    }
    for (uint32_t i = ensemble->weight_count; i-- > 0;) {
        const int32_t at = --starts[tables->slots[ensemble->weights[i].node]];
        targets[at] = (int32_t)ensemble->weights[i].target;
        set_number(tables->weights, (size_t)at, ensemble->weights[i].value);
    }
    for (uint32_t i = 0; i < ensemble->score_count; i++)
        set_number(tables->base, i, ensemble->base[i]);
}

static Error *make_tables(const OnnxNode *node, Tables *tables) {
    const TreeEnsemble *ensemble = tables->ensemble;
    const DType dtype = ensemble->dtype;
    const int64_t count = ensemble->node_count, weights = ensemble->weight_count;
    void *memory;
    TRY(make_tensor(node, dtype, count, 2, &tables->intervals));
    TRY(make_tensor(node, DTYPE_INT32, count, 2, &tables->links));
    TRY(make_tensor(node, DTYPE_INT32, ensemble->root_count, 0, &tables->roots));
    TRY(make_tensor(node, DTYPE_INT32, count + 1, 0, &tables->starts));
    TRY(make_tensor(node, DTYPE_INT32, weights, 0, &tables->targets));
    TRY(make_tensor(node, dtype, weights, 0, &tables->weights));
    TRY(make_tensor(node, dtype, ensemble->score_count, 0, &tables->base));
    TRY(memory_alloc((size_t)count, sizeof(uint32_t), &memory));
    tables->nodes = memory;
    TRY(memory_alloc((size_t)count, sizeof(uint32_t), &memory));
    tables->slots = memory;
    for (int64_t i = 0; i < count; i++) tables->slots[i] = TREE_UNSET;
    TRY(lay_out(tables));
    set_weights(tables);
    return NULL;
}

static Error *emit(const OnnxNode *node, const Tables *tables, IrVariable **out) {
    Tensor *const tensors[] = {tables->intervals, tables->links, tables->roots, tables->starts,
        tables->targets, tables->weights, tables->base};
    IrVariable *inputs[8], **results;
    OWN(Attributes, flat) = NULL;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&flat));
    TRY(attributes_set_int(flat, "axis", -1));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "aggregate", tables->ensemble->aggregate));
    TRY(attributes_set_int(attributes, "depth", tables->depth));
    TRY(ir_build_simple(onnx_at(node), "Flatten", flat, node->inputs[0], NULL, NULL, &inputs[0]));
    TRY(ir_build_cast(onnx_at(node), inputs[0], tables->ensemble->dtype, &inputs[0]));
    for (uint32_t i = 0; i < 7; i++)
        TRY(ir_constant_tensor(node->import->module, tensors[i], &inputs[i + 1]));
    TRY(ir_build_operator(onnx_at(node), "TreeScores", attributes, 8, inputs, 1, &results));
    *out = results[0];
    return NULL;
}

Error *onnx_tree_scores(const OnnxNode *node, IrVariable **out_scores, uint32_t *out_count,
    int64_t *out_only, bool *out_positive) {
    TreeEnsemble ensemble;
    TRY(tree_ensemble_read(node, &ensemble));
    Tables tables = {.ensemble = &ensemble};
    Error *error = make_tables(node, &tables);
    if (!error) error = emit(node, &tables, out_scores);
    *out_count = ensemble.score_count;
    *out_only = ensemble.only;
    *out_positive = ensemble.positive;
    Tensor *const tensors[] = {tables.intervals, tables.links, tables.roots, tables.starts,
        tables.targets, tables.weights, tables.base};
    for (uint32_t i = 0; i < 7; i++) tensor_release(tensors[i]);
    memory_free(tables.nodes);
    memory_free(tables.slots);
    tree_ensemble_deinit(&ensemble);
    return error;
}
