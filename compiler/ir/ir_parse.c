#include "compiler/ir/ir_parse.h"

#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "compiler/ir/ir_internal.h"
#include "compiler/ir/ir_parse_value.h"
#include "compiler/ir/ir_print.h"

enum { VARIABLES_MAX = 1 << 16, LIST_MAX = 256 };

typedef struct Parser {
    IrTokens tokens;
    IrModule *module;
    IrVariable **variables; /* by number in the text */
} Parser;

static Error *parse_number(Parser *parser, int64_t *out) {
    IrTokens *tokens = &parser->tokens;
    if (tokens->kind != IR_TOKEN_VARIABLE || !text_parse_i64(tokens->text, out) || *out < 0 ||
        *out >= VARIABLES_MAX)
        return ir_tokens_fail(tokens, "a variable");
    return ir_tokens_next(tokens);
}

/* The type and slot behind a definition. */
static Error *parse_annotation(Parser *parser, IrType *inout_type, uint8_t *inout_slot) {
    bool taken;
    TRY(ir_tokens_take(&parser->tokens, ":", &taken));
    if (taken) TRY(ir_parse_type(parser->module, &parser->tokens, inout_type));
    if (parser->tokens.kind != IR_TOKEN_FUNCTION) return NULL;
    *inout_slot = parser->tokens.text[0] == '0' ? 0 : 1;
    return ir_tokens_next(&parser->tokens);
}

static Error *parse_use(Parser *parser, IrVariable **out) {
    IrTokens *tokens = &parser->tokens;
    bool absent;
    TRY(ir_tokens_take(tokens, "_", &absent));
    if (absent) {
        *out = NULL;
        return NULL;
    }
    if (tokens->kind != IR_TOKEN_VARIABLE) return ir_parse_constant(parser->module, tokens, out);
    int64_t number;
    TRY(parse_number(parser, &number));
    *out = parser->variables[number];
    if (!*out) FAIL(INVALID, "line %u: %%%lld is not known", tokens->line, (long long)number);
    return NULL;
}

static Error *parse_uses(Parser *parser, IrVariable **uses, uint32_t *out_count) {
    bool taken;
    *out_count = 0;
    TRY(ir_tokens_expect(&parser->tokens, "("));
    TRY(ir_tokens_take(&parser->tokens, ")", &taken));
    while (!taken) {
        if (*out_count == LIST_MAX) return ir_tokens_fail(&parser->tokens, "a shorter list");
        TRY(parse_use(parser, &uses[(*out_count)++]));
        TRY(ir_tokens_take(&parser->tokens, ")", &taken));
        if (!taken) TRY(ir_tokens_expect(&parser->tokens, ","));
    }
    return NULL;
}

/* Reads a function's name: "@loop.1" for name and number; an exported function has only a name. */
static Error *parse_function_name(Parser *parser, IrFunction **out) {
    IrTokens *tokens = &parser->tokens;
    if (tokens->kind != IR_TOKEN_FUNCTION) return ir_tokens_fail(tokens, "a function");
    for (size_t f = 0; f < parser->module->function_count; f++) {
        if (strcmp(parser->module->functions[f]->name, tokens->text) != 0) continue;
        *out = parser->module->functions[f];
        return ir_tokens_next(tokens);
    }
    return ir_tokens_fail(tokens, "a function that there is");
}

static Error *parse_packed_call(IrTokens *tokens, int64_t *out) {
    for (uint32_t i = 0; i < IR_PACKED_COUNT; i++) {
        if (!ir_tokens_is(tokens, ir_packed_info((IrPackedCall)i)->name)) continue;
        *out = i;
        return ir_tokens_next(tokens);
    }
    return ir_tokens_fail(tokens, "a packed function");
}

/* "of TYPE" */
static Error *parse_declared(Parser *parser, IrBinding *binding) {
    IrType type = {0};
    void *copy;
    bool given;
    TRY(ir_tokens_take(&parser->tokens, "of", &given));
    if (!given) return NULL;
    TRY(ir_parse_type(parser->module, &parser->tokens, &type));
    TRY(arena_copy(&parser->module->arena, &type, 1, sizeof type, &copy));
    binding->declared = copy;
    return NULL;
}

