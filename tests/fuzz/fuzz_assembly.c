/* Assembly text. What is accepted prints, parses again to the same words, and runs. */
#include <assert.h>
#include <string.h>

#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_target.h"
#include "vm/assembly/assembly.h"

enum { TEXT_SIZE_MAX = 1 << 16 };

static Error *round_trip(const Executable *executable) {
    TextBuilder OWN_TEXT(text) = {0};
    OWN(Executable, again) = NULL;
    TRY(assembly_print(executable, true, &text));
    TRY(text_builder_check(&text));
    TRY(assembly_parse(text_builder_get(&text), text.size, &again));
    assert(again->code_word_count == executable->code_word_count);
    assert(executable->code_word_count == 0 ||
           memcmp(again->code, executable->code,
               executable->code_word_count * sizeof *executable->code) == 0);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    OWN(Executable, executable) = NULL;
    if (size > TEXT_SIZE_MAX) return 0;
    Error *error = assembly_parse((const char *)data, size, &executable);
    if (!error) {
        error = round_trip(executable);
        assert(!error || error_code(error) == ERROR_OUT_OF_MEMORY);
        if (!error) fuzz_run_executable(executable);
    }
    error_free(error); /* every answer is right */
    return 0;
}
