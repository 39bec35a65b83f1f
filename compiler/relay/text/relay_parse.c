#include "compiler/relay/text/relay_parse.h"

#include <string.h>

#include "base/allocator.h"
#include "compiler/relay/text/relay_meta.h"
#include "compiler/relay/text/relay_parser_internal.h"

Error *relay_items_add(RelayItems *items, void *item) {
    void *array = items->items;
    TRY(memory_grow(&array, items->count, &items->capacity, sizeof *items->items));
    items->items = array;
    items->items[items->count++] = item;
    return NULL;
}

void relay_items_deinit(RelayItems *items) { memory_free(items->items); }

Error *relay_items_take(
    RelayParser *parser, RelayItems *items, void *out_array, uint32_t *out_count) {
    void *array;
    TRY(arena_copy(&parser->program->arena, items->items, items->count, sizeof(void *), &array));
    *(void **)out_array = array;
    *out_count = (uint32_t)items->count;
    return NULL;
}

Error *relay_parse_text(RelayParser *parser, const char **out) {
    const RelayTokens *tokens = &parser->tokens;
    void *copy;
    if (!text_is_utf8(tokens->text, tokens->size) || strlen(tokens->text) != tokens->size)
        FAIL(INVALID, RELAY_AT ": a text is not UTF-8", RELAY_PLACE(tokens->place));
    TRY(arena_copy(&parser->program->arena, tokens->text, tokens->size + 1, 1, &copy));
    *out = copy;
    return NULL;
}

Error *relay_parse_enter(RelayParser *parser) {
    enum { DEPTH_MAX = 2 * RELAY_NESTING_MAX }; /* brackets leave no trace in the tree */
    if (++parser->depth > DEPTH_MAX)
        FAIL(INVALID, RELAY_AT ": the program is nested deeper than %d",
            RELAY_PLACE(parser->tokens.place), DEPTH_MAX);
    return NULL;
}

/* Whether the name may be defined. *out_skip: the definition is left out. */
static Error *check_new(const RelayParser *parser, const NameMap *map, const char *name,
    RelayPlace place, bool keeps, bool *out_skip) {
    *out_skip = name_map_find(map, name) != NULL;
    if (*out_skip && !keeps)
        FAIL(INVALID, RELAY_AT ": %s is defined twice", RELAY_PLACE(place), name);
    if (parser->program->global_count + parser->program->data_count >= RELAY_DEFINITIONS_MAX)
        FAIL(INVALID, RELAY_AT ": more than %d definitions", RELAY_PLACE(place),
            RELAY_DEFINITIONS_MAX);
    return NULL;
}

static Error *add_global(
    RelayParser *parser, const char *name, RelayPlace place, RelayExpr *function, bool keeps) {
    RelayProgram *program = parser->program;
    RelayGlobal *global;
    bool skip;
    TRY(check_new(parser, program->globals, name, place, keeps, &skip));
    if (skip) return NULL;
    TRY(relay_new(program, 1, sizeof *global, &global));
    *global = (RelayGlobal){.name = name, .place = place, .function = function, .wanted = !keeps};
    void *list = program->global_list;
    TRY(memory_grow(&list, program->global_count, &program->global_capacity, sizeof global));
    program->global_list = list;
    program->global_list[program->global_count++] = global;
    return name_map_set(program->globals, name, global);
}

/* "def @f …"; def is read. */
static Error *parse_definition(RelayParser *parser, bool keeps) {
    const RelayPlace place = parser->tokens.place;
    const char *name;
    RelayExpr *function;
    if (parser->tokens.kind != RELAY_TOKEN_GLOBAL)
        return relay_tokens_fail(&parser->tokens, "the name of a function, @f,");
    TRY(relay_parse_text(parser, &name));
    TRY(relay_tokens_next(&parser->tokens));
    TRY(relay_parse_function(parser, place, &function));
    return add_global(parser, name, place, function, keeps);
}

