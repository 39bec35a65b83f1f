/* Executables. The first byte says what the rest is: 0 file  1 file, repaired  2 manifest,
 * repaired. What is read is verified: it is printed and run. */
#include <string.h>

#include "serialize/container/executable_file.h"
#include "tests/fuzz/fuzz_repair.h"
#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_target.h"
#include "vm/assembly/assembly.h"

static Error *read_and_run(const Container *container) {
    OWN(Executable, executable) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    TRY(executable_read(container, NULL, CHUNK_VERIFY_XXH3, &executable));
    TRY(assembly_print(executable, true, &text));
    fuzz_run_executable(executable);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_open_container(CONTAINER_EXECUTABLE, data, size, read_and_run);
    return 0;
}
