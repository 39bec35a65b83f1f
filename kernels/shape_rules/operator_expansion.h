#pragma once
/* An operator as a graph of plain operators, built when shapes are known: used by devices without a
 * kernel for the operator, and by the tests of its kernels as their meaning. Called by
 * expansion_plan.c and by shape rules. Pure: an expansion belongs to its caller.
 *
 * Values are numbered: first the request's inputs, then constants and nodes' outputs in the order
 * in which they were made. kernels/expansions/ holds one file for each family of operators. */
#include "kernels/operator/plan.h"

enum {
    EXPANSION_VALUES_MAX = 1 << 16,
    EXPANSION_NODES_MAX = 1 << 14,
    EXPANSION_ABSENT = UINT32_MAX, /* an optional input or output that is absent */
};

typedef enum ExpansionSource {
    EXPANSION_INPUT,    /* of the request */
    EXPANSION_CONSTANT, /* made by the expansion */
    EXPANSION_RESULT,   /* of a node */
} ExpansionSource;

typedef struct ExpansionValue {
    ExpansionSource source;
    TensorSpec spec; /* of an input: as requested, possibly absent */
    /* Of a constant: its elements, owned. Of an input: the values that the request has, only while
     * the expansion is built. NULL: not known. */
    const void *bytes;
} ExpansionValue;

typedef struct ExpansionNode {
    const OperatorInfo *operator_info;
    Attributes *attributes; /* checked */
    uint32_t input_count;
    uint32_t output_count;
    uint32_t *inputs;      /* values; EXPANSION_ABSENT */
    uint32_t first_output; /* the node's outputs are consecutive values */
} ExpansionNode;

typedef struct Expansion {
    uint32_t input_count; /* the request's */
    uint32_t value_count;
    uint32_t node_count;
    uint32_t output_count;              /* the number of wanted outputs */
    uint32_t outputs[PLAN_OUTPUTS_MAX]; /* values; one may occur twice, and may be an input */
    ExpansionValue *values;
    ExpansionNode *nodes;
    size_t value_capacity, node_capacity;
} Expansion;

/* Whether the operator has an expansion. */
bool operator_expansion_exists(OperatorId operator_id);
/* Builds the expansion. The request's outputs are ignored, so that a shape rule may use its
 * operator's expansion. Errors: UNSUPPORTED the operator has none, or a shape in it depends on
 * data; INVALID an error of the plain operators' rules. */
MUST_CHECK Error *operator_expansion_create(const PlanRequest *request, Expansion **out);
void operator_expansion_release(Expansion *expansion);
DEFINE_OWN(Expansion, operator_expansion_release);
/* The request for a node's operator, with inferred outputs: one block, memory_free. It borrows from
 * the expansion. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *operator_expansion_request(
    const Expansion *expansion, const ExpansionNode *node, PlanRequest **out);
