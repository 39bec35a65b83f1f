#pragma once
/* Ensembles of decision trees, between the node's attributes (onnx_trees_read.c) and the tables of
 * the operator TreeScores (onnx_trees.c). Threads: one at a time per import. */
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
} TreeMode;

typedef struct TreeNode {
    TreeMode mode;
    bool missing; /* NaN goes where the test is true */
    uint32_t column;
    uint32_t yes, no; /* nodes; of a leaf: unset */
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
    const char *aggregate;
    DType dtype;   /* of rows, splits, weights and scores: float32 or float64 */
    int64_t only;  /* the class that has all weights of two, or -1 */
    bool positive; /* no weight is below 0 */
} TreeEnsemble;

void tree_ensemble_deinit(TreeEnsemble *ensemble);
/* Reads a TreeEnsembleRegressor or TreeEnsembleClassifier. Errors: INVALID lists that do not agree,
 * nodes that are there twice, weights for what is not there, trees without one root. */
MUST_CHECK Error *tree_ensemble_read(const OnnxNode *node, TreeEnsemble *out);

/* The scores [N, E] of the node's input 0, by its trees. only, positive: as in TreeEnsemble.
 * Errors: as of tree_ensemble_read; INVALID nodes that do not make trees. */
MUST_CHECK Error *onnx_tree_scores(const OnnxNode *node, IrVariable **out_scores,
    uint32_t *out_count, int64_t *out_only, bool *out_positive);
