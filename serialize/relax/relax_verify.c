#include <inttypes.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "base/text.h"
#include "serialize/relax/relax_internal.h"
#include "vm/code/executable.h"

enum { RET_WORDS = 2, GOTO_WORDS = 2, IF_WORDS = 3, CALL_WORDS = 4, NAME_SHOWN = 64 };

RelaxInstruction relax_file_instruction(const RelaxFile *file, uint64_t index) {
    const uint8_t *words = file->words + 8 * relax_word(file->offsets, index);
    RelaxInstruction instruction = {
        .opcode = (RelaxOpcode)relax_word(words, 0), .reg = relax_word(words, 1)};
    switch (instruction.opcode) {
    case RELAX_CALL:
        instruction.function = relax_word(words, 2);
        instruction.count = (uint64_t)relax_word(words, 3);
        instruction.arguments = words + 8 * CALL_WORDS;
        break;
    case RELAX_GOTO:
        instruction.jump = instruction.reg;
        break;
    case RELAX_IF:
        instruction.jump = relax_word(words, 2);
        break;
    case RELAX_RET:
        break;
    }
    return instruction;
}

/* Checks that instruction `index` lies inside the words, in front of the next one. */
static Error *check_extent(const RelaxFile *file, uint64_t index) {
    int64_t start = relax_word(file->offsets, index);
    int64_t end = index + 1 < file->instruction_count ? relax_word(file->offsets, index + 1)
                                                      : (int64_t)file->word_count;
    if (start < 0 || end <= start || end > (int64_t)file->word_count)
        FAIL(CORRUPT, "words %" PRIi64 " to %" PRIi64 " of %" PRIu64, start, end, file->word_count);
    int64_t opcode = relax_word(file->words, (uint64_t)start), needed = 0, room = end - start;
    switch (opcode) {
    case RELAX_CALL:
        needed = CALL_WORDS;
        break;
    case RELAX_RET:
        needed = RET_WORDS;
        break;
    case RELAX_GOTO:
        needed = GOTO_WORDS;
        break;
    case RELAX_IF:
        needed = IF_WORDS;
        break;
    default:
        FAIL(CORRUPT, "unknown opcode %" PRIi64, opcode);
    }
    if (room < needed) FAIL(CORRUPT, "%" PRIi64 " words where %" PRIi64 " are due", room, needed);
    if (opcode != RELAX_CALL) return NULL;
    int64_t count = relax_word(file->words, (uint64_t)start + 3);
    if (count < 0 || count > room - needed)
        FAIL(CORRUPT, "%" PRIi64 " arguments, %" PRIi64 " words are left", count, room - needed);
    return NULL;
}

static Error *check_register(const RelaxGlobal *function, int64_t reg) {
    if (reg == RELAX_REGISTER_VOID || reg == RELAX_REGISTER_VM) return NULL;
    if (reg < 0 || reg >= function->register_count)
        FAIL(CORRUPT, "register %%%" PRIi64 " of %" PRIi64, reg, function->register_count);
    return NULL;
}

static Error *check_index(int64_t index, uint64_t count, const char *what) {
    if (index < 0 || (uint64_t)index >= count)
        FAIL(CORRUPT, "%s %" PRIi64 " of %" PRIu64, what, index, count);
    return NULL;
}

static Error *check_argument(const RelaxFile *file, const RelaxGlobal *function, int64_t word) {
    int64_t value = relax_argument_value(word);
    switch (relax_argument_kind(word)) {
    case RELAX_ARGUMENT_REGISTER:
        return check_register(function, value);
    case RELAX_ARGUMENT_IMMEDIATE:
        return NULL;
    case RELAX_ARGUMENT_CONSTANT:
        return check_index(value, file->constant_count, "constant");
    case RELAX_ARGUMENT_FUNCTION:
        return check_index(value, file->function_count, "function");
    }
    FAIL(CORRUPT, "an argument of kind %u", (unsigned)relax_argument_kind(word));
}

static Error *check_target(const RelaxGlobal *function, uint64_t index, int64_t jump) {
    int64_t low = function->start - (int64_t)index, high = function->end - (int64_t)index;
    if (jump == 0 || jump < low || jump >= high)
        FAIL(CORRUPT, "a jump by %" PRIi64 ", which may be %" PRIi64 " to %" PRIi64 " and not 0",
            jump, low, high - 1);
    return NULL;
}

