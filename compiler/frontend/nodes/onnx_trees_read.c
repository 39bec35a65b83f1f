/* TreeEnsembleRegressor and TreeEnsembleClassifier: their lists, checked, as nodes and weights. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "compiler/frontend/nodes/onnx_trees.h"

/* A node's place by its numbers: entries sorted by tree and node. */
typedef struct Key {
    int64_t tree, id;
    uint32_t index;
} Key;

typedef struct Reader {
    const OnnxNode *node;
    TreeEnsemble *ensemble;
    Key *keys;
    uint32_t tree; /* the place in keys where the tree that was asked for last begins */
    bool classifier;
} Reader;

void tree_ensemble_deinit(TreeEnsemble *ensemble) {
    memory_free(ensemble->nodes);
    memory_free(ensemble->roots);
    memory_free(ensemble->weights);
    memory_free(ensemble->base);
    *ensemble = (TreeEnsemble){0};
}

/* ---- lists ---- */

Error *tree_find_ints(
    const OnnxNode *node, const char *name, size_t count, bool optional, const int64_t **out) {
    const Onnx__AttributeProto *list;
    TRY(onnx_attribute_ints(node, name, &list));
    *out = list ? list->ints : NULL;
    const size_t found = list ? list->n_ints : 0;
    if (found == count || (optional && found == 0)) return NULL;
    FAIL(INVALID, "attribute %s has %zu entries, not %zu", name, found, count);
}

static size_t count_ints(const OnnxNode *node, const char *name) {
    const Onnx__AttributeProto *list = onnx_attribute_find(node, name);
    return list ? list->n_ints : 0;
}

/* A list of floats, or the tensor NAME_as_tensor; absent: NULL and 0. Released by the caller. */
static Error *read_floats(const OnnxNode *node, const char *name, double **out, size_t *out_count) {
    TextBuilder OWN_TEXT(as_tensor) = {0};
    OWN(Tensor, tensor) = NULL;
    void *memory;
    text_appendf(&as_tensor, "%s_as_tensor", name);
    TRY(text_builder_check(&as_tensor));
    const Onnx__AttributeProto *list = onnx_attribute_find(node, name);
    const Onnx__AttributeProto *from = onnx_attribute_find(node, text_builder_get(&as_tensor));
    if (list && list->has_type && list->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS)
        FAIL(INVALID, "attribute %s is not a list of floats", name);
    if (from && from->t)
        TRY(onnx_tensor_read(from->t, node->import->folder, node->import->device, &tensor));
    if (tensor && tensor->dtype != DTYPE_FLOAT32 && tensor->dtype != DTYPE_FLOAT64)
        FAIL(UNSUPPORTED, "attribute %s of %s", text_builder_get(&as_tensor),
            dtype_name(tensor->dtype));
    const size_t count = tensor ? (size_t)shape_count_unchecked(&tensor->shape)
                         : list ? list->n_floats
                                : 0;
    TRY(memory_alloc(count, sizeof(double), &memory));
    double *values = memory;
    for (size_t i = 0; i < count; i++)
        values[i] = !tensor                          ? (double)list->floats[i]
                    : tensor->dtype == DTYPE_FLOAT64 ? ((double *)tensor_data(tensor))[i]
                                                     : (double)((float *)tensor_data(tensor))[i];
    *out = values;
    *out_count = count;
    return NULL;
}

/* ---- nodes ---- */

static Error *read_mode(const ProtobufCBinaryData *text, TreeMode *out) {
    static const char *const names[] = {
        "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (onnx_text_is(text, names[i])) {
            *out = (TreeMode)i;
            return NULL;
        }
    FAIL(UNSUPPORTED, "a node's mode \"%.*s\"", (int)(text->len < 40 ? text->len : 40),
        (const char *)text->data);
}

