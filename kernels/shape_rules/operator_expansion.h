#pragma once
/* What an operator stands for, as a graph of plain operators, built when shapes are known: for
 * devices without a kernel for it, and the meaning that its kernels are tested against.
 *
 * Values are numbered: first the request's inputs, then constants and nodes' outputs in the order
 * in which they were made. kernels/expansions/ holds one file for each family of operators. */
#include "kernels/operator/plan.h"

enum {
    EXPANSION_VALUES_MAX = 1 << 16,
    EXPANSION_NODES_MAX = 1 << 14,
    EXPANSION_ABSENT = UINT32_MAX, /* an optional input or output that is not there */
};

typedef enum ExpansionSource {
    EXPANSION_INPUT,    /* of the request */
    EXPANSION_CONSTANT, /* made by the expansion */
    EXPANSION_RESULT,   /* of a node */
} ExpansionSource;

typedef struct ExpansionValue {
    ExpansionSource source;
    TensorSpec spec; /* of an input: as requested, perhaps absent */
    /* Of a constant: its elements, owned. Of an input: what the request knows of it, during
     * building only. NULL: not known. */
    const void *bytes;
} ExpansionValue;

typedef struct ExpansionNode {
    const OperatorInfo *operator_info;
    Attributes *attributes; /* checked */
    uint32_t input_count;
    uint32_t output_count;
    uint32_t *inputs;      /* values; EXPANSION_ABSENT */
    uint32_t first_output; /* its outputs are values side by side */
} ExpansionNode;

typedef struct Expansion {
    uint32_t input_count; /* the request's */
    uint32_t value_count;
    uint32_t node_count;
    uint32_t output_count;              /* wanted */
    uint32_t outputs[PLAN_OUTPUTS_MAX]; /* values, maybe one twice, maybe an input itself */
    ExpansionValue *values;
    ExpansionNode *nodes;
    size_t value_capacity, node_capacity;
} Expansion;

/* Whether the operator has one. */
bool operator_expansion_exists(OperatorId operator_id);
/* The request's outputs are not looked at, so that a shape rule may use its expansion. Errors:
 * UNSUPPORTED the operator has none, or a shape in it depends on data; INVALID what the plain
 * operators refuse. */
MUST_CHECK Error *operator_expansion_create(const PlanRequest *request, Expansion **out);
void operator_expansion_release(Expansion *expansion);
DEFINE_OWN(Expansion, operator_expansion_release);
/* What a node's operator is asked with, outputs as they were inferred: one block, memory_free. It
 * borrows what the expansion holds. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *operator_expansion_request(
    const Expansion *expansion, const ExpansionNode *node, PlanRequest **out);
