#include <inttypes.h>

#include "base/allocator.h"
#include "serialize/relax/relax_translate_internal.h"
#include "vm/objects/closure.h"
#include "vm/objects/string_object.h"

/* One function being translated. Registers of the file keep their numbers; behind those that are
 * mentioned come one that stays nil (the void register) and those for closures. */
typedef struct Code {
    RelaxTranslation *translation;
    const RelaxFile *file;
    ExecutableBuilder *builder;
    const RelaxGlobal *function;
    uint32_t nil_register;
    uint32_t first_temporary, temporary_count; /* temporaries of the current instruction */
    uint64_t operands[INSTRUCTION_OPERANDS_MAX];
    uint32_t operand_count;
} Code;

static bool is_plain(int64_t reg) { return reg != RELAX_REGISTER_VOID && reg != RELAX_REGISTER_VM; }

static bool is_plain_argument(const RelaxInstruction *call, uint64_t index) {
    if (index >= call->count) return false;
    int64_t word = relax_word(call->arguments, index);
    return relax_argument_kind(word) == RELAX_ARGUMENT_REGISTER &&
           is_plain(relax_argument_value(word));
}

static bool is_function_argument(const RelaxInstruction *call, uint64_t index) {
    return index < call->count &&
           relax_argument_kind(relax_word(call->arguments, index)) == RELAX_ARGUMENT_FUNCTION;
}

/* What the call becomes: a builtin that is an instruction is one only with arguments that fit. */
static RelaxCallee call_form(const RelaxTranslation *translation, const RelaxInstruction *call) {
    const RelaxFile *file = translation->file;
    const RelaxCallee callee = translation->callees[call->function];
    switch (callee) {
    case RELAX_CALLEE_INVOKE_CLOSURE:
        return is_plain_argument(call, 1) || is_function_argument(call, 1) ? callee
                                                                           : RELAX_CALLEE_PACKED;
    case RELAX_CALLEE_MAKE_CLOSURE: {
        if (!is_function_argument(call, 0)) return RELAX_CALLEE_PACKED;
        const int64_t bound = relax_argument_value(relax_word(call->arguments, 0));
        const RelaxGlobal *function = &file->functions[bound];
        bool fits =
            function->kind != RELAX_PACKED && call->count - 1 <= (uint64_t)function->argument_count;
        return fits ? callee : RELAX_CALLEE_PACKED;
    }
    case RELAX_CALLEE_RESET_ITEM:
        return is_plain_argument(call, 0) ? callee : RELAX_CALLEE_PACKED;
    case RELAX_CALLEE_BYTECODE:
    case RELAX_CALLEE_PACKED:
        return callee;
    }
    return callee;
}

/* Function arguments become closures in front of the call, but for the one that make_closure
 * binds to. */
static uint32_t count_closures(const RelaxInstruction *call, RelaxCallee form) {
    uint32_t count = 0;
    for (uint64_t i = form == RELAX_CALLEE_MAKE_CLOSURE; i < call->count; i++)
        count += is_function_argument(call, i);
    return count;
}

static bool has_wrong_count(const RelaxFile *file, const RelaxInstruction *call, RelaxCallee form) {
    return form == RELAX_CALLEE_BYTECODE &&
           (uint64_t)file->functions[call->function].argument_count != call->count;
}

/* How many instructions one instruction of the file becomes; *out_temporaries: the registers that
 * it needs for itself. */
static uint32_t count_instructions(const RelaxTranslation *translation,
    const RelaxInstruction *instruction, uint32_t *out_temporaries) {
    *out_temporaries = 0;
    if (instruction->opcode != RELAX_CALL) return 1;
    const RelaxCallee form = call_form(translation, instruction);
    if (has_wrong_count(translation->file, instruction, form)) return 1;
    const uint32_t closures = count_closures(instruction, form);
    const bool plain = is_plain(instruction->reg);
    *out_temporaries = closures + (form == RELAX_CALLEE_MAKE_CLOSURE && !plain);
    return 1 + closures + (form == RELAX_CALLEE_RESET_ITEM && plain);
}

