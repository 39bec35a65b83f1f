#include "compiler/relay/relay_types.h"

#include <inttypes.h>
#include <string.h>

enum {
    DEPTH_MAX = 2 * RELAY_NESTING_MAX,
    STEPS_MAX = 1 << 27, /* pairs of pairs of pairs would have types without end */
    PRINT_DEPTH_MAX = 4,
    PRINT_ITEMS_MAX = 8,
};

Error *relay_type_make(RelayProgram *program, RelayTypeKind kind, RelayType **out) {
    TRY(relay_new(program, 1, sizeof **out, out));
    (*out)->kind = kind;
    return NULL;
}

Error *relay_type_of(RelayProgram *program, RelayTypeKind kind, RelayData *data, uint32_t count,
    RelayType *const *items, RelayType **out) {
    TRY(relay_type_make(program, kind, out));
    (*out)->data = data;
    TRY(relay_new(program, count, sizeof *items, &(*out)->items));
    if (count > 0) memcpy((*out)->items, items, count * sizeof *items);
    (*out)->count = count;
    return NULL;
}

Error *relay_type_tensor(
    RelayProgram *program, DType dtype, uint32_t rank, const int64_t *dims, RelayType **out) {
    TRY(relay_type_make(program, RELAY_TYPE_TENSOR, out));
    (*out)->dtype = dtype;
    (*out)->rank_known = true;
    (*out)->rank = rank;
    for (uint32_t i = 0; i < rank; i++) (*out)->dims[i] = dims[i];
    return NULL;
}

RelayType *relay_type_find(RelayType *type) {
    while (type->kind == RELAY_TYPE_VARIABLE && type->instance) type = type->instance;
    return type;
}

/* The variable at the end of a chain, whose instance is no variable. NULL: none. */
static RelayType *last_variable(RelayType *type) {
    RelayType *last = NULL;
    for (; type->kind == RELAY_TYPE_VARIABLE && type->instance; type = type->instance) last = type;
    return last;
}

/* Counts a step of work on a type. */
static Error *step(RelayProgram *program, uint32_t depth) {
    if (depth > DEPTH_MAX) FAIL(INVALID, "a type is nested deeper than %d", DEPTH_MAX);
    if (++program->type_steps > STEPS_MAX) FAIL(INVALID, "the program's types have too many parts");
    return NULL;
}

static Error *substitute(RelayProgram *program, RelayType *type, uint32_t count,
    RelayType *const *parameters, RelayType *const *by, uint32_t depth, RelayType **out) {
    type = relay_type_find(type);
    *out = type;
    TRY(step(program, depth));
    for (uint32_t i = 0; type->kind == RELAY_TYPE_PARAMETER && i < count; i++)
        if (parameters[i] == type) *out = by[i];
    if (type->count == 0 || count == 0) return NULL;
    RelayType *copy;
    TRY(relay_type_of(program, type->kind, type->data, type->count, type->items, &copy));
    for (uint32_t i = 0; i < type->count; i++)
        TRY(substitute(program, type->items[i], count, parameters, by, depth + 1, &copy->items[i]));
    *out = copy;
    return NULL;
}

Error *relay_type_substitute(RelayProgram *program, RelayType *type, uint32_t count,
    RelayType *const *parameters, RelayType *const *by, RelayType **out) {
    return substitute(program, type, count, parameters, by, 0, out);
}

Error *relay_type_instantiate(RelayProgram *program, RelayType *type, uint32_t count,
    RelayType *const *parameters, RelayType **out) {
    RelayType **by;
    TRY(relay_new(program, count, sizeof *by, &by));
    for (uint32_t i = 0; i < count; i++) TRY(relay_type_make(program, RELAY_TYPE_VARIABLE, &by[i]));
    return relay_type_substitute(program, type, count, parameters, by, out);
}

/* ---- unification ---- */

static Error *occurs(RelayProgram *program, const RelayType *variable, RelayType *type,
    uint32_t depth, bool *out_occurs) {
    type = relay_type_find(type);
    if (type == variable) *out_occurs = true;
    TRY(step(program, depth));
    for (uint32_t i = 0; !*out_occurs && i < type->count; i++)
        TRY(occurs(program, variable, type->items[i], depth + 1, out_occurs));
    return NULL;
}

/* What two tensor types have in common. False: they cannot be the same value's. */
static bool join_tensors(const RelayType *a, const RelayType *b, RelayType *out) {
    *out = *a;
    if (a->dtype != DTYPE_NONE && b->dtype != DTYPE_NONE && a->dtype != b->dtype) return false;
    if (b->dtype == DTYPE_NONE) out->dtype = DTYPE_NONE;
    if (!a->rank_known || !b->rank_known) {
        out->rank_known = false;
        return true;
    }
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i]) return false;
        if (b->dims[i] < 0) out->dims[i] = -1;
    }
    return true;
}

