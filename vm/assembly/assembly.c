#include "vm/assembly/assembly.h"

#include <string.h>

#include "base/allocator.h"
#include "vm/assembly/assembly_internal.h"
#include "vm/code/liveness.h"

/* Reads the label after '@' or '%': a word or a number. */
static Error *read_label(Tokens *tokens, const char *mark, char **out) {
    TRY(tokens_expect(tokens, mark));
    if (tokens->token.kind != TOKEN_WORD && tokens->token.kind != TOKEN_NUMBER)
        return tokens_fail(tokens, "a name is missing");
    char *label;
    TRY(tokens_copy(tokens, &label));
    Error *error = tokens_next(tokens);
    if (error)
        memory_free(label);
    else
        *out = label;
    return error;
}

static Error *define(
    Assembly *assembly, NameMap *map, const char *name, uint32_t index, uint32_t line) {
    uint32_t other;
    if (assembly_find(map, name, &other)) FAIL(INVALID, "line %u: %s is defined twice", line, name);
    (void)assembly;
    return name_map_set(map, name, assembly_index_to_pointer(index));
}

static Error *read_slot(Tokens *tokens, uint8_t *inout_slot) {
    bool given;
    TRY(tokens_accept(tokens, "slot", &given));
    if (!given) return NULL;
    int64_t slot;
    TRY(tokens_read_i64(tokens, &slot));
    if (slot != 0 && slot != 1)
        FAIL(INVALID, "line %u: slot %lld; there are 0 and 1", tokens->token.line, (long long)slot);
    *inout_slot = (uint8_t)slot;
    return NULL;
}

/* constant @name [slot N] = value */
static Error *read_constant_definition(Assembly *assembly) {
    Tokens *tokens = &assembly->tokens;
    uint32_t line = tokens->token.line;
    char *name;
    TRY(read_label(tokens, "@", &name));
    Error *error = define(assembly, assembly->constants, name, assembly->constant_count, line);
    memory_free(name);
    TRY(error);
    uint8_t slot = UINT8_MAX;
    TRY(read_slot(tokens, &slot));
    TRY(tokens_expect(tokens, "="));
    Value value;
    TRY(assembly_read_constant(tokens, &value));
    if (slot == UINT8_MAX) slot = value_is(&value, OBJECT_TENSOR);
    uint32_t index;
    TRY_WRAP(
        executable_builder_add_constant(assembly->builder, value, slot, &index), "line %u", line);
    assembly->constant_count++;
    return NULL;
}

/* library @name: a constant that was defined before */
static Error *read_library(Assembly *assembly) {
    Tokens *tokens = &assembly->tokens;
    uint32_t line = tokens->token.line, index;
    char *name;
    TRY(read_label(tokens, "@", &name));
    bool found = assembly_find(assembly->constants, name, &index);
    memory_free(name);
    if (!found) return tokens_fail(tokens, "the library's constant is not defined before");
    return error_wrap(
        executable_builder_set_native_library(assembly->builder, index, NULL), "line %u", line);
}

/* "Add.14", or "Add": this version's. */
static Error *split_operator(Tokens *tokens, char *inout_name, uint32_t *out_version) {
    char *dot = strrchr(inout_name, '.');
    int64_t version = 0;
    if (dot) {
        if (!text_parse_i64(dot + 1, &version) || version < 0 || version > UINT32_MAX)
            return tokens_fail(tokens, "a version is missing");
        *dot = '\0';
    } else {
        const OperatorInfo *info = operator_find(inout_name);
        if (info) version = info->version;
    }
    *out_version = (uint32_t)version;
    return NULL;
}

static Error *read_attributes(Tokens *tokens, Attributes **out) {
    if (!tokens_at(tokens, "{")) return attributes_create(out);
    const char *text = tokens->token.start;
    OWN(Attributes, attributes) = NULL;
    TRY_WRAP(attributes_parse(&text, &attributes), "line %u", tokens->token.line);
    for (const char *at = tokens->token.start; at < text; at++) tokens->line += *at == '\n';
    tokens->at = text;
    TRY(tokens_next(tokens));
    *out = TAKE(attributes);
    return NULL;
}