/* Parses the parts between a binding's name and its operands. */
static Error *parse_details(Parser *parser, IrBinding *binding) {
    IrTokens *tokens = &parser->tokens;
    switch (binding->kind) {
    case IR_CALL:
    case IR_CLOSURE:
        TRY(ir_tokens_take(tokens, "tail", &binding->flag));
        return parse_function_name(parser, &binding->function);
    case IR_MAKE_TENSOR:
        binding->dtype = dtype_find(tokens->text);
        return ir_tokens_next(tokens);
    case IR_LIST_CONCAT:
    case IR_DEVICE_COPY:
        TRY(ir_tokens_integer(tokens, &binding->integer));
        TRY(ir_tokens_take(tokens, "new", &binding->flag));
        return parse_declared(parser, binding);
    case IR_GET_FIELD:
        return ir_tokens_is(tokens, "(") ? NULL : ir_tokens_integer(tokens, &binding->integer);
    case IR_CALL_PACKED:
        return parse_packed_call(tokens, &binding->integer);
    case IR_OPERATOR:
        return ir_tokens_take(tokens, "host", &binding->flag);
    case IR_FATAL:
        TRY(ir_module_text(parser->module, tokens->text, &binding->text));
        return ir_tokens_next(tokens);
    case IR_CALL_CLOSURE:
        return ir_tokens_take(tokens, "tail", &binding->flag);
    case IR_IF:
    case IR_MATCH:
    case IR_CONSTRUCT:
    case IR_GET_TAG:
    case IR_LIST_NEW:
    case IR_LIST_APPEND:
    case IR_OPTIONAL:
    case IR_INT_OP:
    case IR_READ_SCALAR:
    case IR_SHAPE_OF:
    case IR_YIELD:
    case IR_KIND_COUNT:
        break;
    }
    return NULL;
}

/* Reads the kind that a word names. A word that names no kind is an operator. */
static Error *parse_kind(Parser *parser, IrBinding *binding) {
    IrTokens *tokens = &parser->tokens;
    if (tokens->kind != IR_TOKEN_WORD) return ir_tokens_fail(tokens, "an expression");
    binding->operator_info = operator_find(tokens->text);
    binding->kind = IR_KIND_COUNT;
    for (uint32_t i = IR_OPERATOR + 1; i < IR_KIND_COUNT; i++)
        if (ir_tokens_is(tokens, ir_kind_name((IrKind)i))) binding->kind = (IrKind)i;
    for (uint32_t i = 0; strncmp(tokens->text, "int_", 4) == 0 && i < INT_OP_COUNT; i++) {
        if (strcmp(tokens->text + 4, int_op_name((IntOpKind)i)) != 0) continue;
        binding->kind = IR_INT_OP;
        binding->integer = i;
    }
    if (binding->operator_info) binding->kind = IR_OPERATOR;
    if (binding->kind == IR_KIND_COUNT) return ir_tokens_fail(tokens, "an operator or a kind");
    return ir_tokens_next(tokens);
}

static Error *parse_attributes(Parser *parser, IrBinding *binding) {
    OWN(Attributes, attributes) = NULL;
    if (*binding->operator_info->attributes && ir_tokens_is(&parser->tokens, "{")) {
        const char *text = parser->tokens.start;
        TRY_WRAP(attributes_parse(&text, &attributes), "line %u", parser->tokens.line);
        parser->tokens.at = text;
        TRY(ir_tokens_next(&parser->tokens));
    } else {
        TRY(attributes_create(&attributes));
    }
    TRY_WRAP(attributes_check(attributes, binding->operator_info), "line %u", parser->tokens.line);
    void *array = parser->module->attributes;
    TRY(memory_grow(&array, parser->module->attribute_count, &parser->module->attribute_capacity,
        sizeof(Attributes *)));
    parser->module->attributes = array;
    binding->attributes = attributes;
    parser->module->attributes[parser->module->attribute_count++] = TAKE(attributes);
    return NULL;
}