static Error *read_nodes(Reader *reader, const double *splits) {
    const OnnxNode *node = reader->node;
    const uint32_t count = reader->ensemble->node_count;
    const int64_t *trees, *ids, *columns, *missing;
    const Onnx__AttributeProto *modes = onnx_attribute_find(node, "nodes_modes");
    TRY(tree_find_ints(node, "nodes_treeids", count, false, &trees));
    TRY(tree_find_ints(node, "nodes_nodeids", count, false, &ids));
    TRY(tree_find_ints(node, "nodes_featureids", count, false, &columns));
    TRY(tree_find_ints(node, "nodes_missing_value_tracks_true", count, true, &missing));
    if (!modes || modes->n_strings != count)
        FAIL(INVALID, "attribute nodes_modes has %zu entries, not %u", modes ? modes->n_strings : 0,
            count);
    for (uint32_t i = 0; i < count; i++) {
        TreeNode *to = &reader->ensemble->nodes[i];
        *to = (TreeNode){.tree = trees[i],
            .id = ids[i],
            .column = (uint32_t)columns[i],
            .missing = missing && missing[i],
            .split = splits[i],
            .yes = TREE_UNSET,
            .no = TREE_UNSET};
        TRY(read_mode(&modes->strings[i], &to->mode));
        if (to->mode != TREE_LEAF && (columns[i] < 0 || columns[i] > INT32_MAX / 2))
            FAIL(INVALID, "nodes_featureids[%u] is %" PRId64, i, columns[i]);
        reader->keys[i] = (Key){trees[i], ids[i], i};
    }
    return NULL;
}

static int compare_keys(const void *a, const void *b) {
    const Key *x = a, *y = b;
    if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
    return x->id == y->id ? 0 : x->id < y->id ? -1 : 1;
}

/* Files mostly have the nodes in order. */
static bool is_sorted(const Key *keys, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (compare_keys(&keys[i - 1], &keys[i]) > 0) return false;
    return true;
}

static Error *sort_keys(Reader *reader) {
    const uint32_t count = reader->ensemble->node_count;
    if (!is_sorted(reader->keys, count)) qsort(reader->keys, count, sizeof(Key), compare_keys);
    for (uint32_t i = 1; i < count; i++)
        if (compare_keys(&reader->keys[i - 1], &reader->keys[i]) == 0)
            FAIL(INVALID, "node %" PRId64 " of tree %" PRId64 " is there twice", reader->keys[i].id,
                reader->keys[i].tree);
    return NULL;
}

/* The node where it stands if the tree's numbers have no gaps and the tree is the one before; NULL:
 * elsewhere. */
static const Key *guess_node(const Reader *reader, const Key *wanted) {
    const Key *first = &reader->keys[reader->tree];
    const uint32_t left = reader->ensemble->node_count - reader->tree;
    if (wanted->tree != first->tree || wanted->id < first->id) return NULL;
    const uint64_t place = (uint64_t)wanted->id - (uint64_t)first->id;
    if (place >= left || compare_keys(&first[place], wanted) != 0) return NULL;
    return &first[place];
}

/* Errors: INVALID there is no such node. */
static Error *find_node(Reader *reader, int64_t tree, int64_t id, uint32_t *out) {
    const Key wanted = {tree, id, 0};
    const Key *keys = reader->keys, *found = guess_node(reader, &wanted);
    if (!found)
        found = bsearch(&wanted, keys, reader->ensemble->node_count, sizeof(Key), compare_keys);
    /* node 0 of the tree, if the numbers begin there and have no gaps */
    if (found && id >= 0 && id <= found - keys && compare_keys(found - id, &(Key){tree, 0, 0}) == 0)
        reader->tree = (uint32_t)(found - keys - id);
    if (!found) FAIL(INVALID, "tree %" PRId64 " has no node %" PRId64, tree, id);
    *out = found->index;
    return NULL;
}

static Error *link_nodes(Reader *reader) {
    const uint32_t count = reader->ensemble->node_count;
    const int64_t *yes, *no;
    TRY(tree_find_ints(reader->node, "nodes_truenodeids", count, false, &yes));
    TRY(tree_find_ints(reader->node, "nodes_falsenodeids", count, false, &no));
    for (uint32_t i = 0; i < count; i++) {
        TreeNode *node = &reader->ensemble->nodes[i];
        if (node->mode == TREE_LEAF) continue;
        TRY(find_node(reader, node->tree, yes[i], &node->yes));
        TRY(find_node(reader, node->tree, no[i], &node->no));
    }
    return NULL;
}

