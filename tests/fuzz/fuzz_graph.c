/* Graphs of TVM's graph executor, with params behind a NUL. What is accepted is written as assembly
 * and runs up to its first native function, which is not allowed here. */
#include <assert.h>

#include "compiler/compile.h"
#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_split.h"
#include "tests/fuzz/fuzz_target.h"
#include "vm/assembly/assembly.h"

enum { INPUT_SIZE_MAX = 1 << 16 };

static Error *use(const uint8_t *data, size_t size) {
    static const uint8_t library[] = {0x7f, 'E', 'L', 'F'};
    OWN(Executable, executable) = NULL;
    OWN(Executable, again) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    const FuzzSplit split = fuzz_split(data, size);
    const CompileOptions options = {.params = split.rest,
        .params_size = split.rest_size,
        .library = library,
        .library_size = sizeof library};
    TRY(compile_source("nnvm", data, split.text_size, &options, &executable));
    fuzz_run_executable(executable);
    TRY(assembly_print(executable, true, &text));
    Error *error = assembly_parse(text_builder_get(&text), text.size, &again);
    assert(!error);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > INPUT_SIZE_MAX) return 0;
    error_free(use(data, size)); /* every answer is right */
    return 0;
}
