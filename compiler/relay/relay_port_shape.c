#include "compiler/relay/relay_port_shape.h"

#include <string.h>

enum { DEPTH_MAX = 24 };

/* Makes room for one more item of an array in the program's memory. */
static Error *grow(RelayProgram *program, uint32_t count, uint32_t *inout_capacity, size_t size,
    const void *items, void *out_pointer) {
    if (count < *inout_capacity) return NULL;
    const uint32_t capacity = 2 * count + 4;
    void *copy;
    TRY(relay_new(program, capacity, size, &copy));
    if (count > 0) memcpy(copy, items, count * size);
    memcpy(out_pointer, &copy, sizeof copy);
    *inout_capacity = capacity;
    return NULL;
}

static Error *add_level(
    RelayPortShape *shape, RelayLevelForm form, const RelayPortNode *maker, uint32_t *out_level) {
    TRY(grow(shape->program, shape->level_count, &shape->level_capacity, sizeof *shape->levels,
        shape->levels, &shape->levels));
    *out_level = shape->level_count++;
    shape->levels[*out_level] = (RelayPortLevel){.form = form, .maker = maker};
    return NULL;
}

static Error *add_column(RelayPortShape *shape, const char *name, RelayPortNode *node) {
    if (shape->column_count == RELAY_PORTS_MAX) {
        shape->refused = node->type;
        shape->has_too_many = true;
        return NULL;
    }
    TRY(grow(shape->program, shape->column_count, &shape->column_capacity, sizeof *shape->columns,
        shape->columns, &shape->columns));
    node->column = shape->column_count++;
    shape->columns[node->column] = (RelayPortColumn){name, node->kind, node->type, node->level};
    shape->levels[node->level].has_columns = true;
    return NULL;
}

/* ---- names ---- */

static Error *keep_text(const RelayPortShape *shape, TextBuilder *text, const char **out) {
    void *copy;
    TRY(text_builder_check(text));
    TRY(arena_copy(&shape->program->arena, text_builder_get(text), text->size + 1, 1, &copy));
    *out = copy;
    return NULL;
}

static Error *join_name(
    const RelayPortShape *shape, const char *base, const char *part, const char **out) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "%s.%s", base, part);
    return keep_text(shape, &text, out);
}

static Error *number_name(
    const RelayPortShape *shape, const char *base, uint32_t index, const char **out) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "%s.%u", base, index);
    return keep_text(shape, &text, out);
}

static bool has_column(const RelayPortShape *shape, const char *name) {
    for (uint32_t i = 0; i < shape->column_count; i++)
        if (strcmp(shape->columns[i].name, name) == 0) return true;
    return false;
}

/* Adds the column of sizes, presence or tags. A list of lists of lists has sizes and sizes2. */
static Error *add_own_column(RelayPortShape *shape, const char *name, RelayPortNode *node) {
    const char *word = node->kind == RELAY_PORT_LIST     ? "sizes"
                       : node->kind == RELAY_PORT_OPTION ? "present"
                                                         : "tag";
    const char *own;
    TRY(join_name(shape, name, word, &own));
    for (uint32_t number = 2; has_column(shape, own); number++) {
        TextBuilder OWN_TEXT(text) = {0};
        text_appendf(&text, "%s.%s%u", name, word, number);
        TRY(keep_text(shape, &text, &own));
    }
    return add_column(shape, own, node);
}

/* ---- kinds ---- */

/* Whether a field is of the data type itself, with the same arguments. */
static bool is_rest(const RelayData *data, RelayType *field) {
    const RelayType *found = relay_type_find(field);
    if (found->kind != RELAY_TYPE_DATA || found->data != data) return false;
    for (uint32_t i = 0; i < data->parameter_count; i++)
        if (relay_type_find(found->items[i]) != data->parameters[i]) return false;
    return true;
}

/* The number of the constructor with fields where the other of two has none; else the count. */
static uint32_t full_constructor(const RelayData *data) {
    if (data->constructor_count != 2) return data->constructor_count;
    for (uint32_t i = 0; i < 2; i++)
        if (data->constructors[i]->field_count > 0 && data->constructors[1 - i]->field_count == 0)
            return i;
    return 2;
}

/* Whether a type says nothing: it has one value, or none. */
static bool is_empty(const RelayData *data) {
    return data->constructor_count == 0 ||
           (data->constructor_count == 1 && data->constructors[0]->field_count == 0);
}

