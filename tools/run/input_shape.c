#include "tools/run/input_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

/* Whether the option's text before `=` names this dimension. */
static bool names_dimension(const char *option, size_t length, const Port *port, uint32_t axis) {
    char place[FUNCTION_NAME_MAX + 16];
    const char *symbol = port->symbols[axis];
    if (symbol && strlen(symbol) == length && strncmp(symbol, option, length) == 0) return true;
    (void)snprintf(place, sizeof place, "%s.%u", port->name, axis);
    return strlen(place) == length && strncmp(place, option, length) == 0;
}

/* Reads NAME=N. */
static Error *read_option(const char *option, size_t *out_length, int64_t *out_size) {
    const char *equals = strchr(option, '=');
    if (!equals || equals == option || !text_parse_i64(equals + 1, out_size) || *out_size < 0)
        FAIL(USAGE, "--dim %s: NAME=N is wanted, with a whole number", option);
    *out_length = (size_t)(equals - option);
    return NULL;
}

Error *input_shape_of(const CommandContext *context, const Port *port, Shape *out) {
    const char *option;
    Shape shape = port->shape;
    if (!port->rank_known)
        FAIL(UNSUPPORTED, "input %s: the model does not say its number of dimensions", port->name);
    if (command_flag(context, "items") && shape.rank > 0) shape.dims[0] = -1;
    for (uint32_t i = 0; (option = command_option_at(context, "dim", i)); i++) {
        size_t length;
        int64_t size;
        TRY(read_option(option, &length, &size));
        for (uint32_t axis = 0; axis < shape.rank; axis++)
            if (shape.dims[axis] < 0 && names_dimension(option, length, port, axis))
                shape.dims[axis] = size;
    }
    *out = shape;
    return NULL;
}

void input_shape_close(Shape *inout_shape) {
    for (uint32_t axis = 0; axis < inout_shape->rank; axis++)
        if (inout_shape->dims[axis] < 0) inout_shape->dims[axis] = 1;
}

Error *input_shape_fit(const char *name, int64_t count, Shape *inout_shape) {
    TextBuilder OWN_TEXT(text) = {0};
    Shape shape = *inout_shape;
    uint32_t last = SHAPE_RANK_MAX;
    int64_t total;
    for (uint32_t axis = 0; axis < shape.rank; axis++)
        if (shape.dims[axis] < 0) last = axis;
    input_shape_close(&shape);
    TRY_WRAP(shape_count(&shape, &total), "input %s", name);
    if (last < SHAPE_RANK_MAX && total > 0 && count % total == 0) {
        shape.dims[last] = count / total;
        total = count;
    }
    if (total != count) {
        shape_print(inout_shape, &text);
        FAIL(INVALID, "input %s: %" PRId64 " elements do not fill the shape %s", name, count,
            text_builder_get(&text));
    }
    *inout_shape = shape;
    return NULL;
}

static bool is_known(const char *option, size_t length, const Function *function) {
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const Port *port = &function->parameters[i];
        for (uint32_t axis = 0; port->rank_known && axis < port->shape.rank; axis++)
            if (port->shape.dims[axis] < 0 && names_dimension(option, length, port, axis))
                return true;
    }
    return false;
}

Error *input_shape_check_options(const CommandContext *context, const Function *function) {
    const char *option;
    for (uint32_t i = 0; (option = command_option_at(context, "dim", i)); i++) {
        size_t length;
        int64_t size;
        TRY(read_option(option, &length, &size));
        if (!function->parameters || !is_known(option, length, function))
            FAIL(USAGE, "--dim %s: function %s has no free dimension of this name", option,
                function->name);
    }
    return NULL;
}
