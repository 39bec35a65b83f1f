#pragma once
/* What a fused operator stands for, as a graph of plain operators: for devices without a kernel for
 * it, and the meaning that its kernels are tested against.
 *
 * Values are numbered: first the request's inputs, then the constants, then one per node, in
 * order. The last node's output is the call's output. */
#include "kernels/plan.h"
#include "kernels/pointwise_program.h"

enum {
    EXPANSION_NODES_MAX = POINTWISE_STEPS_MAX,
    EXPANSION_CONSTANTS_MAX = POINTWISE_STEPS_MAX * POINTWISE_OPERANDS_MAX,
    EXPANSION_NODE_INPUTS_MAX = 8,
};

/* A scalar (rank 0). */
typedef struct ExpansionConstant {
    DType dtype;
    double value;
} ExpansionConstant;

typedef struct ExpansionNode {
    const OperatorInfo *operator_info;
    Attributes *attributes; /* checked */
    uint32_t input_count;
    uint32_t inputs[EXPANSION_NODE_INPUTS_MAX]; /* values */
    TensorSpec output;                          /* inferred */
} ExpansionNode;

typedef struct Expansion {
    uint32_t input_count;
    uint32_t constant_count;
    uint32_t node_count;
    const TensorSpec *inputs; /* the request's: borrowed during building only */
    ExpansionConstant constants[EXPANSION_CONSTANTS_MAX];
    ExpansionNode nodes[EXPANSION_NODES_MAX];
} Expansion;

/* The request's outputs are not looked at: a shape rule may use its expansion. Errors: UNSUPPORTED
 * the operator has none; INVALID what the plain operators refuse. */
MUST_CHECK Error *operator_expansion_create(const PlanRequest *request, Expansion **out);
void operator_expansion_release(Expansion *expansion);
DEFINE_OWN(Expansion, operator_expansion_release);
/* The spec of a value. */
TensorSpec operator_expansion_spec(
    const Expansion *expansion, const TensorSpec *inputs, uint32_t value);