static Error *add_primitive(Assembly *assembly, char *operator_name, uint32_t line) {
    Tokens *tokens = &assembly->tokens;
    uint32_t version, index;
    TRY(split_operator(tokens, operator_name, &version));
    TRY(tokens_next(tokens));
    OWN(Attributes, attributes) = NULL;
    TRY(read_attributes(tokens, &attributes));
    TRY_WRAP(executable_builder_add_primitive(
                 assembly->builder, operator_name, version, attributes, &index),
        "line %u", line);
    assembly->primitive_count++;
    return NULL;
}

/* primitive %name = Operator[.version] [{attributes}] */
static Error *read_primitive_definition(Assembly *assembly) {
    Tokens *tokens = &assembly->tokens;
    uint32_t line = tokens->token.line;
    char *name;
    TRY(read_label(tokens, "%", &name));
    Error *error = define(assembly, assembly->primitives, name, assembly->primitive_count, line);
    memory_free(name);
    TRY(error);
    TRY(tokens_expect(tokens, "="));
    if (tokens->token.kind != TOKEN_WORD) return tokens_fail(tokens, "an operator is missing");
    char *operator_name;
    TRY(tokens_copy(tokens, &operator_name));
    error = add_primitive(assembly, operator_name, line);
    memory_free(operator_name);
    return error;
}

/* Reads a function's flags after its ports; sets body->register_count and last_uses. */
static Error *read_flags(Tokens *tokens, uint32_t *out_flags, AssemblyBody *body) {
    static const struct {
        const char *word;
        uint32_t flag;
    } words[] = {{"exported", FUNCTION_EXPORTED}, {"nulls", FUNCTION_NULLS}, {"last_uses", 0}};
    *out_flags = 0;
    for (;;) {
        bool accepted = false;
        for (uint32_t i = 0; !accepted && i < 3; i++) {
            TRY(tokens_accept(tokens, words[i].word, &accepted));
            if (!accepted) continue;
            *out_flags |= words[i].flag;
            if (words[i].flag == 0) body->last_uses = true;
        }
        if (accepted) continue;
        TRY(tokens_accept(tokens, "registers", &accepted));
        if (!accepted) return NULL;
        TRY(tokens_read_i64(tokens, &body->register_count));
        if (body->register_count < 0 || body->register_count > FUNCTION_REGISTERS_MAX)
            FAIL(INVALID, "line %u: %lld registers", tokens->token.line,
                (long long)body->register_count);
    }
}

/* Remembers the place of a body and skips it: functions may be called before their definition. */
static Error *skip_body(Assembly *assembly, AssemblyBody *body) {
    Tokens *tokens = &assembly->tokens;
    if (!tokens_at(tokens, "{")) return tokens_fail(tokens, "'{' is missing");
    body->text = tokens->at;
    body->line = tokens->line;
    while (!tokens_at(tokens, "}")) {
        TRY(tokens_next(tokens));
        if (tokens->token.kind == TOKEN_END) return tokens_fail(tokens, "'}' is missing");
    }
    TRY(tokens_next(tokens));
    void *bodies = assembly->bodies;
    TRY(memory_grow(&bodies, assembly->body_count, &assembly->body_capacity, sizeof(AssemblyBody)));
    assembly->bodies = bodies;
    assembly->bodies[assembly->body_count++] = *body;
    return NULL;
}

