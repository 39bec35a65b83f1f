#include <inttypes.h>

#include "vm/objects/list.h"
#include "vm/relax/relax_registry.h"

RELAX(make_tuple) {
    RELAX_UNUSED();
    Adt *tuple;
    TRY(adt_create(call->meter, 0, count, &tuple));
    for (uint32_t i = 0; i < count; i++) tuple->fields[i] = value_copy(arguments[i]);
    *out_result = value_object(OBJECT_ADT, tuple);
    return NULL;
}

static Error *get_field(
    const Value *arguments, uint64_t *out_index, const Value **out_fields, uint32_t *out_count) {
    *out_fields = value_children(&arguments[0], out_count);
    return relax_index(&arguments[1], "field", *out_count, out_index);
}

RELAX(tuple_getitem) {
    RELAX_UNUSED();
    uint64_t index;
    const Value *fields;
    uint32_t field_count;
    TRY(get_field(arguments, &index, &fields, &field_count));
    *out_result = value_copy(fields[index]);
    return NULL;
}

RELAX(tuple_reset_item) {
    RELAX_UNUSED();
    uint64_t index;
    const Value *fields;
    uint32_t field_count;
    TRY(get_field(arguments, &index, &fields, &field_count));
    if (value_is(&arguments[0], OBJECT_ADT) && refcount_is_sole(arguments[0].object)) {
        value_release(&arguments[0].adt->fields[index]);
        *out_result = value_copy(arguments[0]);
        return NULL;
    }
    Adt *copy;
    TRY(adt_create(call->meter, 0, field_count, &copy));
    for (uint32_t i = 0; i < field_count; i++)
        if (i != index) copy->fields[i] = value_copy(fields[i]);
    *out_result = value_object(OBJECT_ADT, copy);
    return NULL;
}
