#pragma once
/* Symbols of NNVM in tests, in short: "null __shape__=(1,2); relu 0" has the nodes n0 and n1. A
 * node is an operator, its inputs (3, or 3:1 for result 1 of node 3) and its attributes, which have
 * no spaces. "heads 1 2:1" at the end names the results; without it, the last node is. */
#include "base/bytes.h"
#include "base/text.h"
#include "tests/compiler/relay_run.h"

/* Writes the JSON. */
void nnvm_write(const char *nodes, TextBuilder *out);
/* Writes a list of TVM's with one tensor of float32[dim]. */
void nnvm_write_params(const char *name, int64_t dim, ByteWriter *out);
/* As relay_expect. */
void nnvm_expect(const char *nodes, const char *signature);
#define nnvm_refused(CODE, message, nodes)                                                         \
    nnvm_check_refused(nodes, ERROR_##CODE, message, __FILE__, __LINE__)
void nnvm_check_refused(
    const char *nodes, ErrorCode code, const char *message, const char *file, int line);