static Error *parse_block(Parser *parser, IrBlock *block, const char **names);

static Error *parse_branches(Parser *parser, IrBinding *binding) {
    IrFunction *function = binding->block->function;
    void *array;
    TRY(arena_alloc(&parser->module->arena, 2, sizeof(IrBlock *), &array));
    binding->blocks = array;
    binding->block_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        TRY(ir_block_create(function, binding, binding->block->depth + 1, &binding->blocks[i]));
        binding->blocks[i]->index = i;
        if (i == 1) TRY(ir_tokens_expect(&parser->tokens, "else"));
        TRY(ir_tokens_expect(&parser->tokens, "{"));
        TRY(parse_block(parser, binding->blocks[i], NULL));
        TRY(ir_tokens_expect(&parser->tokens, "}"));
    }
    return NULL;
}

typedef struct Definitions {
    int64_t numbers[LIST_MAX];
    IrType types[LIST_MAX];
    uint8_t slots[LIST_MAX];
    uint32_t count;
} Definitions;

static Error *parse_definitions(Parser *parser, Definitions *out) {
    bool more = parser->tokens.kind == IR_TOKEN_VARIABLE;
    out->count = 0;
    while (more) {
        if (out->count == LIST_MAX) return ir_tokens_fail(&parser->tokens, "a shorter list");
        uint32_t i = out->count++;
        out->types[i] = (IrType){0};
        out->slots[i] = IR_SLOT_NONE;
        TRY(parse_number(parser, &out->numbers[i]));
        TRY(parse_annotation(parser, &out->types[i], &out->slots[i]));
        TRY(ir_tokens_take(&parser->tokens, ",", &more));
    }
    return out->count ? ir_tokens_expect(&parser->tokens, "=") : NULL;
}

static Error *parse_binding(Parser *parser, IrBlock *block, Definitions *definitions) {
    IrVariable *uses[LIST_MAX];
    uint32_t use_count;
    TRY(parse_definitions(parser, definitions));
    IrBinding head = {0};
    TRY(parse_kind(parser, &head));
    TRY(parse_details(parser, &head));
    TRY(parse_uses(parser, uses, &use_count));
    IrBinding *binding;
    TRY(ir_binding_create(
        ir_at_end(block), head.kind, use_count, uses, definitions->count, &binding));
    binding->flag = head.flag;
    binding->dtype = head.dtype;
    binding->integer = head.integer;
    binding->operator_info = head.operator_info;
    binding->function = head.function;
    binding->text = head.text;
    binding->declared = head.declared;
    for (uint32_t i = 0; i < binding->result_count; i++) {
        binding->results[i]->type = definitions->types[i];
        if (head.kind == IR_OPERATOR && definitions->types[i].kind == IR_TYPE_UNKNOWN)
            binding->results[i]->type = ir_type_tensor(DTYPE_NONE);
        binding->results[i]->slot = definitions->slots[i];
        parser->variables[definitions->numbers[i]] = binding->results[i];
    }
    if (head.kind == IR_OPERATOR) return parse_attributes(parser, binding);
    return head.kind == IR_IF ? parse_branches(parser, binding) : NULL;
}

/* names: NULL, or room for the results' names. Depth is bounded by IR_NESTING_MAX. */
static Error *parse_block(Parser *parser, IrBlock *block, const char **names) {
    bool ends, more;
    TRY(ir_tokens_take(&parser->tokens, "->", &ends));
    while (!ends) {
        void *definitions; /* too large for this recursion's stack */
        TRY(memory_alloc(1, sizeof(Definitions), &definitions));
        Error *error = parse_binding(parser, block, definitions);
        memory_free(definitions);
        TRY(error);
        TRY(ir_tokens_take(&parser->tokens, "->", &ends));
    }
    IrVariable *results[LIST_MAX];
    uint32_t count = 0;
    more = !ir_tokens_is(&parser->tokens, "}");
    while (more) {
        if (count == LIST_MAX) return ir_tokens_fail(&parser->tokens, "a shorter list");
        TRY(parse_use(parser, &results[count++]));
        if (parser->tokens.kind == IR_TOKEN_STRING) {
            if (names) TRY(ir_module_text(parser->module, parser->tokens.text, &names[count - 1]));
            TRY(ir_tokens_next(&parser->tokens));
        }
        TRY(ir_tokens_take(&parser->tokens, ",", &more));
    }
    return ir_block_set_results(block, count, results);
}