/* The root of a tree is the node that is no other's child. */
static Error *find_roots(Reader *reader) {
    TreeEnsemble *ensemble = reader->ensemble;
    const uint32_t count = ensemble->node_count;
    void *memory;
    TRY(memory_alloc(count, sizeof(bool), &memory));
    bool *child = memory;
    for (uint32_t i = 0; i < count; i++)
        if (ensemble->nodes[i].mode != TREE_LEAF)
            child[ensemble->nodes[i].yes] = child[ensemble->nodes[i].no] = true;
    Error *error = NULL;
    for (uint32_t i = 0, end; i < count && !error; i = end) {
        const int64_t tree = reader->keys[i].tree;
        uint32_t roots = 0;
        for (end = i; end < count && reader->keys[end].tree == tree; end++)
            if (!child[reader->keys[end].index] && roots++ == 0)
                ensemble->roots[ensemble->root_count++] = reader->keys[end].index;
        if (roots != 1)
            error = error_make(ERROR_INVALID, __FILE__, __LINE__,
                "tree %" PRId64 " has %u roots, not one", tree, roots);
    }
    memory_free(child);
    return error;
}

/* ---- weights ---- */

/* All weights of one of two classes make one score. */
static void count_scores(Reader *reader, const int64_t *targets, size_t count) {
    TreeEnsemble *ensemble = reader->ensemble;
    ensemble->only = -1;
    if (!reader->classifier || ensemble->score_count != 2 || count == 0) return;
    for (size_t i = 1; i < count; i++)
        if (targets[i] != targets[0]) return;
    if (targets[0] != 0 && targets[0] != 1) return;
    ensemble->only = targets[0];
    ensemble->score_count = 1;
}

/* One score of a regressor: of several weights of a leaf the first one counts, as in onnxruntime;
 * skl2onnx writes the number of a leaf once for each class. */
static void keep_first_weights(TreeEnsemble *ensemble, bool *seen) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ensemble->weight_count; i++) {
        const TreeWeight weight = ensemble->weights[i];
        if (seen[weight.node]) continue;
        seen[weight.node] = true;
        ensemble->weights[kept++] = weight;
    }
    ensemble->weight_count = kept;
}

static Error *read_weights(Reader *reader, const double *values, size_t count) {
    TreeEnsemble *ensemble = reader->ensemble;
    const bool classes = reader->classifier;
    const int64_t *trees, *ids, *targets;
    void *memory;
    TRY(tree_find_ints(
        reader->node, classes ? "class_treeids" : "target_treeids", count, false, &trees));
    TRY(tree_find_ints(
        reader->node, classes ? "class_nodeids" : "target_nodeids", count, false, &ids));
    TRY(tree_find_ints(reader->node, classes ? "class_ids" : "target_ids", count, false, &targets));
    TRY(memory_alloc(count, sizeof(TreeWeight), &memory));
    ensemble->weights = memory;
    ensemble->positive = true;
    count_scores(reader, targets, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t at;
        if (targets[i] < 0 || (ensemble->only < 0 && targets[i] >= ensemble->score_count))
            FAIL(INVALID, "%s[%zu] is %" PRId64 " of %u scores",
                classes ? "class_ids" : "target_ids", i, targets[i], ensemble->score_count);
        TRY(find_node(reader, trees[i], ids[i], &at));
        ensemble->positive = ensemble->positive && values[i] >= 0;
        if (ensemble->nodes[at].mode != TREE_LEAF) continue; /* no row ends there */
        ensemble->weights[ensemble->weight_count++] =
            (TreeWeight){at, ensemble->only < 0 ? (uint32_t)targets[i] : 0, values[i]};
    }
    if (classes || ensemble->score_count != 1) return NULL;
    TRY(memory_alloc(ensemble->node_count, sizeof(bool), &memory));
    keep_first_weights(ensemble, memory);
    memory_free(memory);
    return NULL;
}

