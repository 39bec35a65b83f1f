#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/assembly/assembly_internal.h"
#include "vm/assembly/assembly_names.h"
#include "vm/instruction/opcode.h"

/* A jump whose label may come later. */
typedef struct Patch {
    char *label;
    uint32_t line, pc, word;
} Patch;

typedef struct Code {
    Assembly *assembly;
    Tokens tokens;
    NameMap *labels; /* name -> pc + 1 */
    uint64_t *words;
    size_t word_count, word_capacity;
    Patch *patches;
    size_t patch_count, patch_capacity;
    uint32_t pc;
    int64_t register_max; /* highest named so far */
    Opcode opcode;        /* of the present instruction */
    uint32_t operand_count;
} Code;

static void code_deinit(Code *code) {
    for (size_t i = 0; i < code->patch_count; i++) memory_free(code->patches[i].label);
    memory_free(code->patches);
    memory_free(code->words);
    name_map_release(code->labels);
}

static Error *add_word(Code *code, uint64_t word) {
    void *words = code->words;
    TRY(memory_grow(&words, code->word_count, &code->word_capacity, sizeof(uint64_t)));
    code->words = words;
    code->words[code->word_count++] = word;
    return NULL;
}

static Error *add_operand(Code *code, uint64_t operand) {
    if (code->operand_count == INSTRUCTION_OPERANDS_MAX)
        return tokens_fail(&code->tokens, "too many operands");
    code->operand_count++;
    return add_word(code, operand);
}

/* "r12" */
static bool parse_register(const Token *token, int64_t *out_index) {
    char text[16];
    if (token->kind != TOKEN_WORD || token->size < 2 || token->size >= sizeof text) return false;
    memcpy(text, token->start, token->size);
    text[token->size] = '\0';
    return text[0] == 'r' && text[1] >= '0' && text[1] <= '9' &&
           text_parse_i64(text + 1, out_index);
}

static Error *read_register(Code *code, int64_t *out_index) {
    int64_t index;
    if (!parse_register(&code->tokens.token, &index))
        return tokens_fail(&code->tokens, "a register is missing");
    if (index >= FUNCTION_REGISTERS_MAX) return tokens_fail(&code->tokens, "a smaller register");
    if (index > code->register_max) code->register_max = index;
    *out_index = index;
    return tokens_next(&code->tokens);
}

static Error *read_register_operand(Code *code) {
    int64_t index;
    TRY(read_register(code, &index));
    uint64_t operand = operand_make(OPERAND_REGISTER, index);
    bool last;
    TRY(tokens_accept(&code->tokens, "!", &last));
    return add_operand(code, operand | (last ? OPERAND_LAST_USE : 0));
}

/* @name, %name, &name */
static Error *read_reference(Code *code, const NameMap *map, OperandKind kind, const char *what) {
    Tokens *tokens = &code->tokens;
    TRY(tokens_next(tokens));
    uint32_t line = tokens->token.line, index;
    TextBuilder OWN_TEXT(name) = {0};
    if (tokens->token.kind == TOKEN_NUMBER) {
        text_append_bytes(&name, tokens->token.start, tokens->token.size);
        TRY(tokens_next(tokens));
    } else {
        TRY(tokens_read_name(tokens, &name));
    }
    if (!assembly_find(map, text_builder_get(&name), &index))
        FAIL(INVALID, "line %u: there is no %s %s", line, what, text_builder_get(&name));
    return add_operand(code, operand_make(kind, index));
}

static Error *read_label_operand(Code *code) {
    void *patches = code->patches;
    TRY(memory_grow(&patches, code->patch_count, &code->patch_capacity, sizeof(Patch)));
    code->patches = patches;
    Patch patch = {
        .line = code->tokens.token.line, .pc = code->pc, .word = (uint32_t)code->word_count};
    TRY(tokens_copy(&code->tokens, &patch.label));
    code->patches[code->patch_count++] = patch;
    TRY(add_operand(code, operand_make(OPERAND_IMMEDIATE, 0)));
    return tokens_next(&code->tokens);
}

static Error *read_immediate(Code *code) {
    int64_t value;
    TRY(tokens_read_i64(&code->tokens, &value));
    if (value < OPERAND_VALUE_MIN || value > OPERAND_VALUE_MAX)
        return tokens_fail(&code->tokens, "a number of 56 bits, or a constant");
    return add_operand(code, operand_make(OPERAND_IMMEDIATE, value));
}

