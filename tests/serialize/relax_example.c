#include "tests/serialize/relax_example.h"

static RelaxText text(const char *data) { return (RelaxText){data, strlen(data)}; }

int64_t relax_example_argument(RelaxArgumentKind kind, int64_t value) {
    return (int64_t)((uint64_t)kind << 56 | ((uint64_t)value & UINT64_C(0x00ffffffffffffff)));
}

static void init_constants(RelaxExample *example) {
    const int64_t shape[] = {2, 3};
    memcpy(example->shape, shape, sizeof shape);
    for (int i = 0; i < 6; i++) example->data[i] = (float)i;
    const RelaxConstant constants[EXAMPLE_CONSTANTS] = {
        {RELAX_TENSOR, .tensor = {.dtype = {2, 32, 1},
                           .rank = 2,
                           .shape = (const uint8_t *)example->shape,
                           .size = sizeof example->data,
                           .data = (const uint8_t *)example->data}},
        {RELAX_SHAPE, .shape = {2, (const uint8_t *)example->shape}},
        {RELAX_STRING, .string = text("hello")},
        {RELAX_INT, .integer = INT64_MIN},
        {RELAX_FLOAT, .real = 0.125},
        {RELAX_DTYPE, .dtype = {2, 16, 1}},
    };
    memcpy(example->constants, constants, sizeof constants);
}

void relax_example_init(RelaxExample *example, RelaxGeneration generation) {
    const int64_t words[EXAMPLE_WORDS] = {RELAX_CALL, 2, EXAMPLE_ADD, 2, 0, 1,           /* 0 */
        RELAX_IF, 2, 2, RELAX_RET, 2, RELAX_CALL, 3, EXAMPLE_HELPER, 1, 2, RELAX_RET, 3, /* 1 - 4 */
        RELAX_GOTO, 2, RELAX_RET, RELAX_REGISTER_VOID, RELAX_RET, 0};                    /* 5 - 7 */
    const int64_t offsets[EXAMPLE_INSTRUCTIONS] = {0, 6, 9, 11, 16, 18, 20, 22};
    *example = (RelaxExample){
        .functions =
            {
                {RELAX_BYTECODE, text("main"), 0, 5, 2, 4, example->parameter_names, 2},
                {RELAX_BYTECODE, text("helper"), 5, 8, 1, 2, NULL, 0},
                {RELAX_PACKED, text("fx.add"), 0, 0, -2, 0, NULL, 0},
                {RELAX_NATIVE, text("native"), 0, 0, 1, 2, NULL, 0},
            },
        .parameter_names = {text("a"), text("b")},
        .scopes = {{0, text("global")}},
    };
    memcpy(example->words, words, sizeof words);
    memcpy(example->offsets, offsets, sizeof offsets);
    init_constants(example);
    example->file = (RelaxFile){.generation = generation,
        .functions = example->functions,
        .scopes = example->scopes,
        .constants = example->constants,
        .offsets = (const uint8_t *)example->offsets,
        .words = (const uint8_t *)example->words,
        .function_count = EXAMPLE_FUNCTIONS,
        .scope_count = generation == RELAX_TVM_0_23,
        .constant_count = EXAMPLE_CONSTANTS,
        .instruction_count = EXAMPLE_INSTRUCTIONS,
        .word_count = EXAMPLE_WORDS};
}

Error *relax_example_read(const RelaxExample *example, ByteWriter *writer, RelaxFile **out) {
    assert_ok(relax_file_write(&example->file, false, writer));
    return relax_file_read(writer->data, writer->size, false, out);
}

void relax_example_refused(const RelaxExample *example, const char *wanted) {
    ByteWriter OWN_BYTES(writer) = {0};
    RelaxFile *file;
    assert_fails_saying(CORRUPT, wanted, relax_example_read(example, &writer, &file));
}
