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

/* params: the bytes of a file of nnvm_params.h, or NULL: every variable is an input. */
MUST_CHECK Error *nnvm_import(
    const uint8_t *data, size_t size, const uint8_t *params, size_t params_size, IrModule **out);