static Error *read_word_operand(Code *code) {
    int64_t value;
    char *word;
    TRY(tokens_copy(&code->tokens, &word));
    bool named = assembly_find_immediate(code->opcode, code->operand_count, word, &value);
    bool absent = strcmp(word, "_") == 0;
    memory_free(word);
    uint64_t head = head_make(code->opcode, 0, INSTRUCTION_OPERANDS_MAX, 0);
    if (named || absent) {
        TRY(tokens_next(&code->tokens));
        return add_operand(code,
            absent ? operand_make(OPERAND_ABSENT, 0) : operand_make(OPERAND_IMMEDIATE, value));
    }
    if (opcode_operand_letter(head, code->operand_count, 0) == 'j') return read_label_operand(code);
    return read_register_operand(code);
}

static Error *read_operand(Code *code) {
    Assembly *assembly = code->assembly;
    if (tokens_at(&code->tokens, "@"))
        return read_reference(code, assembly->constants, OPERAND_CONSTANT, "constant");
    if (tokens_at(&code->tokens, "%"))
        return read_reference(code, assembly->primitives, OPERAND_IMMEDIATE, "primitive");
    if (tokens_at(&code->tokens, "&"))
        return read_reference(code, assembly->functions, OPERAND_FUNCTION, "function");
    if (code->tokens.token.kind == TOKEN_NUMBER) return read_immediate(code);
    if (code->tokens.token.kind == TOKEN_WORD) return read_word_operand(code);
    return tokens_fail(&code->tokens, "an operand is missing");
}

/* Cuts a suffix off a mnemonic. */
static bool has_suffix(const Token *token, const char *suffix, size_t *inout_size) {
    const size_t length = strlen(suffix);
    if (*inout_size <= length || memcmp(token->start + *inout_size - length, suffix, length) != 0)
        return false;
    *inout_size -= length;
    return true;
}

/* "InvokePacked", "InvokePacked.host", "If.scalar" */
static Error *read_mnemonic(Code *code, uint32_t *out_flags) {
    const Token *token = &code->tokens.token;
    if (token->kind != TOKEN_WORD) return tokens_fail(&code->tokens, "an instruction is missing");
    size_t size = token->size;
    *out_flags = 0;
    if (has_suffix(token, ".host", &size))
        *out_flags = INSTRUCTION_HOST;
    else if (has_suffix(token, ".scalar", &size))
        *out_flags = INSTRUCTION_SCALAR;
    for (uint32_t i = 0; i < OPCODE_TABLE_SIZE; i++) {
        const char *mnemonic = opcode_infos[i].mnemonic;
        if (!mnemonic || strlen(mnemonic) != size || memcmp(mnemonic, token->start, size) != 0)
            continue;
        code->opcode = (Opcode)i;
        return tokens_next(&code->tokens);
    }
    FAIL(INVALID, "line %u: unknown opcode %.*s", token->line, size > 40 ? 40 : (int)size,
        token->start);
}

static bool at_line_end(const Code *code) {
    return code->tokens.token.kind == TOKEN_NEWLINE || tokens_at(&code->tokens, "}");
}

/* Reads operands up to an arrow or the end of the line. InvokePacked's primitive needs no comma
 * after it and is followed by the count of outputs, which the arrow's right side gives. */
static Error *read_operands(Code *code) {
    for (bool first = true; !at_line_end(code); first = false) {
        if (tokens_at(&code->tokens, "->") || tokens_at(&code->tokens, "=>")) return NULL;
        bool after_primitive = code->opcode == OPCODE_INVOKE_PACKED && code->operand_count == 2;
        if (!first) {
            bool comma;
            TRY(tokens_accept(&code->tokens, ",", &comma));
            if (!comma && !after_primitive) return tokens_fail(&code->tokens, "',' is missing");
        }
        TRY(read_operand(code));
        if (code->opcode == OPCODE_INVOKE_PACKED && code->operand_count == 1)
            TRY(add_operand(code, 0));
    }
    return NULL;
}

static Error *read_outputs(Code *code, size_t start, uint32_t *inout_flags) {
    bool alloc;
    TRY(tokens_accept(&code->tokens, "->", &alloc));
    if (!alloc) TRY(tokens_expect(&code->tokens, "=>"));
    if (alloc) *inout_flags |= INSTRUCTION_ALLOC;
    if (code->operand_count < 2) return tokens_fail(&code->tokens, "a primitive is missing");
    int64_t count = 0;
    for (; !at_line_end(code); count++) {
        if (count > 0) TRY(tokens_expect(&code->tokens, ","));
        TRY(read_register_operand(code));
    }
    code->words[start + 2] = operand_make(OPERAND_IMMEDIATE, count);
    return NULL;
}

