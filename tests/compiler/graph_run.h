#pragma once
/* Graphs of TVM's graph executor in tests, in short. Nodes have ';' between them:
 *
 *   null 3,2@0               a variable n0 of float32[3, 2] in storage 0
 *   scale 0 -> 6@2 6@3       a call of scale on the result of node 0, with two results
 *   flat scale 0 1:1 -> 6@2  the same with flatten_data, on result 1 of node 1, too
 *   heads 1 2:1              at the end: the results; without it, the first of the last node
 *
 * A shape of no dimensions is written "s". */
#include "base/text.h"
#include "compiler/nnvm/graph_translate.h"

/* Writes the JSON. */
void graph_write(const char *nodes, TextBuilder *out);
/* Reads and translates it, with a library of no functions. */
MUST_CHECK Error *graph_make(const char *json, Executable **out);
/* The text of main's code. */
void graph_expect_code(const char *nodes, const char *code, const char *file, int line);
#define graph_code(nodes, code) graph_expect_code(nodes, code, __FILE__, __LINE__)
/* It is refused with that code, saying so. */
#define graph_refused(CODE, message, nodes)                                                        \
    graph_check_refused(nodes, NULL, NULL, ERROR_##CODE, message, __FILE__, __LINE__)
/* It is refused after the first `from` in its JSON was replaced by `to`. */
#define graph_changed(CODE, message, nodes, from, to)                                              \
    graph_check_refused(nodes, from, to, ERROR_##CODE, message, __FILE__, __LINE__)
void graph_check_refused(const char *nodes, const char *from, const char *to, ErrorCode code,
    const char *message, const char *file, int line);
