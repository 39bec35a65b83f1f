#include "serialize/arrays/npz_ports.h"

#include "base/text.h"
#include "serialize/arrays/array_values.h"

/* A scalar cannot be cut into items: the function that cuts reports it. */
static bool shape_fits(const Port *port, const Shape *shape, bool items) {
    if (items && shape->rank == 0) return true;
    bool fits = shape->rank == port->shape.rank;
    for (uint32_t i = items ? 1 : 0; fits && i < port->shape.rank; i++)
        fits = port->shape.dims[i] < 0 || shape->dims[i] == port->shape.dims[i];
    return fits;
}

static Error *check_array(const NpzArray *array, const Function *function, bool items) {
    const Port *port;
    bool whole;
    TRY(array_values_find_port(function, array->name, &port, &whole));
    if (!port) return NULL;
    if (port->dtype != DTYPE_NONE && array->dtype != port->dtype)
        FAIL(INVALID, "input %s is %s, not %s", array->name, dtype_name(array->dtype),
            dtype_name(port->dtype));
    if (!port->rank_known || shape_fits(port, &array->shape, items && whole)) return NULL;
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(&array->shape, &text);
    text_append(&text, ", not ");
    shape_print(&port->shape, &text);
    FAIL(INVALID, "input %s has shape %s", array->name, text_builder_get(&text));
}

Error *npz_ports_check(const NpzFile *file, const Function *function, bool items) {
    for (size_t i = 0; i < file->count; i++) TRY(check_array(&file->items[i], function, items));
    return NULL;
}