/* "Cons(A, List[A])" */
static Error *parse_constructor(RelayParser *parser, RelayData *data, RelayConstructor **out) {
    RelayTokens *tokens = &parser->tokens;
    RelayItems OWN_ITEMS(fields) = {0};
    RelayConstructor *made;
    bool taken;
    if (tokens->kind != RELAY_TOKEN_NAME) return relay_tokens_fail(tokens, "a constructor");
    TRY(relay_new(parser->program, 1, sizeof *made, &made));
    made->place = tokens->place;
    made->data = data;
    TRY(relay_parse_text(parser, &made->name));
    TRY(relay_tokens_next(tokens));
    TRY(relay_tokens_take(tokens, "(", &taken));
    bool closed = !taken;
    if (!closed) TRY(relay_tokens_take(tokens, ")", &closed));
    while (!closed) {
        RelayTypeText *field;
        bool comma;
        if (fields.count == RELAY_ITEMS_MAX) return relay_tokens_fail(tokens, "fewer fields");
        TRY(relay_parse_type(parser, &field));
        TRY(relay_items_add(&fields, field));
        TRY(relay_tokens_take(tokens, ",", &comma));
        TRY(relay_tokens_take(tokens, ")", &closed));
        if (!closed && !comma) return relay_tokens_fail(tokens, ")");
    }
    *out = made;
    return relay_items_take(parser, &fields, &made->field_texts, &made->field_count);
}

static Error *add_data(RelayParser *parser, RelayData *data, bool keeps) {
    RelayProgram *program = parser->program;
    bool skip;
    TRY(check_new(parser, program->datas, data->name, data->place, keeps, &skip));
    for (uint32_t i = 0; i < data->constructor_count; i++) {
        const RelayConstructor *made = data->constructors[i];
        bool known = name_map_find(program->constructors, made->name) != NULL;
        if (known && !keeps)
            FAIL(INVALID, RELAY_AT ": constructor %s is defined twice", RELAY_PLACE(made->place),
                made->name);
        skip |= known;
    }
    if (skip) return NULL;
    data->wanted = !keeps;
    void *list = program->data_list;
    TRY(memory_grow(&list, program->data_count, &program->data_capacity, sizeof data));
    program->data_list = list;
    program->data_list[program->data_count++] = data;
    for (uint32_t i = 0; i < data->constructor_count; i++) {
        if (name_map_find(program->constructors, data->constructors[i]->name))
            FAIL(INVALID, RELAY_AT ": constructor %s is defined twice",
                RELAY_PLACE(data->constructors[i]->place), data->constructors[i]->name);
        TRY(name_map_set(
            program->constructors, data->constructors[i]->name, data->constructors[i]));
    }
    return name_map_set(program->datas, data->name, data);
}

/* "type List[A] { … }"; type is read. */
static Error *parse_data(RelayParser *parser, bool keeps) {
    RelayTokens *tokens = &parser->tokens;
    RelayItems OWN_ITEMS(constructors) = {0};
    RelayData *data;
    bool taken;
    if (tokens->kind != RELAY_TOKEN_NAME) return relay_tokens_fail(tokens, "the name of a type");
    TRY(relay_new(parser->program, 1, sizeof *data, &data));
    data->place = tokens->place;
    TRY(relay_parse_text(parser, &data->name));
    TRY(relay_tokens_next(tokens));
    TRY(relay_parse_type_parameters(parser, &data->parameter_names, &data->parameter_count));
    TRY(relay_tokens_expect(tokens, "{"));
    TRY(relay_tokens_take(tokens, "}", &taken));
    while (!taken) {
        RelayConstructor *made;
        bool comma;
        if (constructors.count == RELAY_ITEMS_MAX)
            return relay_tokens_fail(tokens, "fewer constructors");
        TRY(parse_constructor(parser, data, &made));
        made->index = (uint32_t)constructors.count;
        TRY(relay_items_add(&constructors, made));
        TRY(relay_tokens_take(tokens, ",", &comma));
        TRY(relay_tokens_take(tokens, "}", &taken));
        if (!taken && !comma) return relay_tokens_fail(tokens, "}");
    }
    TRY(relay_items_take(parser, &constructors, &data->constructors, &data->constructor_count));
    return add_data(parser, data, keeps);
}

/* The text of a version: 0.0.5, of TVM since 0.7, and the older ones. */
static Error *check_version(const RelayTokens *tokens, const char *text) {
    if (text_starts_with(text, "0.0.") && text[4] >= '1' && text[4] <= '5' && !text[5]) return NULL;
    FAIL(UNSUPPORTED,
        RELAY_AT ": the program is of version %.40s; versions 0.0.1 to 0.0.5 are read",
        RELAY_PLACE(tokens->place), text_is_utf8(text, strlen(text)) ? text : "that is no text");
}

