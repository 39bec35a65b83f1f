/* Symbols of NNVM and MXNet, with params behind a NUL. What is accepted runs. */
#include "compiler/compile.h"
#include "compiler/nnvm/nnvm_graph.h"
#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_split.h"
#include "tests/fuzz/fuzz_target.h"

enum { INPUT_SIZE_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    OWN(Executable, executable) = NULL;
    const FuzzSplit split = fuzz_split(data, size);
    const CompileOptions options = {.params = split.rest, .params_size = split.rest_size};
    if (size > INPUT_SIZE_MAX) return 0;
    (void)nnvm_graph_probe(data, size);
    Error *error = compile_source("nnvm", data, split.text_size, &options, &executable);
    if (!error) fuzz_run_executable(executable);
    error_free(error); /* every answer is right */
    return 0;
}
