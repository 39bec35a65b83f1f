#pragma once
/* Ensembles of decision trees, between the node's attributes (onnx_trees_read.c, for TreeEnsemble
 * of version 5 onnx_tree_ensemble.c) and the tables of the operator TreeScores (onnx_trees.c).
 * Threads: one at a time per import. */
#include "compiler/frontend/base/onnx_internal.h"

enum { TREE_NODES_MAX = 10 * 1000 * 1000, TREE_UNSET = UINT32_MAX };

typedef enum TreeMode {
    TREE_LEQ,
    TREE_LT,
    TREE_GTE,
    TREE_GT,
    TREE_EQ,
    TREE_NEQ,
    TREE_LEAF,
    TREE_GO, /* no test: goes on at `yes`, which has its place below another node */
} TreeMode;

typedef struct TreeNode {
    TreeMode mode;
    bool missing; /* NaN goes where the test is true */
    uint32_t column;
    uint32_t yes, no; /* nodes; of a leaf: unset; of TREE_GO: no is unset */
    double split;
    int64_t tree, id; /* for messages */
} TreeNode;

typedef struct TreeWeight {
    uint32_t node, target;
    double value;
} TreeWeight;

typedef struct TreeEnsemble {
    TreeNode *nodes;
    uint32_t *roots;
    TreeWeight *weights;
    double *base; /* [scores] */
    uint32_t node_count, root_count, weight_count, score_count;
    uint32_t detour; /* nodes that a row passes at most in the place of one node of a tree */
    bool spare;      /* nodes that no root reaches are allowed */
    const char *aggregate;
    DType dtype;   /* of rows, splits, weights and scores: float32 or float64 */
    int64_t only;  /* the class that has all weights of two, or -1 */
    bool positive; /* no weight is below 0 */
} TreeEnsemble;

/* A node's list that must have `count` entries, or none where it is optional (then NULL). Errors:
 * INVALID another number of entries. */
MUST_CHECK Error *tree_find_ints(
    const OnnxNode *node, const char *name, size_t count, bool optional, const int64_t **out);

void tree_ensemble_deinit(TreeEnsemble *ensemble);
/* Reads a TreeEnsembleRegressor or TreeEnsembleClassifier. Errors: INVALID lists that do not agree,
 * nodes that are there twice, weights for what is not there, trees without one root. */
MUST_CHECK Error *tree_ensemble_read(const OnnxNode *node, TreeEnsemble *out);

/* The same for TreeEnsemble, the operator that version 5 has for both. A leaf that several nodes
 * name becomes one for each. Sets become searches (onnx_tree_members.c). */
MUST_CHECK Error *tree_ensemble_read_both(const OnnxNode *node, TreeEnsemble *out);

/* Node `at` asks whether a feature is one of `count` values: makes it the root of a search for
 * them. The nodes are appended to *inout_nodes, which has room for TREE_MEMBER_NODES of each value.
 * The values are sorted in place. */
enum { TREE_MEMBER_NODES = 4 };
void tree_expand_members(TreeEnsemble *ensemble, uint32_t at, uint32_t count, double *values);

/* The scores [N, E] of the node's input 0, by its trees. only, positive: as in TreeEnsemble.
 * Errors: as of tree_ensemble_read; INVALID nodes that do not make trees. */
MUST_CHECK Error *onnx_tree_scores(const OnnxNode *node, IrVariable **out_scores,
    uint32_t *out_count, int64_t *out_only, bool *out_positive);
