#pragma once
/* The front end of NNVM and MXNet: a symbol and its params to a module of the IR. Caller:
 * compile.c. Threads: any.
 *
 * Variables that the params have are constants. The others are the inputs of `main`, in the order
 * of the nodes, of float32 unless __dtype__ says otherwise; labels that only training needs are
 * dropped. The shape of an input is its __shape__, the graph's list "shape", or anything. Results
 * are named after their nodes. Errors: CORRUPT, INVALID, UNSUPPORTED "node 3: conv0 (Convolution):
 * …". */
#include <stddef.h>
#include <stdint.h>

#include "compiler/ir/ir.h"
#include "compiler/nnvm/nnvm_graph.h"

/* params: the bytes of a file of nnvm_params.h, or NULL: every variable is an input. Errors: also
 * UNSUPPORTED a graph of TVM's graph executor, which needs a library (graph_translate.h). */
MUST_CHECK Error *nnvm_import(
    const NnvmGraph *graph, const uint8_t *params, size_t params_size, IrModule **out);
