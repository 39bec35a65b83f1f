/* ONNX models, through the whole compiler. What compiles is run where it has no inputs. */
#include "compiler/compile.h"
#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_target.h"

enum { MODEL_SIZE_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const CompileOptions options = {.folder = NULL};
    OWN(Executable, executable) = NULL;
    if (size > MODEL_SIZE_MAX) return 0;
    Error *error = compile_source("onnx", data, size, &options, &executable);
    if (!error) fuzz_run_executable(executable);
    error_free(error); /* every answer is right */
    return 0;
}
