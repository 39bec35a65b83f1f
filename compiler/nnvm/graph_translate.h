#pragma once
/* Graphs of TVM's graph executor as executables: `main` calls the functions of a library in the
 * order of the nodes. Caller: compile.c. Threads: any.
 *
 *   variable with a param   a constant
 *   other variable          a parameter of main, in the order of arg_nodes, with its shape
 *   tvm_op                  AllocStorage and AllocTensor for results; Call of the function
 *   __nop                   Move, or ReshapeTensor where the shape differs
 *   __copy                  InvokePacked of Identity into a tensor of its own
 *   heads                   Ret; of several: AllocADT before
 *
 * The graph's plan of its memory says which results lie in one storage. A storage is made when it
 * is first written and freed when nobody reads it any more, and not shared by results that merely
 * follow one another; so no more bytes are in use than the plan has, and a checkpoint has only
 * those that are needed. A function that writes over its input finds both in one storage, as in
 * TVM. Everything is in slot 0, so that the graph runs beside any device. */
#include "compiler/nnvm/nnvm_graph.h"
#include "vm/code/executable.h"

/* The files beside a graph. */
typedef struct GraphFiles {
    const uint8_t *params; /* of nnvm_params.h; NULL: every variable is an input */
    size_t params_size;
    const uint8_t *library; /* a shared library, which becomes the executable's (docs/native.md) */
    size_t library_size;
    /* Bytes of the library that are stored as zeros, because they are here already; 0: none. */
    size_t hole_begin, hole_size;
    bool inner_params; /* params are those that a library has inside */
} GraphFiles;

/* Errors: CORRUPT, INVALID, UNSUPPORTED, TOO_LARGE: "node 3: relu (fused_relu): …", "params: …". */
MUST_CHECK Error *graph_translate(
    const NnvmGraph *graph, const GraphFiles *files, Executable **out);
