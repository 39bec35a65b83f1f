#pragma once
/* A file of TVM's Relay virtual machine (.ro, TVM 0.6 to 0.19), parsed for looking at: every
 * instruction's hash is checked, and the code can be printed. Nothing runs from it, since its
 * kernels are native code of a TVM that is no longer published. Callers: tools/cli
 * (command_inspect.c), tests. Threads: any; one at a time per file that is being read.
 *
 * Stored as: docs/relay-files.md */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/text.h"

/* Text inside the file: no NUL behind it. */
typedef struct RelayText {
    const char *data;
    size_t size;
} RelayText;

typedef struct RelayTexts {
    RelayText *items;
    uint64_t count;
} RelayTexts;

/* Words inside the file, little-endian and not aligned: relay_word. */
typedef struct RelayWords {
    const uint8_t *words;
    uint64_t count;
} RelayWords;

typedef struct RelayFunction {
    RelayText name;
    uint64_t register_count;
    RelayTexts parameters;
    RelayWords parameter_devices;
    RelayWords *instructions; /* hash, opcode, fields */
    uint64_t instruction_count;
} RelayFunction;

typedef struct RelayConstant {
    bool is_late; /* bound to a name when the program is loaded */
    RelayText name;
    uint8_t code, bits; /* DLPack's */
    uint16_t lanes;
    RelayWords shape;
    uint64_t size; /* bytes of data */
} RelayConstant;

typedef struct RelayFile {
    RelayText version; /* of TVM, such as "0.18.0" */
    uint32_t minor;    /* 18 */
    RelayTexts globals;
    RelayTexts primitives; /* packed functions */
    RelayConstant *constants;
    RelayFunction *functions;
    uint64_t constant_count, function_count, device_count;
} RelayFile;

static inline int64_t relay_word(const RelayWords *words, uint64_t index) {
    int64_t word;
    __builtin_memcpy(&word, words->words + 8 * index, sizeof word);
    return word;
}

/* Whether data starts like a Relay executable, with or without a length in front. 24 bytes
 * suffice. */
bool relay_file_probe(const void *data, size_t size);
/* Parses a whole file, which the result points into. Errors: CORRUPT, naming function and
 * instruction; UNSUPPORTED a version that had no Relay VM. */
MUST_CHECK Error *relay_file_read(const void *data, size_t size, RelayFile **out);
void relay_file_release(RelayFile *file);
DEFINE_OWN(RelayFile, relay_file_release);
/* The hash of an instruction: of its opcode and its fields. words: without the hash. */
uint64_t relay_file_hash(const RelayWords *words);

/* Prints every function: a line for each instruction, its name and its fields by name. */
MUST_CHECK Error *relay_text_print(const RelayFile *file, TextBuilder *out);
