/* TreeEnsemble of version 5: nodes by their index, leaves in lists of their own, sets of values. */
#include <inttypes.h>
#include <math.h>

#include "base/allocator.h"
#include "compiler/frontend/nodes/onnx_trees.h"
#include "kernels/scalar/scalar_half.h"

/* Of the file: the numbers of comparisons and of the ways to aggregate. */
enum { MODE_MEMBER = 6, MODES = 7 };

/* A tensor's numbers. */
typedef struct Numbers {
    double *values;
    size_t count;
    DType dtype; /* of the tensor; DTYPE_NONE: the node has none */
} Numbers;

typedef struct Reader {
    const OnnxNode *node;
    TreeEnsemble *ensemble;
    Numbers modes, splits, weights, members;
    const int64_t *columns, *yes, *no, *yes_leaves, *no_leaves, *missing, *targets;
    uint32_t count;      /* nodes of the file */
    uint32_t leaf_count; /* leaves of the file */
} Reader;

static double number_at(const Tensor *tensor, size_t at) {
    const void *data = tensor_data(tensor);
    switch ((int)tensor->dtype) {
    case DTYPE_FLOAT32:
        return (double)((const float *)data)[at];
    case DTYPE_FLOAT16:
        return (double)scalar_widen_float16(((const uint16_t *)data)[at]);
    case DTYPE_UINT8:
        return ((const uint8_t *)data)[at];
    default:
        return ((const double *)data)[at];
    }
}

static Error *read_numbers(const OnnxNode *node, const char *name, Numbers *out) {
    const Onnx__AttributeProto *from = onnx_attribute_find(node, name);
    OWN(Tensor, tensor) = NULL;
    void *memory;
    if (!from) return NULL;
    if (!from->t) FAIL(INVALID, "attribute %s is not a tensor", name);
    TRY(onnx_tensor_read(from->t, node->import->folder, node->import->device, &tensor));
    if (tensor->dtype != DTYPE_FLOAT32 && tensor->dtype != DTYPE_FLOAT64 &&
        tensor->dtype != DTYPE_FLOAT16 && tensor->dtype != DTYPE_UINT8)
        FAIL(UNSUPPORTED, "attribute %s of %s", name, dtype_name(tensor->dtype));
    out->count = (size_t)shape_count_unchecked(&tensor->shape);
    out->dtype = tensor->dtype;
    TRY(memory_alloc(out->count, sizeof(double), &memory));
    out->values = memory;
    for (size_t i = 0; i < out->count; i++) out->values[i] = number_at(tensor, i);
    return NULL;
}

/* ---- the node's lists ---- */

static Error *count_entries(
    const OnnxNode *node, const char *name, uint32_t limit, uint32_t *out_count) {
    const Onnx__AttributeProto *list;
    TRY(onnx_attribute_ints(node, name, &list));
    const size_t count = list ? list->n_ints : 0;
    if (count < 1 || count > limit)
        FAIL(UNSUPPORTED, "attribute %s has %zu entries; 1 to %u are read", name, count, limit);
    *out_count = (uint32_t)count;
    return NULL;
}

static Error *check_count(const Numbers *numbers, const char *name, uint32_t count) {
    if (numbers->count == count) return NULL;
    FAIL(INVALID, "attribute %s has %zu entries, not %u", name, numbers->count, count);
}

static Error *read_lists(Reader *reader) {
    const OnnxNode *node = reader->node;
    TRY(count_entries(node, "nodes_featureids", TREE_NODES_MAX, &reader->count));
    TRY(count_entries(node, "leaf_targetids", TREE_NODES_MAX, &reader->leaf_count));
    const uint32_t count = reader->count;
    TRY(tree_find_ints(node, "nodes_featureids", count, false, &reader->columns));
    TRY(tree_find_ints(node, "nodes_truenodeids", count, false, &reader->yes));
    TRY(tree_find_ints(node, "nodes_falsenodeids", count, false, &reader->no));
    TRY(tree_find_ints(node, "nodes_trueleafs", count, false, &reader->yes_leaves));
    TRY(tree_find_ints(node, "nodes_falseleafs", count, false, &reader->no_leaves));
    TRY(tree_find_ints(node, "nodes_missing_value_tracks_true", count, true, &reader->missing));
    TRY(tree_find_ints(node, "leaf_targetids", reader->leaf_count, false, &reader->targets));
    TRY(read_numbers(node, "nodes_modes", &reader->modes));
    TRY(read_numbers(node, "nodes_splits", &reader->splits));
    TRY(read_numbers(node, "leaf_weights", &reader->weights));
    TRY(read_numbers(node, "membership_values", &reader->members));
    TRY(check_count(&reader->modes, "nodes_modes", count));
    TRY(check_count(&reader->splits, "nodes_splits", count));
    return check_count(&reader->weights, "leaf_weights", reader->leaf_count);
}

/* ---- nodes ---- */

/* The node behind a branch: of the file, or a new leaf. */
static Error *find_child(
    Reader *reader, const char *list, uint32_t from, int64_t id, bool leaf, uint32_t *out) {
    TreeEnsemble *ensemble = reader->ensemble;
    const uint32_t count = leaf ? reader->leaf_count : reader->count;
    if (id < 0 || id >= count)
        FAIL(INVALID, "%s[%u] is %" PRId64 " of %u %s", list, from, id, count,
            leaf ? "leaves" : "nodes");
    *out = (uint32_t)id;
    if (!leaf) return NULL;
    *out = ensemble->node_count++;
    ensemble->nodes[*out] =
        (TreeNode){.mode = TREE_LEAF, .yes = TREE_UNSET, .no = TREE_UNSET, .id = id};
    ensemble->weights[ensemble->weight_count++] =
        (TreeWeight){*out, (uint32_t)reader->targets[id], reader->weights.values[id]};
    return NULL;
}

