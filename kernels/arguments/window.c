#include "kernels/arguments/window.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/arguments/arguments.h"

/* Keeps every product of two values, plus a dimension, inside int64. */
static const int64_t VALUE_MAX = INT32_MAX;

typedef enum AutoPad { PAD_EXPLICIT, PAD_VALID, PAD_SAME_UPPER, PAD_SAME_LOWER } AutoPad;

static Error *read_list(const Attributes *attributes, const char *name, uint32_t count, int64_t low,
    int64_t fallback, int64_t *out) {
    uint32_t given;
    const int64_t *values = attributes_ints(attributes, name, &given);
    for (uint32_t i = 0; i < count; i++) out[i] = fallback;
    if (!values) return NULL;
    if (given != count) FAIL(INVALID, "%s has %u elements, not %u", name, given, count);
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] < low || values[i] > VALUE_MAX)
            FAIL(INVALID, "%s contains %" PRId64, name, values[i]);
        out[i] = values[i];
    }
    return NULL;
}

/* Operators that only know explicit padding. */
static bool has_auto_pad(const PlanRequest *request) {
    OperatorId id = request->operator_info->id;
    return id != OPERATOR_DEFORM_CONV && id != OPERATOR_COL_2_IM && id != OPERATOR_MAX_UNPOOL;
}

static Error *read_auto_pad(const Attributes *attributes, AutoPad *out) {
    static const char *const names[] = {
        [PAD_EXPLICIT] = "NOTSET",
        [PAD_VALID] = "VALID",
        [PAD_SAME_UPPER] = "SAME_UPPER",
        [PAD_SAME_LOWER] = "SAME_LOWER",
        NULL,
    };
    uint32_t pad;
    TRY(arguments_word(attributes, "auto_pad", names, &pad));
    *out = (AutoPad)pad;
    return NULL;
}

static const Shape *weights_of(const PlanRequest *request) {
    const OperatorId id = request->operator_info->id;
    const bool quantizes = id == OPERATOR_QLINEAR_CONV || id == OPERATOR_FUSED_QLINEAR_CONV;
    return &request->inputs[quantizes ? 3 : 1].shape;
}

/* Reads kernel_shape; for convolutions the shape of the weights is the default. */
static Error *read_kernel(const PlanRequest *request, bool has_weights, Window *window) {
    TRY(read_list(request->attributes, "kernel_shape", window->rank, 1, 0, window->kernel));
    if (!has_weights) return NULL;
    const Shape *weights = weights_of(request);
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t size = weights->dims[2 + i];
        if (window->kernel[i] != 0 && window->kernel[i] != size)
            FAIL(INVALID, "kernel_shape is not that of the weights");
        if (size < 1 || size > VALUE_MAX)
            FAIL(INVALID, "a kernel of %" PRId64 " in dimension %u", size, i);
        window->kernel[i] = size;
    }
    return NULL;
}

/* Reads strides, dilations and pads. The window's rank is set before. */
static Error *read_steps(const PlanRequest *request, Window *window, AutoPad *out_auto_pad) {
    const Attributes *attributes = request->attributes;
    int64_t pads[2 * WINDOW_RANK_MAX];
    const bool dilated = request->operator_info->id != OPERATOR_MAX_UNPOOL;
    TRY(read_list(attributes, "strides", window->rank, 1, 1, window->stride));
    for (uint32_t i = 0; i < window->rank; i++) window->dilation[i] = 1;
    if (dilated) TRY(read_list(attributes, "dilations", window->rank, 1, 1, window->dilation));
    TRY(read_list(attributes, "pads", 2 * window->rank, 0, 0, pads));
    *out_auto_pad = PAD_EXPLICIT;
    if (has_auto_pad(request)) TRY(read_auto_pad(attributes, out_auto_pad));
    if (*out_auto_pad != PAD_EXPLICIT) return NULL;
    memcpy(window->pad_begin, pads, window->rank * sizeof(int64_t));
    memcpy(window->pad_end, pads + window->rank, window->rank * sizeof(int64_t));
    return NULL;
}