/* Behind the operands: "-> r5", or nothing. */
static Error *read_destination(Code *code, uint32_t *inout_flags, uint32_t *out_destination) {
    uint32_t info = opcode_infos[code->opcode].flags;
    bool arrow;
    *out_destination = REGISTER_NONE;
    TRY(tokens_accept(&code->tokens, "->", &arrow));
    if (arrow && !(info & (OPCODE_FLAG_WRITES | OPCODE_FLAG_MAYBE)))
        return tokens_fail(&code->tokens, "it has no destination: nothing");
    if (!arrow && (info & OPCODE_FLAG_WRITES))
        return tokens_fail(&code->tokens, "'-> rN' is missing");
    if (!arrow) {
        if (info & OPCODE_FLAG_MAYBE) *inout_flags |= INSTRUCTION_NO_DST;
        return NULL;
    }
    int64_t index;
    TRY(read_register(code, &index));
    *out_destination = (uint32_t)index;
    return NULL;
}

static Error *read_instruction(Code *code) {
    uint32_t flags, destination = REGISTER_NONE;
    size_t start = code->word_count;
    TRY(add_word(code, 0));
    code->operand_count = 0;
    TRY(read_mnemonic(code, &flags));
    TRY(read_operands(code));
    if (code->opcode == OPCODE_INVOKE_PACKED)
        TRY(read_outputs(code, start, &flags));
    else
        TRY(read_destination(code, &flags, &destination));
    if (!at_line_end(code)) return tokens_fail(&code->tokens, "the end of the line is missing");
    code->words[start] = head_make(code->opcode, flags, code->operand_count, destination);
    code->pc++;
    return NULL;
}

/* True after "name:". */
static Error *read_label(Code *code, bool *out_read) {
    Tokens ahead = code->tokens;
    *out_read = false;
    if (ahead.token.kind != TOKEN_WORD) return NULL;
    TRY(tokens_next(&ahead));
    bool colon;
    TRY(tokens_accept(&ahead, ":", &colon));
    if (!colon) return NULL;
    char *label;
    TRY(tokens_copy(&code->tokens, &label));
    uint32_t other;
    Error *error = NULL;
    if (assembly_find(code->labels, label, &other))
        error = tokens_fail(&code->tokens, "another label is needed");
    else
        error = name_map_set(code->labels, label, assembly_index_to_pointer(code->pc));
    memory_free(label);
    code->tokens = ahead;
    *out_read = true;
    return error;
}

static Error *resolve(Code *code) {
    for (size_t i = 0; i < code->patch_count; i++) {
        const Patch *patch = &code->patches[i];
        uint32_t target;
        if (!assembly_find(code->labels, patch->label, &target))
            FAIL(INVALID, "line %u: there is no label %s", patch->line, patch->label);
        code->words[patch->word] =
            operand_make(OPERAND_IMMEDIATE, (int64_t)target - (int64_t)patch->pc);
    }
    return NULL;
}

static Error *read_code(Code *code, const AssemblyBody *body) {
    TRY(name_map_create(&code->labels));
    TRY(tokens_start(body->text, body->line, &code->tokens));
    for (;;) {
        TRY(tokens_skip_newlines(&code->tokens));
        if (tokens_at(&code->tokens, "}")) break;
        bool label;
        TRY(read_label(code, &label));
        if (!label) TRY(read_instruction(code));
    }
    TRY(resolve(code));
    if (code->word_count > EXECUTABLE_CODE_WORDS_MAX)
        FAIL(INVALID, "line %u: too much code", body->line);
    int64_t register_count = body->register_count;
    if (register_count < 0) {
        register_count = code->register_max + 1;
        if (register_count < body->parameter_count) register_count = body->parameter_count;
    }
    return executable_builder_set_code(code->assembly->builder, body->function,
        (uint32_t)register_count, code->words, (uint32_t)code->word_count);
}

Error *assembly_read_code(Assembly *assembly, const AssemblyBody *body) {
    Code code = {.assembly = assembly, .register_max = -1};
    Error *error = read_code(&code, body);
    code_deinit(&code);
    return error;
}