static Error *add(Code *code, Opcode opcode, uint32_t flags, uint32_t destination) {
    return executable_builder_add_instruction(
        code->builder, opcode, flags, destination, code->operands, code->operand_count);
}

static Error *push(Code *code, OperandKind kind, int64_t value) {
    if (code->operand_count == INSTRUCTION_OPERANDS_MAX)
        FAIL(UNSUPPORTED, "a call with more than %d arguments", INSTRUCTION_OPERANDS_MAX - 1);
    code->operands[code->operand_count++] = operand_make(kind, value);
    return NULL;
}

static Error *add_text(RelaxTranslation *translation, const char *text, uint32_t *out_index) {
    StringObject *string;
    TRY(string_object_create(NULL, text, strlen(text), &string));
    return executable_builder_add_constant(
        translation->builder, value_object(OBJECT_STRING, string), 0, out_index);
}

static Error *push_register(Code *code, int64_t reg) {
    if (reg == RELAX_REGISTER_VOID) return push(code, OPERAND_REGISTER, code->nil_register);
    if (reg != RELAX_REGISTER_VM) return push(code, OPERAND_REGISTER, reg);
    RelaxTranslation *translation = code->translation;
    if (translation->vm_constant == UINT32_MAX)
        TRY(add_text(translation, RELAX_VM_TEXT, &translation->vm_constant));
    return push(code, OPERAND_CONSTANT, translation->vm_constant);
}

/* *inout_temporary: the register of the next closure. */
static Error *push_argument(Code *code, int64_t word, uint32_t *inout_temporary) {
    int64_t value = relax_argument_value(word);
    switch (relax_argument_kind(word)) {
    case RELAX_ARGUMENT_REGISTER:
        return push_register(code, value);
    case RELAX_ARGUMENT_IMMEDIATE:
        return push(code, OPERAND_IMMEDIATE, value);
    case RELAX_ARGUMENT_CONSTANT:
        return push(code, OPERAND_CONSTANT, value);
    case RELAX_ARGUMENT_FUNCTION:
        TRY(push(code, OPERAND_REGISTER, (*inout_temporary)++));
        code->operands[code->operand_count - 1] |= OPERAND_LAST_USE;
        return NULL;
    }
    FAIL(INTERNAL, "an argument of a kind that was not checked");
}

/* Makes the closures of the function arguments from `first` on. */
static Error *add_closures(Code *code, const RelaxInstruction *call, uint64_t first) {
    uint32_t temporary = code->first_temporary;
    for (uint64_t i = first; i < call->count; i++) {
        if (!is_function_argument(call, i)) continue;
        code->operand_count = 0;
        TRY(push(code, OPERAND_FUNCTION, relax_argument_value(relax_word(call->arguments, i))));
        TRY(push(code, OPERAND_IMMEDIATE, CLOSURE_LAST));
        TRY(add(code, OPCODE_ALLOC_CLOSURE, 0, temporary++));
    }
    code->operand_count = 0;
    return NULL;
}

static Error *push_arguments(Code *code, const RelaxInstruction *call, uint64_t first) {
    uint32_t temporary = code->first_temporary;
    for (uint64_t i = first; i < call->count; i++)
        TRY(push_argument(code, relax_word(call->arguments, i), &temporary));
    return NULL;
}

/* An instruction whose result goes to the call's destination, if that is a register. */
static Error *add_call(Code *code, Opcode opcode, int64_t destination) {
    if (is_plain(destination)) return add(code, opcode, 0, (uint32_t)destination);
    return add(code, opcode, INSTRUCTION_NO_DST, REGISTER_NONE);
}