static Error *parse_parameters(Parser *parser, IrFunction *function) {
    bool taken;
    TRY(ir_tokens_expect(&parser->tokens, "("));
    TRY(ir_tokens_take(&parser->tokens, ")", &taken));
    while (!taken) {
        int64_t number;
        char name[IR_TOKEN_SIZE_MAX] = "";
        TRY(parse_number(parser, &number));
        if (parser->tokens.kind == IR_TOKEN_STRING) {
            memcpy(name, parser->tokens.text, sizeof name);
            TRY(ir_tokens_next(&parser->tokens));
        }
        IrType type = {0};
        uint8_t slot = IR_SLOT_NONE;
        TRY(parse_annotation(parser, &type, &slot));
        IrVariable **variable = &parser->variables[number];
        TRY(ir_function_add_parameter(function, *name ? name : NULL, &type, variable));
        (*variable)->slot = slot;
        TRY(ir_tokens_take(&parser->tokens, ")", &taken));
        if (!taken) TRY(ir_tokens_expect(&parser->tokens, ","));
    }
    return NULL;
}

static Error *parse_function(Parser *parser) {
    IrFunction *function, *outer;
    bool local;
    TRY(ir_tokens_expect(&parser->tokens, "function"));
    TRY(parse_function_name(parser, &function));
    TRY(parse_parameters(parser, function));
    TRY(ir_tokens_take(&parser->tokens, "in", &local));
    if (local) {
        TRY(parse_function_name(parser, &outer));
        function->outer = outer->body;
    }
    const char *names[LIST_MAX] = {NULL};
    TRY(ir_tokens_expect(&parser->tokens, "{"));
    TRY(parse_block(parser, function->body, names));
    TRY(ir_function_set_results(
        function, function->body->result_count, function->body->results, names, NULL));
    return ir_tokens_expect(&parser->tokens, "}");
}

/* Makes all functions first, so that a call may come before its function. */
static Error *find_functions(Parser *parser, const char *text) {
    static const char start[] = "function @";
    for (const char *at = text; (at = strstr(at, start)); at++) {
        if (at != text && at[-1] != '\n') continue;
        const char *from = at + sizeof start - 1;
        size_t size = strcspn(from, "(");
        char name[IR_TOKEN_SIZE_MAX];
        if (size == 0 || size >= sizeof name) FAIL(INVALID, "a function's name is wrong");
        memcpy(name, from, size);
        name[size] = '\0';
        IrFunction *function;
        TRY(ir_function_create(parser->module, name, strchr(name, '.') == NULL, NULL, &function));
    }
    return NULL;
}

static Error *parse_all(Parser *parser, const char *text) {
    TRY(find_functions(parser, text));
    TRY(ir_tokens_open(text, &parser->tokens));
    while (parser->tokens.kind != IR_TOKEN_END) TRY(parse_function(parser));
    /* printing adds the number again */
    for (size_t f = 0; f < parser->module->function_count; f++) {
        IrFunction *function = parser->module->functions[f];
        size_t size = strcspn(function->name, ".");
        void *name;
        TRY(arena_copy(&parser->module->arena, function->name, size + 1, 1, &name));
        ((char *)name)[size] = '\0';
        function->name = name;
    }
    return NULL;
}

Error *ir_parse_module(const char *text, IrModule **out) {
    Parser parser = {0};
    OWN(IrModule, module) = NULL;
    TRY(ir_module_create(&module));
    parser.module = module;
    void *variables;
    TRY(memory_alloc(VARIABLES_MAX, sizeof(IrVariable *), &variables));
    parser.variables = variables;
    Error *error = parse_all(&parser, text);
    memory_free(variables);
    if (!error) error = ir_check(module, false);
    if (error) return error;
    *out = TAKE(module);
    return NULL;
}
