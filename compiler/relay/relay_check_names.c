/* Names in scope, and types as they are written. */
#include <string.h>

#include "base/allocator.h"
#include "compiler/relay/relay_check_internal.h"

static RelayLocal absent; /* stands for no variable in the map of names */

Error *relay_scope_push(RelayCheck *check, RelayLocal *local) {
    void *shadows = check->shadows;
    TRY(memory_grow(&shadows, check->shadow_count, &check->shadow_capacity, sizeof(RelayShadow)));
    check->shadows = shadows;
    RelayLocal *before = name_map_find(check->locals, local->name);
    check->shadows[check->shadow_count++] = (RelayShadow){local, before ? before : &absent};
    return name_map_set(check->locals, local->name, local);
}

Error *relay_scope_pop(RelayCheck *check, size_t to) {
    while (check->shadow_count > to) {
        const RelayShadow *shadow = &check->shadows[--check->shadow_count];
        TRY(name_map_set(check->locals, shadow->local->name, shadow->before));
    }
    return NULL;
}

RelayLocal *relay_scope_find(const RelayCheck *check, const char *name) {
    RelayLocal *local = name_map_find(check->locals, name);
    return local == &absent ? NULL : local;
}

Error *relay_push_type_names(RelayCheck *check, RelayPlace place, uint32_t count,
    const char *const *names, RelayType ***out_types) {
    TRY(relay_new(check->program, count, sizeof(RelayType *), out_types));
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                FAIL(INVALID, RELAY_AT ": type parameter %s stands twice", RELAY_PLACE(place),
                    names[i]);
        void *list = check->type_names;
        TRY(memory_grow(
            &list, check->type_name_count, &check->type_name_capacity, sizeof(RelayTypeName)));
        check->type_names = list;
        TRY(relay_type_make(check->program, RELAY_TYPE_PARAMETER, &(*out_types)[i]));
        (*out_types)[i]->name = names[i];
        check->type_names[check->type_name_count++] = (RelayTypeName){names[i], (*out_types)[i]};
    }
    return NULL;
}

void relay_constructor_nearest(const RelayCheck *check, Nearest *nearest) {
    for (size_t i = 0; i < check->program->data_count; i++) {
        const RelayData *data = check->program->data_list[i];
        for (uint32_t k = 0; k < data->constructor_count; k++)
            nearest_try(nearest, data->constructors[k]->name);
    }
}

static Error *no_type(const RelayCheck *check, const RelayTypeText *text) {
    Nearest nearest = nearest_to(text->name);
    for (size_t i = 0; i < check->program->data_count; i++)
        nearest_try(&nearest, check->program->data_list[i]->name);
    for (size_t i = 0; i < check->type_name_count; i++)
        nearest_try(&nearest, check->type_names[i].name);
    for (DType dtype = DTYPE_NONE + 1; dtype < DTYPE_COUNT; dtype++)
        nearest_try(&nearest, dtype_name(dtype));
    nearest_try(&nearest, "Tensor");
    FAIL(INVALID, RELAY_AT ": there is no type %s" NEAREST_TEXT, RELAY_PLACE(text->place),
        text->name, NEAREST_NAME(nearest, ""));
}

/* An element type alone is a scalar's type. */
static Error *resolve_named(
    RelayCheck *check, const RelayTypeText *text, RelayType **items, RelayType **out) {
    RelayData *data = name_map_find(check->program->datas, text->name);
    const DType dtype = dtype_find(text->name);
    for (size_t i = check->type_name_count; text->count == 0 && i-- > 0;) {
        if (strcmp(check->type_names[i].name, text->name) != 0) continue;
        *out = check->type_names[i].type;
        return NULL;
    }
    if (!data && dtype != DTYPE_NONE && dtype != DTYPE_STRING && text->count == 0)
        return relay_type_tensor(check->program, dtype, 0, NULL, out);
    if (!data && strcmp(text->name, "Ref") == 0 && text->count == 1)
        return relay_type_of(check->program, RELAY_TYPE_REFERENCE, NULL, 1, items, out);
    if (!data) return no_type(check, text);
    if (data->parameter_count != text->count)
        FAIL(INVALID, RELAY_AT ": type %s has %u type parameters, not %u", RELAY_PLACE(text->place),
            data->name, data->parameter_count, text->count);
    TRY(relay_want_data(check, data));
    return relay_type_of(check->program, RELAY_TYPE_DATA, data, text->count, items, out);
}

Error *relay_resolve_type(RelayCheck *check, const RelayTypeText *text, RelayType **out) {
    RelayProgram *program = check->program;
    RelayType **items;
    if (!text || text->kind == RELAY_TEXT_UNKNOWN)
        return relay_type_make(program, RELAY_TYPE_VARIABLE, out);
    if (text->kind == RELAY_TEXT_TENSOR)
        return relay_type_tensor(program, text->dtype, text->rank, text->dims, out);
    TRY(relay_new(program, text->count, sizeof *items, &items));
    for (uint32_t i = 0; i < text->count; i++)
        TRY(relay_resolve_type(check, text->items[i], &items[i]));
    if (text->kind == RELAY_TEXT_NAMED) return resolve_named(check, text, items, out);
    return relay_type_of(program,
        text->kind == RELAY_TEXT_TUPLE ? RELAY_TYPE_TUPLE : RELAY_TYPE_FUNCTION, NULL, text->count,
        items, out);
}

static Error *resolve_fields(RelayCheck *check, RelayConstructor *made) {
    TRY(relay_new(check->program, made->field_count, sizeof *made->fields, &made->fields));
    for (uint32_t i = 0; i < made->field_count; i++)
        TRY(relay_resolve_type(check, made->field_texts[i], &made->fields[i]));
    return NULL;
}

/* Recursion goes from type to type, each once; their number is bounded, so is the depth of what
 * the prelude defines. The user's types are wanted in the order of their definitions. */
Error *relay_want_data(RelayCheck *check, RelayData *data) {
    if (data->wanted) return NULL;
    data->wanted = true;
    const size_t mine = check->type_name_count;
    TRY(relay_push_type_names(
        check, data->place, data->parameter_count, data->parameter_names, &data->parameters));
    /* the names around do not reach into the definition, but none of them is hidden by mistake:
     * a field that names one of them has no such type parameter */
    RelayTypeName *names = check->type_names;
    const size_t count = check->type_name_count, capacity = check->type_name_capacity;
    check->type_names = NULL;
    check->type_name_count = check->type_name_capacity = 0;
    Error *error = NULL;
    for (size_t i = mine; !error && i < count; i++) {
        void *list = check->type_names;
        error = memory_grow(
            &list, check->type_name_count, &check->type_name_capacity, sizeof(RelayTypeName));
        if (error) break;
        check->type_names = list;
        check->type_names[check->type_name_count++] = names[i];
    }
    for (uint32_t i = 0; !error && i < data->constructor_count; i++)
        error = resolve_fields(check, data->constructors[i]);
    memory_free(check->type_names);
    check->type_names = names;
    check->type_name_count = mine;
    check->type_name_capacity = capacity;
    return error;
}
