/* Relay programs. What is accepted runs. */
#include "compiler/compile.h"
#include "compiler/relay/relay_import.h"
#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_target.h"

enum { TEXT_SIZE_MAX = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    OWN(Executable, executable) = NULL;
    const CompileOptions options = {.folder = NULL};
    if (size > TEXT_SIZE_MAX) return 0;
    (void)relay_probe(data, size);
    Error *error = compile_source("relay", data, size, &options, &executable);
    if (!error) fuzz_run_executable(executable);
    error_free(error); /* every answer is right */
    return 0;
}