static RelayPortKind data_kind(const RelayData *data) {
    const uint32_t full = full_constructor(data);
    if (full == data->constructor_count) return full == 1 ? RELAY_PORT_RECORD : RELAY_PORT_CHOICE;
    const RelayConstructor *made = data->constructors[full];
    const bool rest = is_rest(data, made->fields[made->field_count - 1]);
    return rest && made->field_count > 1 ? RELAY_PORT_LIST : RELAY_PORT_OPTION;
}

static Error *make_cases(RelayPortShape *shape, RelayPortNode *node) {
    const RelayData *data = node->type->data;
    const uint32_t full = data ? full_constructor(data) : 0;
    node->case_count = data && node->kind != RELAY_PORT_LIST ? data->constructor_count : 1;
    TRY(relay_new(shape->program, node->case_count, sizeof *node->cases, &node->cases));
    for (uint32_t i = 0; i < node->case_count; i++) {
        RelayPortCase *made = &node->cases[i];
        const bool moved = node->kind == RELAY_PORT_LIST || node->kind == RELAY_PORT_OPTION;
        made->level = node->level;
        if (data) made->constructor = data->constructors[moved ? (i == 0 ? full : 1 - full) : i];
        made->count = data ? made->constructor->field_count : node->type->count;
    }
    if (node->kind != RELAY_PORT_LIST) return NULL;
    node->empty = data->constructors[1 - full];
    node->cases[0].count--;
    return NULL;
}

/* ---- nodes ---- */

static bool same_type(const RelayType *a, const RelayType *b) {
    bool same = a->kind == b->kind && a->data == b->data && a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        const RelayType *left = relay_type_find(a->items[i]), *right = relay_type_find(b->items[i]);
        same = left == right || same_type(left, right);
    }
    return same && (a->kind == RELAY_TYPE_DATA || a->kind == RELAY_TYPE_TUPLE);
}

static bool is_nested(const RelayPortShape *shape, const RelayType *type) {
    for (uint32_t i = 0; i < shape->nested_count; i++)
        if (same_type(shape->nested[i], type)) return true;
    return false;
}

/* Finds the node around this one that has the same type. */
static const RelayPortNode *find_outer(const RelayPortNode *node, uint32_t *out_depth) {
    *out_depth = 0;
    for (const RelayPortNode *outer = node->parent; outer; outer = outer->parent) {
        if (node->type->kind == RELAY_TYPE_DATA && same_type(outer->type, node->type)) return outer;
        (*out_depth)++;
    }
    return NULL;
}

static Error *make_node(RelayPortShape *shape, const char *name, RelayType *type, uint32_t level,
    const RelayPortNode *parent, RelayPortNode **out);

static Error *make_field(RelayPortShape *shape, const char *name, RelayPortNode *node,
    RelayPortCase *made, uint32_t index) {
    const RelayType *type = node->type;
    const RelayConstructor *constructor = made->constructor;
    RelayType *field = constructor ? constructor->fields[index] : type->items[index];
    const char *part = name;
    if (constructor)
        TRY(relay_type_substitute(shape->program, field, type->data->parameter_count,
            type->data->parameters, type->items, &field));
    if (made->count > 1 || !constructor) TRY(number_name(shape, name, index, &part));
    TRY(make_node(shape, part, field, made->level, node, &made->fields[index]));
    const RelayPortNode *carrier = made->fields[index]->carrier;
    if (carrier && (!node->carrier || carrier->levels_first < node->carrier->levels_first))
        node->carrier = carrier;
    return NULL;
}

/* Makes the fields of all constructors. A list, an option or a choice makes a level for each. */
static Error *make_fields(RelayPortShape *shape, const char *name, RelayPortNode *node) {
    const bool many =
        node->kind == RELAY_PORT_LIST || shape->levels[node->level].form == RELAY_LEVEL_MANY;
    TRY(make_cases(shape, node));
    for (uint32_t i = 0; i < node->case_count; i++) {
        RelayPortCase *made = &node->cases[i];
        const char *base = name;
        if (made->count == 0) continue;
        TRY(relay_new(shape->program, made->count, sizeof(RelayPortNode *), &made->fields));
        if (node->kind != RELAY_PORT_RECORD)
            TRY(add_level(
                shape, many ? RELAY_LEVEL_MANY : RELAY_LEVEL_OPTIONAL, node, &made->level));
        if (node->kind == RELAY_PORT_CHOICE)
            TRY(join_name(shape, name, made->constructor->name, &base));
        for (uint32_t k = 0; k < made->count && !shape->refused; k++)
            TRY(make_field(shape, base, node, made, k));
    }
    return NULL;
}

