#pragma once
/* The code of a graph of TVM's graph executor: where each result is, and the instructions of each
 * node. Caller: graph_translate.c. Threads: one at a time per object. */
#include "base/name_map.h"
#include "compiler/nnvm/graph_plan.h"
#include "vm/code/executable_builder.h"

typedef struct GraphEmit {
    const GraphPlan *plan;      /* borrowed, with its lives */
    ExecutableBuilder *builder; /* owned */
    uint64_t *places;           /* by result: the operand that has it; GRAPH_NOWHERE: not now */
    uint32_t *storages;         /* by life: the register of its storage */
    uint32_t *functions;        /* by node: the function that it calls */
    uint32_t *free;             /* registers that nothing is in */
    size_t free_capacity;
    uint32_t free_count, register_count; /* the latter: of main so far */
    uint32_t *shapes;                    /* the constants of shapes */
    uint32_t shape_count;
    NameMap *shapes_by_text; /* into shapes */
    uint32_t identity;       /* the primitive of copies; GRAPH_NONE: there are none yet */
    uint64_t *words;         /* main's code */
    size_t word_count, word_capacity;
} GraphEmit;

#define GRAPH_NOWHERE UINT64_MAX

MUST_CHECK Error *graph_emit_create(const GraphPlan *plan, GraphEmit **out);
void graph_emit_release(GraphEmit *emit);
DEFINE_OWN(GraphEmit, graph_emit_release);
/* Says where a variable is. */
void graph_emit_place(GraphEmit *emit, uint32_t result, uint64_t operand);
/* Declares the library's functions, each once. */
MUST_CHECK Error *graph_emit_functions(GraphEmit *emit);
/* Gives main its code. register_count: main's parameters, which the caller has set. */
MUST_CHECK Error *graph_emit_main(GraphEmit *emit, uint32_t main);
