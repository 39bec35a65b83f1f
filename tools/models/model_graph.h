#pragma once
/* Graphs of NNVM, MXNet and TVM's graph executor, with the files beside them: weights, and the
 * library whose functions the graph calls. Caller: model_file.c. Threads: the main thread. */
#include "compiler/compile.h"
#include "tools/models/model_file_options.h"

/* Compiles a graph. options: at least one of params and library is set. inout_compile: gets the
 * bytes of those files while the compiler runs. Errors: also NOT_FOUND a function that the library
 * does not export. */
MUST_CHECK Error *model_graph_compile(const ModelFileOptions *options,
    CompileOptions *inout_compile, const uint8_t *data, size_t size, Executable **out_executable);
/* Compiles the graph that is inside a library with its params. *out_found: false: there is none,
 * and *out_executable is unchanged. Errors start with the path. */
MUST_CHECK Error *model_graph_load_library(
    const char *path, bool *out_found, Executable **out_executable);
