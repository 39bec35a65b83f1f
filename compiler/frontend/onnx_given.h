#pragma once
/* Inputs of a graph that have an initializer. In `main` they are constants, which are folded and
 * packed. A second function beside it takes a caller's values for them. Called by onnx_import.c and
 * onnx_graph.c. Threads: one at a time per import. */
#include "compiler/frontend/base/onnx_internal.h"

/* Before this version every initializer had to be listed as an input, so the list says nothing. */
enum { GIVEN_IR_MIN = 4 };
#define GIVEN_NAME "main_given"

/* Finds the inputs that may be given: sets their names in *inout_given, to initializers.
 * initializers: empty; the graph's by name. */
MUST_CHECK Error *onnx_given_find(
    const Onnx__ModelProto *model, NameMap *initializers, NameMap *inout_given, size_t *out_count);
/* Compares the declared types of inputs with their initializers. Errors: INVALID they differ. */
MUST_CHECK Error *onnx_given_check(IrModule *module, const Onnx__GraphProto *graph);
/* Adds such an input to the function of the scope. */
MUST_CHECK Error *onnx_given_add(OnnxImport *import, OnnxScope *scope,
    const Onnx__ValueInfoProto *input, const Onnx__TensorProto *initializer);
/* Whether the name of an initializer stands for an input that may be given. */
bool onnx_given_is_wanted(const OnnxImport *import, const OnnxScope *scope, const char *name);