static Error *read_node(Reader *reader, uint32_t at) {
    static const TreeMode modes[MODES] = {
        TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ, TREE_EQ};
    const double mode = reader->modes.values[at];
    const int64_t column = reader->columns[at];
    if (!(mode >= 0 && mode < MODES))
        FAIL(UNSUPPORTED, "nodes_modes[%u] is %g; 0 to %d are read", at, mode, MODES - 1);
    if (column < 0 || column > INT32_MAX / 2)
        FAIL(INVALID, "nodes_featureids[%u] is %" PRId64, at, column);
    TreeNode *node = &reader->ensemble->nodes[at];
    *node = (TreeNode){.mode = modes[(int)mode],
        .missing = reader->missing && reader->missing[at],
        .column = (uint32_t)column,
        .split = reader->splits.values[at],
        .id = at};
    TRY(find_child(reader,
        reader->yes_leaves[at] ? "nodes_truenodeids of leaves" : "nodes_truenodeids", at,
        reader->yes[at], reader->yes_leaves[at] != 0, &node->yes));
    return find_child(reader,
        reader->no_leaves[at] ? "nodes_falsenodeids of leaves" : "nodes_falsenodeids", at,
        reader->no[at], reader->no_leaves[at] != 0, &node->no);
}

/* The sets stand behind each other, in the order of their nodes, each ended by a NaN. */
static Error *read_members(Reader *reader) {
    Numbers *members = &reader->members;
    size_t at = 0;
    for (uint32_t i = 0; i < reader->count; i++) {
        size_t end = at;
        if (reader->modes.values[i] != MODE_MEMBER) continue;
        if (at >= members->count) FAIL(INVALID, "membership_values has no set for node %u", i);
        while (end < members->count && !isnan(members->values[end])) end++;
        tree_expand_members(reader->ensemble, i, (uint32_t)(end - at), members->values + at);
        at = end + 1;
    }
    if (at < members->count)
        FAIL(INVALID, "membership_values has %zu entries, of which the nodes use %zu",
            members->count, at);
    return NULL;
}

static Error *read_roots(Reader *reader) {
    TreeEnsemble *ensemble = reader->ensemble;
    const int64_t *roots;
    uint32_t count;
    void *memory;
    TRY(count_entries(reader->node, "tree_roots", reader->count, &count));
    TRY(tree_find_ints(reader->node, "tree_roots", count, false, &roots));
    TRY(memory_alloc(count, sizeof(uint32_t), &memory));
    ensemble->roots = memory;
    ensemble->root_count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (roots[i] < 0 || roots[i] >= reader->count)
            FAIL(INVALID, "tree_roots[%u] is %" PRId64 " of %u nodes", i, roots[i], reader->count);
        ensemble->roots[i] = (uint32_t)roots[i];
    }
    return NULL;
}

/* ---- the node ---- */

static Error *read_sizes(Reader *reader) {
    static const char *const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    TreeEnsemble *ensemble = reader->ensemble;
    int64_t scores, aggregate;
    void *memory;
    TRY(onnx_attribute_int(reader->node, "n_targets", 1, &scores));
    TRY(onnx_attribute_int(reader->node, "aggregate_function", 1, &aggregate));
    if (scores < 1 || scores > INT32_MAX / 64) FAIL(INVALID, "%" PRId64 " scores", scores);
    if (aggregate < 0 || aggregate > 3)
        FAIL(UNSUPPORTED, "aggregate_function is %" PRId64 "; 0 to 3 are read", aggregate);
    for (uint32_t i = 0; i < reader->leaf_count; i++)
        if (reader->targets[i] < 0 || reader->targets[i] >= scores)
            FAIL(INVALID, "leaf_targetids[%u] is %" PRId64 " of %" PRId64 " scores", i,
                reader->targets[i], scores);
    ensemble->aggregate = aggregates[aggregate];
    ensemble->score_count = (uint32_t)scores;
    ensemble->only = -1;
    ensemble->spare = true;
    ensemble->dtype = reader->splits.dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    TRY(memory_alloc((size_t)scores, sizeof(double), &memory));
    ensemble->base = memory;
    return NULL;
}

static Error *read_all(Reader *reader) {
    TreeEnsemble *ensemble = reader->ensemble;
    void *memory;
    TRY(read_lists(reader));
    TRY(read_sizes(reader));
    const size_t room = 3 * (size_t)reader->count + TREE_MEMBER_NODES * reader->members.count;
    if (room > TREE_NODES_MAX * (size_t)3)
        FAIL(UNSUPPORTED, "%zu nodes and %zu members of sets are too many", (size_t)reader->count,
            reader->members.count);
    TRY(memory_alloc(room, sizeof(TreeNode), &memory));
    ensemble->nodes = memory;
    TRY(memory_alloc(2 * (size_t)reader->count, sizeof(TreeWeight), &memory));
    ensemble->weights = memory;
    ensemble->node_count = reader->count;
    for (uint32_t i = 0; i < reader->count; i++) TRY(read_node(reader, i));
    TRY(read_members(reader));
    return read_roots(reader);
}

Error *tree_ensemble_read_both(const OnnxNode *node, TreeEnsemble *out) {
    Reader reader = {.node = node, .ensemble = out};
    *out = (TreeEnsemble){0};
    Error *error = read_all(&reader);
    memory_free(reader.modes.values);
    memory_free(reader.splits.values);
    memory_free(reader.weights.values);
    memory_free(reader.members.values);
    if (error) tree_ensemble_deinit(out);
    return error;
}
