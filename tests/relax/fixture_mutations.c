#include "tests/relax/fixture_mutations.h"

#include <string.h>

#include "base/allocator.h"
#include "serialize/container/executable_file.h"
#include "serialize/relax/relax_text.h"
#include "serialize/relax/relax_translate.h"
#include "tests/relax/fixture_run.h"

enum { INSTRUCTIONS = 500, DEPTH = 200, CONSTANT_BYTES_MAX = 1 << 20 };
#define MEMORY_LIMIT (UINT64_C(1) << 20)

/* Does everything with a file that was read. */
static Error *use(const RelaxFile *file, json_object *calls, PackedRegistry *registry) {
    TextBuilder OWN_TEXT(text) = {0};
    ByteWriter OWN_BYTES(bytes) = {0};
    OWN(Executable, executable) = NULL;
    FixtureMachine machine;
    TRY(relax_text_print(file, &text));
    TRY(relax_text_print_python(file, &text));
    TRY(relax_text_print_stats(file, &text));
    TRY(relax_file_write(file, false, &bytes));
    TRY(relax_translate(file, NULL, &executable));
    if (executable_constant_bytes(executable) > CONSTANT_BYTES_MAX) return NULL;
    Error *error = fixture_machine_init(&machine, executable, registry);
    machine.options.depth_limit = DEPTH;
    machine.options.memory_limit_bytes[0] = machine.options.memory_limit_bytes[1] = MEMORY_LIMIT;
    for (size_t i = 0; !error && i < json_object_array_length(calls); i++)
        fixture_try_call(&machine, json_object_array_get_idx(calls, i), INSTRUCTIONS);
    fixture_machine_deinit(&machine);
    return error;
}

/* A copy of exactly the size, so that a sanitizer sees reads behind it. */
static Error *copy_of(const uint8_t *data, size_t size, uint8_t **out) {
    void *memory;
    TRY(memory_alloc(size ? size : 1, 1, &memory));
    if (size) memcpy(memory, data, size);
    *out = memory;
    return NULL;
}

static void try_file(const uint8_t *data, size_t size, json_object *calls, PackedRegistry *registry,
    MutationCounts *inout_counts, bool *out_accepted) {
    OWN(RelaxFile, file) = NULL;
    Error *error = relax_file_read(data, size, false, &file);
    *out_accepted = !error;
    if (!error) error = use(file, calls, registry);
    if (error)
        inout_counts->refused++;
    else
        inout_counts->accepted++;
    error_free(error); /* damaged files are refused or behave */
}

Error *fixture_mutate(const uint8_t *data, size_t size, json_object *calls,
    PackedRegistry *registry, uint64_t flips_max, uint64_t truncations_max,
    MutationCounts *inout_counts) {
    const uint64_t bits = (uint64_t)size * 8;
    const uint64_t flips = flips_max < bits ? flips_max : bits;
    const uint64_t cuts = truncations_max < size ? truncations_max : size;
    bool accepted;
    uint8_t *copy;
    TRY(copy_of(data, size, &copy));
    for (uint64_t i = 0; i < flips; i++) {
        const uint64_t bit = i * bits / flips;
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        try_file(copy, size, calls, registry, inout_counts, &accepted);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    memory_free(copy);
    for (uint64_t i = 0; i < cuts; i++) {
        const size_t length = (size_t)(i * size / cuts);
        TRY(copy_of(data, length, &copy));
        try_file(copy, length, calls, registry, inout_counts, &accepted);
        memory_free(copy);
        if (accepted) FAIL(INTERNAL, "the first %zu of %zu bytes are accepted", length, size);
    }
    return NULL;
}
