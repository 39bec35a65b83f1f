#pragma once
/* A small Relax file whose parts tests change before it is written: main(a, b) calls fx.add, tests
 * the result and returns it, or what helper returns for it; a constant of every kind. */
#include "serialize/relax/relax_file.h"
#include "tests/support/test_support.h"

enum { EXAMPLE_MAIN, EXAMPLE_HELPER, EXAMPLE_ADD, EXAMPLE_NATIVE, EXAMPLE_FUNCTIONS };
/* Words of the code that tests change. */
enum {
    WORD_CALL_DESTINATION = 1,
    WORD_CALL_FUNCTION = 2,
    WORD_CALL_COUNT = 3,
    WORD_CALL_ARGUMENT = 4,
    WORD_IF = 6,
    WORD_IF_REGISTER = 7,
    WORD_IF_JUMP = 8,
    WORD_RET_REGISTER = 10,
    WORD_HELPER_CALL = 11,
    WORD_HELPER_COUNT = 14,
    WORD_HELPER_ARGUMENT = 15,
    WORD_LAST_OPCODE = 16,
    WORD_GOTO_JUMP = 19,
    EXAMPLE_WORDS = 24,
    EXAMPLE_INSTRUCTIONS = 8,
    EXAMPLE_CONSTANTS = 6,
};

typedef struct RelaxExample {
    RelaxFile file;
    RelaxGlobal functions[EXAMPLE_FUNCTIONS];
    RelaxText parameter_names[2];
    RelaxScope scopes[1];
    RelaxConstant constants[EXAMPLE_CONSTANTS];
    int64_t offsets[EXAMPLE_INSTRUCTIONS];
    int64_t words[EXAMPLE_WORDS];
    int64_t shape[2];
    float data[6];
} RelaxExample;

void relax_example_init(RelaxExample *example, RelaxGeneration generation);
/* Writes the example and reads it again; the result points into *writer. */
Error *relax_example_read(const RelaxExample *example, ByteWriter *writer, RelaxFile **out);
/* Fails the test unless the example, as it is now, is refused with that text. */
void relax_example_refused(const RelaxExample *example, const char *text);
/* The argument word of a kind and a value. */
int64_t relax_example_argument(RelaxArgumentKind kind, int64_t value);