static Error *add_function(Assembly *assembly, FunctionKind kind, AssemblyPorts *parameters) {
    Tokens *tokens = &assembly->tokens;
    uint32_t line = tokens->token.line;
    TextBuilder OWN_TEXT(name) = {0};
    TRY(tokens_read_name(tokens, &name));
    TRY(assembly_read_parameters(tokens, parameters));
    AssemblyPorts results __attribute__((cleanup(assembly_ports_deinit))) = {0};
    bool has_results;
    TRY(tokens_accept(tokens, "->", &has_results));
    if (has_results) TRY(assembly_read_ports(tokens, &results));
    AssemblyBody body = {.register_count = -1, .parameter_count = parameters->count};
    uint32_t flags;
    TRY(read_flags(tokens, &flags, &body));
    ExecutableBuilder *builder = assembly->builder;
    TRY_WRAP(executable_builder_add_function(
                 builder, text_builder_get(&name), kind, flags, parameters->count, &body.function),
        "line %u", line);
    TRY(define(assembly, assembly->functions, text_builder_get(&name), body.function, line));
    if (parameters->ports)
        TRY(executable_builder_set_parameters(
            builder, body.function, parameters->ports, parameters->count));
    if (has_results)
        TRY(executable_builder_set_results(builder, body.function, results.ports, results.count));
    return kind == FUNCTION_PACKED ? NULL : skip_body(assembly, &body);
}

static Error *read_function_definition(Assembly *assembly, FunctionKind kind) {
    AssemblyPorts parameters = {0};
    Error *error = add_function(assembly, kind, &parameters);
    assembly_ports_deinit(&parameters);
    return error;
}

static Error *read_definition(Assembly *assembly) {
    Tokens *tokens = &assembly->tokens;
    bool accepted;
    TRY(tokens_accept(tokens, "constant", &accepted));
    if (accepted) return read_constant_definition(assembly);
    TRY(tokens_accept(tokens, "library", &accepted));
    if (accepted) return read_library(assembly);
    TRY(tokens_accept(tokens, "primitive", &accepted));
    if (accepted) return read_primitive_definition(assembly);
    TRY(tokens_accept(tokens, "function", &accepted));
    if (accepted) return read_function_definition(assembly, FUNCTION_BYTECODE);
    TRY(tokens_accept(tokens, "packed", &accepted));
    if (accepted) return read_function_definition(assembly, FUNCTION_PACKED);
    return tokens_fail(tokens, "constant, library, primitive, function or packed is missing");
}

static Error *read_all(Assembly *assembly, const char *text, Executable **out) {
    TRY(name_map_create(&assembly->constants));
    TRY(name_map_create(&assembly->primitives));
    TRY(name_map_create(&assembly->functions));
    TRY(executable_builder_create(&assembly->builder));
    TRY(tokens_start(text, 1, &assembly->tokens));
    TRY(tokens_skip_newlines(&assembly->tokens));
    while (assembly->tokens.token.kind != TOKEN_END) {
        TRY(read_definition(assembly));
        if (assembly->tokens.token.kind != TOKEN_END &&
            assembly->tokens.token.kind != TOKEN_NEWLINE)
            return tokens_fail(&assembly->tokens, "the end of the line is missing");
        TRY(tokens_skip_newlines(&assembly->tokens));
    }
    for (size_t i = 0; i < assembly->body_count; i++)
        TRY(assembly_read_code(assembly, &assembly->bodies[i]));
    OWN(Executable, executable) = NULL;
    TRY(executable_builder_finish(assembly->builder, &executable));
    for (size_t i = 0; i < assembly->body_count; i++) {
        const AssemblyBody *body = &assembly->bodies[i];
        if (!body->last_uses) continue;
        const Function *function = &executable->functions[body->function];
        uint64_t *words = (uint64_t *)(uintptr_t)executable->code + function->first_word;
        TRY(liveness_mark_last_uses(executable, body->function, words));
    }
    *out = TAKE(executable);
    return NULL;
}

Error *assembly_parse(const char *text, size_t size, Executable **out) {
    if (memchr(text, '\0', size)) FAIL(INVALID, "a NUL in the text");
    if (!text_is_utf8(text, size)) FAIL(INVALID, "the text is not UTF-8");
    void *memory;
    TRY(memory_alloc(size + 1, 1, &memory));
    memcpy(memory, text, size);
    Assembly assembly = {0};
    Error *error = read_all(&assembly, memory, out);
    executable_builder_release(assembly.builder);
    name_map_release(assembly.constants);
    name_map_release(assembly.primitives);
    name_map_release(assembly.functions);
    memory_free(assembly.bodies);
    memory_free(memory);
    return error;
}