static Error *check_instruction(
    const RelaxFile *file, const RelaxGlobal *function, uint64_t index) {
    RelaxInstruction instruction = relax_file_instruction(file, index);
    bool last = (int64_t)index + 1 == function->end;
    if (last && instruction.opcode != RELAX_RET && instruction.opcode != RELAX_GOTO)
        FAIL(CORRUPT, "the last instruction is neither ret nor goto");
    switch (instruction.opcode) {
    case RELAX_CALL:
        TRY(check_register(function, instruction.reg));
        TRY(check_index(instruction.function, file->function_count, "function"));
        for (uint64_t i = 0; i < instruction.count; i++)
            TRY_WRAP(check_argument(file, function, relax_word(instruction.arguments, i)),
                "argument %" PRIu64, i);
        return NULL;
    case RELAX_RET:
        return check_register(function, instruction.reg);
    case RELAX_GOTO:
        return check_target(function, index, instruction.jump);
    case RELAX_IF:
        TRY(check_register(function, instruction.reg));
        if (instruction.jump < 2) FAIL(CORRUPT, "a test that jumps by %" PRIi64, instruction.jump);
        return check_target(function, index, instruction.jump);
    }
    return NULL;
}

/* owners: for each instruction the function that it belongs to, plus 1. */
static Error *check_function(const RelaxFile *file, uint64_t which, uint32_t *owners) {
    const RelaxGlobal *function = &file->functions[which];
    if (function->kind < RELAX_PACKED || function->kind > RELAX_NATIVE)
        FAIL(CORRUPT, "unknown kind %d", function->kind);
    if (function->parameter_name_count &&
        (int64_t)function->parameter_name_count != function->argument_count)
        FAIL(CORRUPT, "%" PRIu64 " names for %" PRIi64 " parameters",
            function->parameter_name_count, function->argument_count);
    if (function->kind == RELAX_PACKED) return NULL;
    if (function->argument_count < 0 || function->register_count < function->argument_count ||
        function->register_count > FUNCTION_REGISTERS_MAX)
        FAIL(CORRUPT, "%" PRIi64 " parameters, %" PRIi64 " registers", function->argument_count,
            function->register_count);
    if (function->kind == RELAX_NATIVE) return NULL;
    if (function->start < 0 || function->end <= function->start ||
        (uint64_t)function->end > file->instruction_count)
        FAIL(CORRUPT, "instructions %" PRIi64 " to %" PRIi64 " of %" PRIu64, function->start,
            function->end, file->instruction_count);
    for (uint64_t i = (uint64_t)function->start; i < (uint64_t)function->end; i++) {
        if (owners[i])
            FAIL(CORRUPT, "instruction %" PRIu64 " belongs to function %u, too", i, owners[i] - 1);
        owners[i] = (uint32_t)which + 1;
        TRY_WRAP(check_instruction(file, function, i), "instruction %" PRIu64,
            i - (uint64_t)function->start);
    }
    return NULL;
}

static int name_length(RelaxText name) {
    return name.size > NAME_SHOWN ? NAME_SHOWN : (int)name.size;
}

static Error *check_functions(const RelaxFile *file) {
    void *memory;
    TRY(memory_alloc(file->instruction_count, sizeof(uint32_t), &memory));
    Error *error = NULL;
    for (uint64_t i = 0; !error && i < file->function_count; i++) {
        RelaxText name = file->functions[i].name;
        error = error_wrap(check_function(file, i, memory), "function %" PRIu64 " (%.*s)", i,
            name_length(name), name.data);
    }
    memory_free(memory);
    return error;
}

static int compare_names(const void *a, const void *b) {
    const RelaxText *left = a, *right = b;
    size_t common = left->size < right->size ? left->size : right->size;
    int order = common ? memcmp(left->data, right->data, common) : 0;
    return order ? order : (left->size > right->size) - (left->size < right->size);
}

/* Functions are found by name, so names must be text and differ. */
static Error *check_names(const RelaxFile *file) {
    void *memory;
    for (uint64_t i = 0; i < file->function_count; i++) {
        RelaxText name = file->functions[i].name;
        if (name.size == 0 || name.size > FUNCTION_NAME_MAX || memchr(name.data, 0, name.size) ||
            !text_is_utf8(name.data, name.size))
            FAIL(CORRUPT, "the name of function %" PRIu64 " is not 1 to %d bytes of UTF-8", i,
                FUNCTION_NAME_MAX);
    }
    TRY(memory_alloc(file->function_count, sizeof(RelaxText), &memory));
    RelaxText *names = memory;
    for (uint64_t i = 0; i < file->function_count; i++) names[i] = file->functions[i].name;
    if (file->function_count) qsort(names, file->function_count, sizeof *names, compare_names);
    Error *error = NULL;
    for (uint64_t i = 1; !error && i < file->function_count; i++)
        if (compare_names(&names[i - 1], &names[i]) == 0)
            error = error_make(ERROR_CORRUPT, __FILE__, __LINE__, "two functions are named %.*s",
                name_length(names[i]), names[i].data);
    memory_free(names);
    return error;
}

Error *relax_verify(const RelaxFile *file) {
    for (uint64_t i = 0; i < file->scope_count; i++)
        TRY(check_index(
            file->scopes[i].constant, file->constant_count, "memory scope of constant"));
    for (uint64_t i = 0; i < file->instruction_count; i++)
        TRY_WRAP(check_extent(file, i), "instruction %" PRIu64, i);
    TRY(check_names(file));
    return check_functions(file);
}