static Error *read_base(Reader *reader) {
    TreeEnsemble *ensemble = reader->ensemble;
    size_t count;
    void *memory;
    double *values;
    TRY(read_floats(reader->node, "base_values", &values, &count));
    if (count == ensemble->score_count && !(ensemble->only == 1)) {
        ensemble->base = values;
        return NULL;
    }
    memory_free(values);
    if (count)
        FAIL(UNSUPPORTED, "base_values has %zu entries for %u scores%s", count,
            ensemble->score_count, ensemble->only == 1 ? " of the second class" : "");
    TRY(memory_alloc(ensemble->score_count, sizeof(double), &memory));
    ensemble->base = memory;
    return NULL;
}

/* ---- the node ---- */

static Error *read_aggregate(const OnnxNode *node, const char **out) {
    static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    const Onnx__AttributeProto *given = onnx_attribute_find(node, "aggregate_function");
    *out = names[0];
    if (!given) return NULL;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        *out = names[i];
        if (onnx_text_is(&given->s, names[i])) return NULL;
    }
    FAIL(UNSUPPORTED, "aggregate_function is not SUM, AVERAGE, MIN or MAX");
}

static Error *read_sizes(Reader *reader) {
    TreeEnsemble *ensemble = reader->ensemble;
    const OnnxNode *node = reader->node;
    const size_t count = count_ints(node, "nodes_nodeids");
    const Onnx__AttributeProto *texts = onnx_attribute_find(node, "classlabels_strings");
    int64_t scores;
    TRY(onnx_attribute_int(node, "n_targets", 1, &scores));
    if (reader->classifier)
        scores = (int64_t)(count_ints(node, "classlabels_int64s") + (texts ? texts->n_strings : 0));
    if (scores < 1 || scores > INT32_MAX / 64) FAIL(INVALID, "%" PRId64 " scores", scores);
    if (count < 1 || count > TREE_NODES_MAX)
        FAIL(UNSUPPORTED, "%zu nodes of trees; 1 to %d are read", count, TREE_NODES_MAX);
    ensemble->node_count = (uint32_t)count;
    ensemble->score_count = (uint32_t)scores;
    TRY(read_aggregate(node, &ensemble->aggregate));
    const bool wide = onnx_attribute_find(node, "nodes_values_as_tensor") ||
                      onnx_float_type(node->inputs[0]) == DTYPE_FLOAT64;
    ensemble->dtype = wide ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    return NULL;
}

static Error *read_all(Reader *reader, double **out_splits, double **out_weights) {
    size_t count;
    void *memory;
    TreeEnsemble *ensemble = reader->ensemble;
    TRY(memory_alloc(ensemble->node_count, sizeof(TreeNode), &memory));
    ensemble->nodes = memory;
    TRY(memory_alloc(ensemble->node_count, sizeof(uint32_t), &memory));
    ensemble->roots = memory;
    TRY(memory_alloc(ensemble->node_count, sizeof(Key), &memory));
    reader->keys = memory;
    TRY(read_floats(reader->node, "nodes_values", out_splits, &count));
    if (count != ensemble->node_count)
        FAIL(
            INVALID, "attribute nodes_values has %zu entries, not %u", count, ensemble->node_count);
    TRY(read_nodes(reader, *out_splits));
    TRY(sort_keys(reader));
    TRY(link_nodes(reader));
    TRY(find_roots(reader));
    TRY(read_floats(reader->node, reader->classifier ? "class_weights" : "target_weights",
        out_weights, &count));
    TRY(read_weights(reader, *out_weights, count));
    return read_base(reader);
}

Error *tree_ensemble_read(const OnnxNode *node, TreeEnsemble *out) {
    double *splits = NULL, *weights = NULL;
    Reader reader = {.node = node,
        .ensemble = out,
        .classifier = strcmp(node->proto->op_type, "TreeEnsembleClassifier") == 0};
    *out = (TreeEnsemble){0};
    if (strcmp(node->proto->op_type, "TreeEnsemble") == 0)
        return tree_ensemble_read_both(node, out);
    TRY(read_sizes(&reader));
    Error *error = read_all(&reader, &splits, &weights);
    memory_free(splits);
    memory_free(weights);
    memory_free(reader.keys);
    if (error) tree_ensemble_deinit(out);
    return error;
}