static Error *read_window(
    const PlanRequest *request, bool has_weights, Window *window, AutoPad *out_auto_pad) {
    const Shape *input = &request->inputs[0].shape;
    if (input->rank < 3) FAIL(INVALID, "an input of rank %u", input->rank);
    *window = (Window){.rank = input->rank - 2};
    if (has_weights && weights_of(request)->rank != input->rank)
        FAIL(INVALID, "weights of rank %u for an input of rank %u", weights_of(request)->rank,
            input->rank);
    memcpy(window->input, input->dims + 2, window->rank * sizeof(int64_t));
    TRY(read_kernel(request, has_weights, window));
    return read_steps(request, window, out_auto_pad);
}

static int64_t extent(const Window *window, uint32_t i) { return window_reach(window, i, 1); }

static void split_padding(Window *window, uint32_t i, int64_t total, bool more_at_begin) {
    if (total < 0) total = 0;
    window->pad_begin[i] = more_at_begin ? total - total / 2 : total / 2;
    window->pad_end[i] = total - window->pad_begin[i];
}

/* Computes the output size. With outputs_min 0, a pool whose window does not fit has an empty
 * output. */
static Error *slide(
    Window *window, uint32_t i, AutoPad auto_pad, int64_t outputs_min, bool ceil_mode) {
    int64_t input = window->input[i], stride = window->stride[i];
    if (auto_pad == PAD_SAME_UPPER || auto_pad == PAD_SAME_LOWER) {
        window->output[i] = input / stride + (input % stride != 0);
        int64_t needed = window->output[i] > 0 ? (window->output[i] - 1) * stride : 0;
        split_padding(window, i, needed + extent(window, i) - input, auto_pad == PAD_SAME_LOWER);
        return NULL;
    }
    int64_t room = input + window->pad_begin[i] + window->pad_end[i] - extent(window, i);
    window->output[i] = room / stride - (room % stride < 0) + 1; /* rounded down */
    /* a last, partial window counts unless it would start in the padding behind the input */
    if (ceil_mode && room % stride != 0 &&
        window->output[i] * stride < input + window->pad_begin[i])
        window->output[i]++;
    if (window->output[i] < outputs_min)
        FAIL(INVALID, "a window of %" PRId64 " over %" PRId64 " in dimension %u", extent(window, i),
            room + extent(window, i), i);
    return NULL;
}

Error *window_of(const PlanRequest *request, Window *out) {
    OperatorId id = request->operator_info->id;
    bool is_pool = id == OPERATOR_MAX_POOL || id == OPERATOR_AVERAGE_POOL || id == OPERATOR_LP_POOL;
    Window window;
    AutoPad auto_pad;
    TRY(read_window(request, !is_pool, &window, &auto_pad));
    bool ceil_mode = is_pool && attributes_int(request->attributes, "ceil_mode") != 0;
    for (uint32_t i = 0; i < window.rank; i++)
        TRY(slide(&window, i, auto_pad, is_pool ? 0 : 1, ceil_mode));
    *out = window;
    return NULL;
}

/* Computes the output size, or with output_shape or auto_pad SAME the padding of the given
 * output. */
static Error *slide_back(
    Window *window, uint32_t i, AutoPad auto_pad, int64_t wanted, int64_t more) {
    int64_t reach;
    if (window->input[i] < 1) FAIL(INVALID, "nothing in dimension %u", i);
    if (!checked_mul_i64(window->input[i] - 1, window->stride[i], &reach) || reach > INT64_MAX / 2)
        FAIL(INVALID, "dimension %u becomes too large", i);
    reach += extent(window, i) + more;
    bool same = auto_pad == PAD_SAME_UPPER || auto_pad == PAD_SAME_LOWER;
    if (wanted == 0 && same) wanted = window->input[i] * window->stride[i];
    if (wanted > 0) {
        window->output[i] = wanted;
        split_padding(window, i, reach - wanted, auto_pad != PAD_SAME_UPPER);
        return NULL;
    }
    window->output[i] = reach - window->pad_begin[i] - window->pad_end[i];
    if (window->output[i] < 1) FAIL(INVALID, "nothing is left of dimension %u", i);
    return NULL;
}

Error *window_of_transpose(const PlanRequest *request, Window *out) {
    Window window;
    AutoPad auto_pad;
    TRY(read_window(request, true, &window, &auto_pad));
    int64_t wanted[WINDOW_RANK_MAX], more[WINDOW_RANK_MAX];
    TRY(read_list(request->attributes, "output_shape", window.rank, 1, 0, wanted));
    TRY(read_list(request->attributes, "output_padding", window.rank, 0, 0, more));
    for (uint32_t i = 0; i < window.rank; i++) {
        if (more[i] >= window.stride[i] && more[i] >= window.dilation[i])
            FAIL(INVALID, "output_padding %" PRId64 " in dimension %u", more[i], i);
        TRY(slide_back(&window, i, auto_pad, wanted[i], more[i]));
    }
    *out = window;
    return NULL;
}