/* A call with the wrong number of arguments fails when it is reached, as in TVM. */
static Error *add_wrong_count(Code *code, const RelaxInstruction *call) {
    TextBuilder OWN_TEXT(message) = {0};
    const RelaxGlobal *function = &code->file->functions[call->function];
    uint32_t index;
    text_append_bytes(&message, function->name.data, function->name.size);
    text_appendf(&message, " takes %" PRIi64 " arguments, not %" PRIu64, function->argument_count,
        call->count);
    TRY(text_builder_check(&message));
    TRY(add_text(code->translation, text_builder_get(&message), &index));
    code->operand_count = 0;
    TRY(push(code, OPERAND_CONSTANT, index));
    return add(code, OPCODE_FATAL, 0, REGISTER_NONE);
}

static Error *add_make_closure(Code *code, const RelaxInstruction *call) {
    const uint32_t unused = code->first_temporary + code->temporary_count - 1;
    TRY(add_closures(code, call, 1));
    TRY(push(code, OPERAND_FUNCTION, relax_argument_value(relax_word(call->arguments, 0))));
    TRY(push(code, OPERAND_IMMEDIATE, CLOSURE_LAST));
    TRY(push_arguments(code, call, 1));
    return add(code, OPCODE_ALLOC_CLOSURE, 0, is_plain(call->reg) ? (uint32_t)call->reg : unused);
}

/* The tuple with the field reset takes the place of the tuple; the call itself gives null. */
static Error *add_reset_item(Code *code, const RelaxInstruction *call) {
    const int64_t tuple = relax_argument_value(relax_word(call->arguments, 0));
    TRY(add_closures(code, call, 0));
    TRY(push(code, OPERAND_FUNCTION, call->function));
    TRY(push_arguments(code, call, 0));
    TRY(add(code, OPCODE_CALL, 0, (uint32_t)tuple));
    code->operand_count = 0;
    return is_plain(call->reg) ? add(code, OPCODE_KILL_REGISTER, 0, (uint32_t)call->reg) : NULL;
}

static Error *add_instruction_call(Code *code, const RelaxInstruction *call) {
    const RelaxCallee form = call_form(code->translation, call);
    if (has_wrong_count(code->file, call, form)) return add_wrong_count(code, call);
    switch (form) {
    case RELAX_CALLEE_MAKE_CLOSURE:
        return add_make_closure(code, call);
    case RELAX_CALLEE_RESET_ITEM:
        return add_reset_item(code, call);
    case RELAX_CALLEE_INVOKE_CLOSURE: /* argument 0 is the VM */
        TRY(add_closures(code, call, 1));
        TRY(push_arguments(code, call, 1));
        return add_call(code, OPCODE_INVOKE_CLOSURE, call->reg);
    case RELAX_CALLEE_BYTECODE:
    case RELAX_CALLEE_PACKED:
        break;
    }
    TRY(add_closures(code, call, 0));
    TRY(push(code, OPERAND_FUNCTION, call->function));
    TRY(push_arguments(code, call, 0));
    return add_call(code, form == RELAX_CALLEE_BYTECODE ? OPCODE_INVOKE : OPCODE_CALL, call->reg);
}

/* The distance between the translations of instruction `at` and the one that it jumps to. */
static int64_t jump_distance(const Code *code, uint32_t at, int64_t jump) {
    const uint32_t *places = code->translation->places;
    return (int64_t)places[at + jump] - places[at];
}