/* The outermost list or option has no column if those of its fields tell how many there are. */
static bool needs_column(const RelayPortShape *shape, const RelayPortNode *node) {
    if (node->column != RELAY_PORT_NONE || node->kind == RELAY_PORT_RECORD) return false;
    return !shape->levels[node->cases[0].level].has_columns;
}

static Error *make_parts(RelayPortShape *shape, const char *name, RelayPortNode *node) {
    node->columns_first = shape->column_count;
    node->levels_first = shape->level_count;
    TRY(make_fields(shape, name, node));
    node->columns_end = shape->column_count;
    node->levels_end = shape->level_count;
    return !shape->refused && needs_column(shape, node) ? add_own_column(shape, name, node) : NULL;
}

/* Data that holds its own type: a level, and in it the node for what such data is. */
static Error *make_nested(RelayPortShape *shape, const char *name, RelayPortNode *node) {
    uint32_t level;
    node->kind = RELAY_PORT_NESTED;
    node->columns_first = shape->column_count;
    node->levels_first = shape->level_count;
    TRY(add_level(shape, RELAY_LEVEL_MANY, node, &level));
    TRY(relay_new(shape->program, 1, sizeof *node->inner, &node->inner));
    *node->inner = (RelayPortNode){.kind = data_kind(node->type->data),
        .type = node->type,
        .parent = node,
        .level = level,
        .column = RELAY_PORT_NONE};
    if (node->inner->kind != RELAY_PORT_RECORD) TRY(add_own_column(shape, name, node->inner));
    TRY(make_parts(shape, name, node->inner));
    node->carrier = node->inner->carrier == node ? NULL : node->inner->carrier;
    node->columns_end = shape->column_count;
    node->levels_end = shape->level_count;
    if (!shape->levels[level].has_columns) shape->refused = node->type;
    return NULL;
}

/* A value inside one of its own type. Where the one around is no nested one yet, the shape is made
 * again with the knowledge that it is. */
static Error *make_again(RelayPortShape *shape, const RelayPortNode *outer, RelayPortNode *node) {
    while (outer->kind != RELAY_PORT_NESTED && outer->parent &&
           same_type(outer->parent->type, node->type))
        outer = outer->parent;
    node->kind = RELAY_PORT_AGAIN;
    node->target = node->carrier = outer;
    if (is_nested(shape, node->type)) return NULL;
    TRY(grow(shape->program, shape->nested_count, &shape->nested_capacity, sizeof *shape->nested,
        shape->nested, &shape->nested));
    shape->nested[shape->nested_count++] = node->type;
    return NULL;
}

/* Depth: DEPTH_MAX. */
static Error *make_node(RelayPortShape *shape, const char *name, RelayType *type, uint32_t level,
    const RelayPortNode *parent, RelayPortNode **out) {
    RelayPortNode *node;
    uint32_t depth;
    TRY(relay_new(shape->program, 1, sizeof *node, &node));
    *out = node;
    *node = (RelayPortNode){.type = relay_type_find(type), .level = level, .parent = parent};
    node->column = RELAY_PORT_NONE;
    if (node->type->kind == RELAY_TYPE_TENSOR) return add_column(shape, name, node);
    const bool data = node->type->kind == RELAY_TYPE_DATA;
    const bool tuple = node->type->kind == RELAY_TYPE_TUPLE && node->type->count > 0;
    const RelayPortNode *outer = find_outer(node, &depth);
    if (outer) return make_again(shape, outer, node);
    if ((!data && !tuple) || depth >= DEPTH_MAX || (data && is_empty(node->type->data))) {
        shape->refused = node->type;
        return NULL;
    }
    if (data && is_nested(shape, node->type)) return make_nested(shape, name, node);
    node->kind = data ? data_kind(node->type->data) : RELAY_PORT_RECORD;
    const bool counted = node->kind == RELAY_PORT_LIST || node->kind == RELAY_PORT_OPTION;
    if (node->kind == RELAY_PORT_CHOICE || (counted && level > 0))
        TRY(add_own_column(shape, name, node));
    return make_parts(shape, name, node);
}

Error *relay_port_shape_make(
    RelayProgram *program, const char *name, RelayType *type, RelayPortShape *out) {
    uint32_t known, level;
    *out = (RelayPortShape){.program = program};
    do {
        known = out->nested_count;
        out->column_count = out->level_count = 0;
        TRY(add_level(out, RELAY_LEVEL_ONE, NULL, &level));
        TRY(make_node(out, name, type, level, NULL, &out->root));
    } while (!out->refused && out->nested_count > known);
    return NULL;
}
