#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "vm/objects/list.h"
#include "vm/objects/string_object.h"
#include "vm/relax/relax_names.h"
#include "vm/relax/relax_registry.h"

RELAX(tensor_cache_get) {
    RELAX_UNUSED();
    const Value *found;
    TRY(relax_names_find(call, RELAX_NAME_TENSOR, arguments[0].string->text, &found));
    if (found) *out_result = value_copy(*found);
    return NULL;
}

RELAX(tensor_cache_update) {
    RELAX_UNUSED();
    const char *name = arguments[0].string->text;
    const Value *found;
    TRY(relax_names_find(call, RELAX_NAME_TENSOR, name, &found));
    bool override = count > 2 && relax_int(&arguments[2]) != 0;
    if (found && !override) FAIL(CONFLICT, "there is a tensor %s in the cache already", name);
    return relax_names_set(call, RELAX_NAME_TENSOR, name, &arguments[1]);
}

RELAX(tensor_cache_remove) {
    RELAX_UNUSED();
    return relax_names_remove(call, RELAX_NAME_TENSOR, arguments[0].string->text);
}

RELAX(tensor_cache_clear) {
    RELAX_UNUSED();
    return relax_names_remove(call, RELAX_NAME_TENSOR, NULL);
}

RELAX(tensor_cache_load) {
    RELAX_UNUSED();
    FAIL(REFUSED,
        "%s: an execution reads no files of its host; give it the parameters as inputs or by "
        "tensor_cache.update",
        arguments[0].string->text);
}

/* Puts the tensor of a name at the end of a list. */
static Error *add_named(const PackedCall *call, const char *name, List *list) {
    const Value *found;
    TRY(relax_names_find(call, RELAX_NAME_TENSOR, name, &found));
    if (!found) FAIL(NOT_FOUND, "there is no tensor %s in the cache", name);
    return list_append(list, value_copy(*found));
}

static Error *give_tuple(const PackedCall *call, const List *list, Value *out_result) {
    Adt *tuple;
    TRY(adt_create(call->meter, 0, list->count, &tuple));
    for (uint32_t i = 0; i < list->count; i++) tuple->fields[i] = value_copy(list->items[i]);
    *out_result = value_object(OBJECT_ADT, tuple);
    return NULL;
}

RELAX(param_array_from_cache) {
    RELAX_UNUSED();
    int64_t wanted = relax_int(&arguments[1]);
    OWN(List, list) = NULL;
    TRY(list_create(call->meter, 0, &list));
    for (int64_t i = 0; wanted == -1 || i < wanted; i++) {
        TextBuilder OWN_TEXT(name) = {0};
        text_appendf(&name, "%s_%" PRIi64, arguments[0].string->text, i);
        TRY(text_builder_check(&name));
        const Value *found;
        TRY(relax_names_find(call, RELAX_NAME_TENSOR, text_builder_get(&name), &found));
        if (!found && wanted == -1) break;
        TRY(add_named(call, text_builder_get(&name), list));
    }
    return give_tuple(call, list, out_result);
}

static Error *array_by_names(
    const PackedCall *call, const Value *names, uint32_t count, Value *out_result) {
    OWN(List, list) = NULL;
    TRY(list_create(call->meter, 0, &list));
    for (uint32_t i = 0; i < count; i++) {
        if (!value_is(&names[i], OBJECT_STRING))
            FAIL(INVALID, "name %u is a %s, not a string", i, value_kind_name(&names[i]));
        TRY(add_named(call, names[i].string->text, list));
    }
    return give_tuple(call, list, out_result);
}

RELAX(param_array_from_cache_by_name) {
    RELAX_UNUSED();
    uint32_t names;
    const Value *fields = value_children(&arguments[0], &names);
    return array_by_names(call, fields, names, out_result);
}

RELAX(param_array_from_cache_by_name_unpacked) {
    RELAX_UNUSED();
    return array_by_names(call, arguments, count, out_result);
}

RELAX(param_module_from_cache) {
    return relax_param_array_from_cache(call, arguments, count, context, out_result);
}

RELAX(param_module_from_cache_by_name) {
    return relax_param_array_from_cache_by_name(call, arguments, count, context, out_result);
}
