#pragma once
/* A graph of TVM's graph executor, read and checked: what each node calls, and the shape, element
 * type and storage of each result. graph_lives.c finds from it how long each storage is needed.
 * Callers: graph_translate.c, tests. Threads: one at a time per plan.
 *
 * Results are numbered through the whole graph: those of a node begin at its row (node_row_ptr), in
 * which a variable has one result. The lists of the graph have one item a result.
 *
 * Read as TVM 0.6 to 0.19 read them: docs/tvm.md */
#include "compiler/nnvm/nnvm_graph.h"
#include "kernels/tensor/shape.h"

enum { GRAPH_STORAGES_MAX = 1 << 20 };
#define GRAPH_NONE UINT32_MAX

typedef enum GraphKind {
    GRAPH_VARIABLE, /* an input or a param */
    GRAPH_CALL,     /* of a function of the library: inputs, then results, which it writes */
    GRAPH_NOP,      /* __nop: its results are the inputs that lie in the same storages */
    GRAPH_COPY,     /* __copy: its result gets the bytes of its input; in one storage: a NOP */
} GraphKind;

typedef struct GraphNode {
    GraphKind kind;
    const char *function; /* of the graph; NULL for a variable */
    uint32_t first_result, result_count;
    bool flatten; /* the function sees all tensors with one dimension */
} GraphNode;

typedef struct GraphResult {
    DType dtype;
    Shape shape;
    uint64_t bytes;
    uint32_t node;
    uint32_t storage; /* the graph's number of it */
    /* Set by graph_lives_find. */
    uint32_t content;   /* the result that wrote the bytes: this one, or the one a __nop shows */
    uint32_t last_read; /* the last node that reads it; node_count: a head; 0: nobody */
    uint32_t life;      /* the storage that it is written into; GRAPH_NONE: it is not written */
} GraphResult;

/* A storage from its first write to its last. The bytes stay as long as somebody reads them. */
typedef struct GraphLife {
    uint64_t bytes;
    uint32_t first, last; /* the nodes that write first and last */
} GraphLife;

typedef struct GraphPlan {
    const NnvmGraph *graph; /* borrowed */
    GraphNode *nodes;       /* graph->node_count */
    uint32_t result_count, argument_count, life_count;
    GraphResult *results;
    uint32_t *arguments; /* the variables in the order of arg_nodes */
    GraphLife *lives;    /* set by graph_lives_find */
} GraphPlan;

/* graph: outlives the plan. Errors: INVALID, UNSUPPORTED, TOO_LARGE, naming the node or the list
 * and the value. */
MUST_CHECK Error *graph_plan_read(const NnvmGraph *graph, GraphPlan **out);
void graph_plan_release(GraphPlan *plan);
DEFINE_OWN(GraphPlan, graph_plan_release);
/* The number of a result through the whole graph; its index was checked. */
static inline uint32_t graph_plan_result(const GraphPlan *plan, NnvmEntry entry) {
    return plan->nodes[entry.node].first_result + entry.index;
}
/* Puts the node's number, name and function before the message of an error; NULL stays NULL. */
Error *graph_plan_wrap(const GraphPlan *plan, uint32_t node, Error *owned_error);

/* graph_lives.c: decides when each storage begins and ends, and checks that no node and no head
 * reads bytes that another node has overwritten. Errors: INVALID, naming both nodes and the
 * storage. */
MUST_CHECK Error *graph_lives_find(GraphPlan *plan);