/* a and b are found types; the variables stand for them. */
static Error *unify_tensors(RelayProgram *program, RelayType *a, RelayType *b,
    RelayType *a_variable, RelayType *b_variable, bool *out_fit) {
    RelayType *joined;
    TRY(relay_type_make(program, RELAY_TYPE_TENSOR, &joined));
    *out_fit = join_tensors(a, b, joined);
    if (!*out_fit) return NULL;
    if (a_variable) a_variable->instance = joined;
    if (b_variable) b_variable->instance = joined;
    return NULL;
}

static Error *unify(
    RelayProgram *program, RelayType *a, RelayType *b, uint32_t depth, bool *out_fit) {
    RelayType *a_variable = last_variable(a), *b_variable = last_variable(b);
    a = relay_type_find(a);
    b = relay_type_find(b);
    *out_fit = true;
    TRY(step(program, depth));
    if (a == b) return NULL;
    if (b->kind == RELAY_TYPE_VARIABLE) {
        RelayType *swapped = a;
        a = b;
        b = swapped;
    }
    if (a->kind == RELAY_TYPE_VARIABLE) {
        bool circle = false;
        TRY(occurs(program, a, b, 0, &circle));
        *out_fit = !circle;
        program->has_circle = circle;
        if (!circle) a->instance = b;
        return NULL;
    }
    if (a->kind == RELAY_TYPE_TENSOR && b->kind == RELAY_TYPE_TENSOR)
        return unify_tensors(program, a, b, a_variable, b_variable, out_fit);
    *out_fit = a->kind == b->kind && a->kind != RELAY_TYPE_PARAMETER && a->data == b->data &&
               a->count == b->count;
    for (uint32_t i = 0; *out_fit && i < a->count; i++)
        TRY(unify(program, a->items[i], b->items[i], depth + 1, out_fit));
    return NULL;
}

Error *relay_type_unify(RelayProgram *program, RelayType *a, RelayType *b, bool *out_fit) {
    return unify(program, a, b, 0, out_fit);
}

/* ---- printing ---- */

static void print_tensor(const RelayType *type, TextBuilder *out) {
    const char *dtype = type->dtype == DTYPE_NONE ? "?" : dtype_name(type->dtype);
    if (!type->rank_known) {
        text_appendf(out, "Tensor[?, %s]", dtype);
        return;
    }
    text_append(out, "Tensor[(");
    for (uint32_t i = 0; i < type->rank; i++) {
        if (i > 0) text_append(out, ", ");
        if (type->dims[i] < 0)
            text_append(out, "?");
        else
            text_appendf(out, "%" PRId64, type->dims[i]);
    }
    text_appendf(out, "%s), %s]", type->rank == 1 ? "," : "", dtype);
}

static void print(const RelayType *type, uint32_t depth, TextBuilder *out);

static void print_items(const RelayType *type, uint32_t count, uint32_t depth, TextBuilder *out) {
    for (uint32_t i = 0; i < count && i < PRINT_ITEMS_MAX; i++) {
        if (i > 0) text_append(out, ", ");
        print(type->items[i], depth + 1, out);
    }
    if (count > PRINT_ITEMS_MAX) text_append(out, ", …");
}

static void print(const RelayType *type, uint32_t depth, TextBuilder *out) {
    while (type->kind == RELAY_TYPE_VARIABLE && type->instance) type = type->instance;
    if (depth > PRINT_DEPTH_MAX) {
        text_append(out, "…");
        return;
    }
    switch (type->kind) {
    case RELAY_TYPE_VARIABLE:
        text_append(out, "_");
        return;
    case RELAY_TYPE_PARAMETER:
        text_append(out, type->name);
        return;
    case RELAY_TYPE_TENSOR:
        print_tensor(type, out);
        return;
    case RELAY_TYPE_TUPLE:
        text_append(out, "(");
        print_items(type, type->count, depth, out);
        text_append(out, type->count == 1 ? ",)" : ")");
        return;
    case RELAY_TYPE_FUNCTION:
        text_append(out, "fn (");
        print_items(type, type->count - 1, depth, out);
        text_append(out, ") -> ");
        print(type->items[type->count - 1], depth + 1, out);
        return;
    case RELAY_TYPE_DATA:
    case RELAY_TYPE_REFERENCE:
        break;
    }
    text_append(out, type->data ? type->data->name : "Ref");
    if (type->count == 0) return;
    text_append(out, "[");
    print_items(type, type->count, depth, out);
    text_append(out, "]");
}

void relay_type_print(const RelayType *type, TextBuilder *out) { print(type, 0, out); }