/* "#[version = "0.0.5"]" and its older form, v0.0.4. *out_meta: the metadata section begins. */
static Error *skip_headers(RelayParser *parser, bool *out_meta) {
    RelayTokens *tokens = &parser->tokens;
    bool taken;
    *out_meta = false;
    if (tokens->kind == RELAY_TOKEN_NAME && text_starts_with(tokens->text, "v0.")) {
        TRY(check_version(tokens, tokens->text + 1));
        TRY(relay_tokens_next(tokens));
    }
    for (;;) {
        TRY(relay_tokens_take(tokens, "#", &taken));
        if (!taken) return NULL;
        TRY(relay_tokens_expect(tokens, "["));
        if (relay_tokens_is(tokens, "metadata")) {
            *out_meta = true;
            return NULL;
        }
        if (!relay_tokens_is(tokens, "version")) return relay_tokens_fail(tokens, "version");
        TRY(relay_tokens_next(tokens));
        TRY(relay_tokens_expect(tokens, "="));
        if (tokens->kind != RELAY_TOKEN_STRING) return relay_tokens_fail(tokens, "a version");
        TRY(check_version(tokens, tokens->text));
        TRY(relay_tokens_next(tokens));
        TRY(relay_tokens_expect(tokens, "]"));
    }
}

/* "free_var %x: T;" */
static Error *parse_free_variables(RelayParser *parser) {
    RelayTokens *tokens = &parser->tokens;
    for (;;) {
        RelayLocal *local;
        bool taken;
        TRY(relay_tokens_take(tokens, "free_var", &taken));
        if (!taken) return NULL;
        TRY(relay_parse_local(parser, &local));
        TRY(relay_items_add(&parser->free_locals, local));
        TRY(relay_tokens_expect(tokens, ";"));
    }
}

/* A program that is one expression: a function is main, any other is main's body. */
static Error *parse_expression_program(RelayParser *parser) {
    const RelayPlace place = parser->tokens.place;
    RelayExpr *expr, *function;
    TRY(parse_free_variables(parser));
    TRY(relay_parse_block(parser, &expr));
    function = expr;
    if (expr->kind != RELAY_FUNCTION || parser->free_locals.count > 0) {
        TRY(relay_make_expr(parser, RELAY_FUNCTION, place, &function));
        TRY(relay_items_take(
            parser, &parser->free_locals, &function->parameters, &function->parameter_count));
        TRY(relay_set_items(parser, function, 1, &expr));
    }
    return add_global(parser, "main", place, function, false);
}

/* "extern type T;": what is outside of the program. extern is read. */
static Error *refuse_extern(RelayParser *parser, RelayPlace place) {
    RelayTokens *tokens = &parser->tokens;
    if (relay_tokens_is(tokens, "type") || relay_tokens_is(tokens, "def"))
        TRY(relay_tokens_next(tokens));
    if (tokens->kind != RELAY_TOKEN_NAME && tokens->kind != RELAY_TOKEN_GLOBAL)
        return relay_tokens_fail(tokens, "the name of a type");
    FAIL(UNSUPPORTED,
        RELAY_AT ": %s%.60s is extern; a program has to define all its types and functions",
        RELAY_PLACE(place), tokens->kind == RELAY_TOKEN_GLOBAL ? "@" : "", tokens->text);
}

static Error *parse_definitions(RelayParser *parser, bool keeps, bool *out_meta) {
    RelayTokens *tokens = &parser->tokens;
    TRY(skip_headers(parser, out_meta));
    bool any = false;
    while (!*out_meta && tokens->kind != RELAY_TOKEN_END) {
        const RelayPlace place = tokens->place;
        bool def, type, outside;
        TRY(relay_tokens_take(tokens, "extern", &outside));
        if (outside) return refuse_extern(parser, place);
        TRY(relay_tokens_take(tokens, "def", &def));
        if (def) TRY(parse_definition(parser, keeps));
        TRY(relay_tokens_take(tokens, "type", &type));
        if (type) TRY(parse_data(parser, keeps));
        if (!def && !type && any) return relay_tokens_fail(tokens, "def or type");
        if (!def && !type) TRY(parse_expression_program(parser));
        any = true;
        TRY(skip_headers(parser, out_meta));
    }
    if (!any) FAIL(INVALID, RELAY_AT ": the program defines nothing", RELAY_PLACE(tokens->place));
    return NULL;
}

Error *relay_parse(
    RelayProgram *program, const char *source, const char *text, size_t size, bool keeps) {
    void *memory;
    bool meta;
    TRY(memory_alloc(1, sizeof(RelayParser), &memory));
    RelayParser *parser = memory;
    parser->program = program;
    Error *error = relay_tokens_open(source, text, size, &parser->tokens);
    if (!error) error = parse_definitions(parser, keeps, &meta);
    if (!error && meta) error = relay_meta_read(program, &parser->tokens);
    relay_items_deinit(&parser->free_locals);
    memory_free(parser);
    return error;
}
