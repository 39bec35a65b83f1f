#pragma once
/* What support vector machines need beside plain operators: the weights of all pairs of classes as
 * one matrix, and the probabilities of classes from those of pairs. Called for the calls SvmPairs
 * and SvmCouple of compositions. Threads: one at a time per import. */
#include "compiler/frontend/base/onnx_internal.h"

/* Pairs (i, j) with i < j stand in the order of i, then j. */
typedef struct SvmPairs {
    IrVariable *weights; /* [pairs, vectors]; NULL: the machine is linear, without vectors */
    IrVariable *wins;    /* [pairs, classes]: 1 for class i of the pair, -1 for class j */
    IrVariable *losses;  /* [classes]: the pairs in which the class is the second one */
    int64_t vectors;
    bool positive; /* no coefficient is below 0 */
} SvmPairs;

/* Errors: INVALID lists that do not agree; UNSUPPORTED too many pairs. */
MUST_CHECK Error *onnx_svm_pairs(const OnnxNode *node, SvmPairs *out);
/* The probabilities [rows, classes] of the node's classes, from those of the first class of each
 * pair, [rows, pairs], as Wu, Lin and Weng's second method finds them: a loop of at most a hundred
 * rounds, in which rows stop by themselves. */
MUST_CHECK Error *onnx_svm_couple(const OnnxNode *node, IrVariable *pairs, IrVariable **out);
