#include "kernels/arguments/quantization.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/arguments/arguments.h"

static Error *refuse(const PlanRequest *request, uint32_t index, const Shape *of) {
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(&request->inputs[index].shape, &text);
    text_append(&text, " does not fit ");
    shape_print(of, &text);
    FAIL(INVALID, "input %u: %s", index, text_builder_get(&text));
}

static void fill(const Shape *shape, uint32_t axis, QuantizationLayout *out) {
    out->outer = (uint64_t)shape_product(shape, 0, axis);
    out->axis = (uint64_t)shape->dims[axis];
    out->inner = (uint64_t)shape_product(shape, axis + 1, shape->rank);
}

Error *quantization_layout(const PlanRequest *request, QuantizationLayout *out) {
    const Shape *shape = &request->inputs[0].shape, *scales = &request->inputs[1].shape;
    const int64_t block = attributes_int(request->attributes, "block_size");
    if (block < 0) FAIL(INVALID, "block_size %" PRId64, block);
    const bool blocked = block > 0 && scales->rank == shape->rank && scales->rank > 0;
    if (shape_count_unchecked(scales) == 1 && !blocked) {
        *out = (QuantizationLayout){
            1, 1, (uint64_t)shape_count_unchecked(shape), .block = 1, .blocks = 1};
        return NULL;
    }
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    fill(shape, axis, out);
    out->apart = blocked;
    out->block = blocked ? (uint64_t)block : 1;
    out->blocks = out->axis / out->block + (out->axis % out->block != 0);
    Shape wanted = *shape;
    wanted.dims[axis] = (int64_t)out->blocks;
    if (!blocked) wanted = shape_make(1, &shape->dims[axis]);
    return shape_equal(scales, &wanted) ? NULL : refuse(request, 1, shape);
}

Error *quantization_of_matrix(
    const PlanRequest *request, uint32_t index, uint32_t matrix, bool rows, Shape *out) {
    const Shape *whole = &request->inputs[matrix].shape;
    *out = (Shape){0};
    if (!plan_request_has(request, index)) return NULL;
    const Shape *given = &request->inputs[index].shape;
    if (given->rank <= 1 && shape_count_unchecked(given) == 1) return NULL;
    /* a vector operand is a single row or column */
    Shape seen = *whole, wanted;
    if (whole->rank == 1) {
        seen = (Shape){.rank = 2, .dims = {1, 1}};
        seen.dims[rows ? 1 : 0] = whole->dims[0];
    }
    *out = *given;
    if (given->rank == 1 && rows) *out = (Shape){.rank = 2, .dims = {given->dims[0], 1}};
    if (given->rank == 1 && !rows) *out = (Shape){.rank = 2, .dims = {1, given->dims[0]}};
    const bool per_line = out->rank >= 2 && out->dims[out->rank - (rows ? 1 : 2)] == 1;
    Error *error = shape_broadcast(out, &seen, &wanted);
    const bool fits = !error && per_line && shape_equal(&wanted, &seen);
    error_free(error); /* the message below has both shapes */
    return fits ? NULL : refuse(request, index, whole);
}
