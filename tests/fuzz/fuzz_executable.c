/* Executables. The first byte says what the rest is: 0 file  1 file, repaired  2 manifest,
 * repaired. What is read is verified: it is printed and run. */
#include <string.h>

#include "base/allocator.h"
#include "serialize/executable_file.h"
#include "tests/fuzz/fuzz_repair.h"
#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_target.h"
#include "vm/assembly.h"

static Error *open_input(uint8_t mode, uint8_t *data, size_t size, Container **out) {
    if (mode == 1) fuzz_repair_file(data, size);
    if (mode == 2) fuzz_repair_manifest(data, size);
    if (mode < 2) return container_open_memory(CONTAINER_EXECUTABLE, data, size, out);
    return container_open_manifest(CONTAINER_EXECUTABLE, data, size, (ChunkSource){0}, out);
}

static Error *read_and_run(uint8_t mode, uint8_t *data, size_t size) {
    OWN(Container, container) = NULL;
    OWN(Executable, executable) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    TRY(open_input(mode, data, size, &container));
    if (container_bulk_count(container) > 0 && mode == 2) return NULL; /* no chunks to read */
    TRY(executable_read(container, NULL, CHUNK_VERIFY_XXH3, &executable));
    TRY(assembly_print(executable, true, &text));
    fuzz_run_executable(executable);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *copy = NULL;
    if (size < 1) return 0;
    Error *error = memory_alloc(size, 1, &copy);
    if (!error) {
        memcpy(copy, data + 1, size - 1);
        error = read_and_run(data[0] % 3, copy, size - 1);
    }
    memory_free(copy);
    error_free(error); /* every answer is right */
    return 0;
}