/* Reads a value for each dimension of the window, from 1 to VALUE_MAX. */
static Error *read_extents(
    const PlanRequest *request, uint32_t index, uint32_t rank, int64_t *out) {
    uint32_t count;
    TRY(arguments_ints(request, index, WINDOW_RANK_MAX, out, &count));
    if (count != rank) FAIL(INVALID, "input %u has %u elements, not %u", index, count, rank);
    for (uint32_t i = 0; i < rank; i++)
        if (out[i] < 1 || out[i] > VALUE_MAX)
            FAIL(INVALID, "input %u contains %" PRId64, index, out[i]);
    return NULL;
}

Error *window_of_columns(const PlanRequest *request, Window *out) {
    Window window = {0};
    AutoPad none;
    int64_t image[WINDOW_RANK_MAX];
    TRY(arguments_ints(request, 1, WINDOW_RANK_MAX, image, &window.rank));
    if (window.rank == 0) FAIL(INVALID, "an image without dimensions");
    TRY(read_extents(request, 1, window.rank, window.input));
    TRY(read_extents(request, 2, window.rank, window.kernel));
    TRY(read_steps(request, &window, &none));
    for (uint32_t i = 0; i < window.rank; i++) TRY(slide(&window, i, PAD_EXPLICIT, 1, false));
    *out = window;
    return NULL;
}

/* Checks that a pool over an output_shape gives the input: a pool that rounds up covers up to
 * stride - 1 elements beyond the shape, and a pool that rounds down leaves a rest uncovered. */
static Error *check_unpooled(const Window *window, uint32_t i, int64_t wanted) {
    int64_t reach;
    if (!checked_mul_i64(window->input[i] - 1, window->stride[i], &reach) || reach > INT64_MAX / 2)
        FAIL(INVALID, "dimension %u becomes too large", i);
    reach += window->kernel[i] - window->pad_begin[i] - window->pad_end[i];
    if (wanted >= 1 && wanted > reach - window->stride[i]) return NULL;
    FAIL(INVALID, "dimension %u of output_shape is %" PRId64 " for %" PRId64, 2 + i, wanted, reach);
}

Error *window_of_unpool(const PlanRequest *request, Window *out) {
    Window window;
    AutoPad none;
    int64_t wanted[SHAPE_RANK_MAX];
    uint32_t count;
    TRY(read_window(request, false, &window, &none));
    TRY(arguments_ints(request, 2, SHAPE_RANK_MAX, wanted, &count));
    if (count != 0 && count != window.rank + 2)
        FAIL(INVALID, "an output_shape of %u dimensions, not %u", count, window.rank + 2);
    for (uint32_t i = 0; i < 2 && count != 0; i++)
        if (wanted[i] != request->inputs[0].shape.dims[i])
            FAIL(INVALID, "dimension %u of output_shape is %" PRId64 " for %" PRId64, i, wanted[i],
                request->inputs[0].shape.dims[i]);
    for (uint32_t i = 0; i < window.rank; i++) {
        if (count == 0)
            TRY(slide_back(&window, i, PAD_EXPLICIT, 0, 0));
        else
            TRY(check_unpooled(&window, i, window.output[i] = wanted[2 + i]));
    }
    *out = window;
    return NULL;
}

int64_t window_count_positions(
    const Window *window, uint32_t dimension, int64_t corner, bool with_padding) {
    const int64_t low = with_padding ? -window->pad_begin[dimension] : 0;
    const int64_t high = window->input[dimension] + (with_padding ? window->pad_end[dimension] : 0);
    int64_t count = 0;
    for (int64_t k = 0; k < window->kernel[dimension]; k++) {
        const int64_t at = corner + k * window->dilation[dimension];
        count += at >= low && at < high;
    }
    return count;
}

void window_index_steps(
    const Window *window, bool column_major, int64_t out_steps[WINDOW_RANK_MAX]) {
    int64_t step = 1;
    for (uint32_t i = 0; i < window->rank; i++) {
        const uint32_t d = column_major ? i : window->rank - 1 - i;
        out_steps[d] = step;
        step *= window->input[d];
    }
}