static Error *add_instruction(Code *code, uint32_t at) {
    const RelaxInstruction instruction =
        relax_file_instruction(code->file, (uint64_t)code->function->start + at);
    code->operand_count = 0;
    switch (instruction.opcode) {
    case RELAX_CALL:
        (void)count_instructions(code->translation, &instruction, &code->temporary_count);
        return add_instruction_call(code, &instruction);
    case RELAX_RET:
        TRY(push_register(code, instruction.reg));
        return add(code, OPCODE_RET, 0, REGISTER_NONE);
    case RELAX_GOTO:
        TRY(push(code, OPERAND_IMMEDIATE, jump_distance(code, at, instruction.jump)));
        return add(code, OPCODE_GOTO, 0, REGISTER_NONE);
    case RELAX_IF:
        TRY(push_register(code, instruction.reg));
        TRY(push(code, OPERAND_IMMEDIATE, 0));
        TRY(push(code, OPERAND_IMMEDIATE, jump_distance(code, at, instruction.jump)));
        TRY(push(code, OPERAND_IMMEDIATE, 1));
        return add(code, OPCODE_IF, INSTRUCTION_SCALAR, REGISTER_NONE);
    }
    FAIL(INTERNAL, "an opcode that was not checked");
}

static void see_register(int64_t reg, uint32_t *inout_count) {
    if (is_plain(reg) && (uint32_t)reg >= *inout_count) *inout_count = (uint32_t)reg + 1;
}

static void see_instruction(const RelaxInstruction *instruction, uint32_t *inout_count) {
    if (instruction->opcode != RELAX_GOTO) see_register(instruction->reg, inout_count);
    for (uint64_t i = 0; i < instruction->count; i++) {
        int64_t word = relax_word(instruction->arguments, i);
        if (relax_argument_kind(word) == RELAX_ARGUMENT_REGISTER)
            see_register(relax_argument_value(word), inout_count);
    }
}

/* Finds the new pc of each instruction and the registers that the function needs. */
static Error *lay_out(Code *code, uint32_t count, uint32_t *out_register_count) {
    void *memory;
    uint32_t registers = (uint32_t)code->function->argument_count, temporaries = 0, place = 0;
    memory_free(code->translation->places);
    code->translation->places = NULL;
    TRY(memory_alloc(count, sizeof(uint32_t), &memory));
    code->translation->places = memory;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own;
        const RelaxInstruction instruction =
            relax_file_instruction(code->file, (uint64_t)code->function->start + i);
        see_instruction(&instruction, &registers);
        code->translation->places[i] = place;
        place += count_instructions(code->translation, &instruction, &own);
        if (own > temporaries) temporaries = own;
    }
    code->nil_register = registers;
    code->first_temporary = registers + 1;
    *out_register_count = registers + 1 + temporaries;
    return NULL;
}

/* Calls a native function with the parameters and gives what it gives. */
static Error *add_native_call(Code *code, uint32_t native) {
    const uint32_t count = (uint32_t)code->function->argument_count;
    TRY(push(code, OPERAND_FUNCTION, native));
    for (uint32_t i = 0; i < count; i++) TRY(push(code, OPERAND_REGISTER, i));
    TRY(add(code, OPCODE_CALL, 0, count));
    code->operand_count = 0;
    TRY(push(code, OPERAND_REGISTER, count));
    return add(code, OPCODE_RET, 0, REGISTER_NONE);
}

static Error *add_code(Code *code, uint32_t index) {
    const RelaxGlobal *function = code->function;
    const uint32_t count = (uint32_t)(function->end - function->start);
    uint32_t register_count;
    if (function->kind == RELAX_NATIVE) {
        register_count = (uint32_t)function->argument_count + 1;
        TRY(executable_builder_begin_code(code->builder, index, register_count));
        return add_native_call(code, code->translation->natives[index]);
    }
    TRY(lay_out(code, count, &register_count));
    TRY(executable_builder_begin_code(code->builder, index, register_count));
    for (uint32_t i = 0; i < count; i++) TRY_WRAP(add_instruction(code, i), "instruction %u", i);
    return NULL;
}

Error *relax_translate_function(RelaxTranslation *translation, uint32_t index) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Code), &memory));
    Code *code = memory;
    *code = (Code){.translation = translation,
        .file = translation->file,
        .builder = translation->builder,
        .function = &translation->file->functions[index]};
    Error *error = add_code(code, index);
    memory_free(memory);
    return error;
}
