/* Operators whose result comes from shapes, attributes or a few numbers: ConstantOfShape, Range,
 * Shape, Size, OneHot, EyeLike. */
#include <string.h>

#include "kernels/cpu/movement/cpu_copy.h"
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/scalar/scalar_convert.h"
#include "kernels/arguments/arguments.h"
#include "kernels/tensor/tensor.h"

enum { ELEMENTS_PER_PART = 16384, CLEARED_BYTES = 4 << 20 };

static uint32_t element_size(const PlanRequest *request) {
    return dtype_bits(request->outputs[0].dtype) / 8;
}

/* An element to repeat. */
typedef struct FillState {
    uint8_t value[8];
    CpuCopy copy;
} FillState;

static Error *launch_fill(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const FillState *state = plan_state(plan);
    (void)output_shapes;
    return cpu_copy_run(cpu_device(plan->device), launch->threads, &state->copy,
        cpu_output(launch, 0), state->value);
}

static Error *plan_constant_of_shape(Device *device, const PlanRequest *request, Plan **out) {
    const Tensor *value = attributes_tensor(request->attributes, "value");
    if (element_size(request) == 0) return cpu_decline(out); /* packed */
    TRY(plan_create(device, request, "cpu.constant_of_shape", sizeof(FillState), out));
    FillState *state = plan_state(*out);
    if (value) memcpy(state->value, tensor_data(value), element_size(request));
    int64_t count = shape_count_unchecked(&request->outputs[0].shape), none = 0, one = 1;
    cpu_copy_make(1, &count, &none, 0, &one, 0, element_size(request), &state->copy);
    (*out)->launch = launch_fill;
    return NULL;
}

static Error *launch_numbers(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const ShapeNumbers *made = plan_state(plan);
    (void)output_shapes;
    if (made->count) memcpy(cpu_output(launch, 0), made->numbers, made->count * sizeof(int64_t));
    return NULL;
}

static Error *plan_numbers(Device *device, const PlanRequest *request, Plan **out) {
    TRY(plan_create(device, request, kernel_row_name(cpu_generate, request->operator_info->id),
        sizeof(ShapeNumbers), out));
    arguments_shape_numbers(request, plan_state(*out));
    (*out)->launch = launch_numbers;
    return NULL;
}

typedef struct RangeState {
    RangeArguments range;
    DType dtype;
} RangeState;

typedef struct RangeRun {
    const RangeState *state;
    void *to;
} RangeRun;

/* Element i is start + i * step, computed in float64 or wrapping integers and rounded once. */
#define RANGE_LOOP(name, T, element)                                                               \
    static void range_##name(const RangeArguments *range, T *to, uint64_t begin, uint64_t end) {   \
        for (uint64_t i = begin; i < end; i++) {                                                   \
            double x = range->start + (double)i * range->step;                                     \
            uint64_t n = (uint64_t)range->start_int + i * (uint64_t)range->step_int;               \
            (void)x;                                                                               \
            (void)n;                                                                               \
            to[i] = (T)(element);                                                                  \
        }                                                                                          \
    }
RANGE_LOOP(float64, double, x)
RANGE_LOOP(float32, float, x)
RANGE_LOOP(float16, uint16_t, scalar_narrow_float16(scalar_narrow_to_odd(x)))
RANGE_LOOP(bfloat16, uint16_t, scalar_narrow_bfloat16(scalar_narrow_to_odd(x)))
RANGE_LOOP(16, uint16_t, n)
RANGE_LOOP(32, uint32_t, n)
RANGE_LOOP(64, uint64_t, n)

static Error *run_range(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const RangeRun *run = context;
    const RangeArguments *range = &run->state->range;
    DType dtype = run->state->dtype;
    (void)part;
    if (dtype == DTYPE_FLOAT64) range_float64(range, run->to, begin, end);
    if (dtype == DTYPE_FLOAT32) range_float32(range, run->to, begin, end);
    if (dtype == DTYPE_FLOAT16) range_float16(range, run->to, begin, end);
    if (dtype == DTYPE_BFLOAT16) range_bfloat16(range, run->to, begin, end);
    if (dtype == DTYPE_INT16) range_16(range, run->to, begin, end);
    if (dtype == DTYPE_INT32) range_32(range, run->to, begin, end);
    if (dtype == DTYPE_INT64) range_64(range, run->to, begin, end);
    return NULL;
}

static Error *launch_range(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const RangeState *state = plan_state(plan);
    RangeRun run = {state, cpu_output(launch, 0)};
    (void)output_shapes;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->range.count,
        ELEMENTS_PER_PART, run_range, &run);
}

static Error *plan_range(Device *device, const PlanRequest *request, Plan **out) {
    RangeArguments range;
    TRY(arguments_range(request, &range));
    TRY(plan_create(device, request, "cpu.range", sizeof(RangeState), out));
    RangeState *state = plan_state(*out);
    state->range = range;
    state->dtype = request->inputs[0].dtype;
    (*out)->launch = launch_range;
    return NULL;
}

/* indices [outer, inner] to [outer, depth, inner]. */
typedef struct OneHotState {
    int64_t outer, depth, inner;
    DType dtype; /* of the indices */
    uint32_t size;
} OneHotState;

typedef struct OneHotRun {
    const OneHotState *state;
    const char *indices;
    char *to;
    uint8_t off[8], on[8];
} OneHotRun;

/* Any number as an index: floats truncated. Loaded once. */
static int64_t load_index(const char *from, DType dtype, int64_t at) {
    switch (dtype_bits(dtype)) {
    case 8: {
        uint8_t x = ((const volatile uint8_t *)from)[at];
        return dtype_is_signed(dtype) ? (int8_t)x : x;
    }
    case 16: {
        uint16_t x = ((const volatile uint16_t *)from)[at];
        if (dtype == DTYPE_FLOAT16) return scalar_f32_to_int64(scalar_widen_float16(x));
        if (dtype == DTYPE_BFLOAT16) return scalar_f32_to_int64(scalar_widen_bfloat16(x));
        return dtype_is_signed(dtype) ? (int16_t)x : x;
    }
    case 32: {
        uint32_t x = ((const volatile uint32_t *)from)[at];
        if (dtype == DTYPE_FLOAT32) return scalar_f32_to_int64(scalar_make_f32(x));
        return dtype_is_signed(dtype) ? (int64_t)(int32_t)x : (int64_t)x;
    }
    default: {
        uint64_t x = ((const volatile uint64_t *)from)[at];
        if (dtype == DTYPE_FLOAT64) return scalar_f64_to_int64(scalar_make_f64(x));
        if (dtype == DTYPE_UINT64 && x > INT64_MAX) return INT64_MAX;
        return (int64_t)x;
    }
    }
}

/* Writes `count` elements of the value. */
static Error *fill_elements(char *to, const void *value, uint32_t size, int64_t count) {
    uint32_t word;
    for (int64_t begin = 0; begin < count; begin += KERNEL_STOP_TURNS) {
        const int64_t end = kernel_stop_piece(begin, count);
        if (begin > 0) TRY(kernel_stop_check());
        if (size == sizeof word) {
            memcpy(&word, value, sizeof word);
            for (int64_t i = begin; i < end; i++) memcpy(to + i * 4, &word, sizeof word);
        } else {
            for (int64_t i = begin; i < end; i++) cpu_move(to + i * size, value, size);
        }
    }
    return NULL;
}

/* An index outside [-depth, depth) sets no element, by ONNX's text. */
static Error *run_one_hot(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const OneHotRun *run = context;
    const OneHotState *state = run->state;
    (void)part;
    int64_t plane = state->depth * state->inner;
    TRY(fill_elements(run->to + (int64_t)begin * plane * state->size, run->off, state->size,
        (int64_t)(end - begin) * plane));
    for (int64_t outer = (int64_t)begin; outer < (int64_t)end; outer++) {
        char *to = run->to + outer * plane * state->size;
        if (kernel_stop_ends_at(outer)) return NULL;
        for (int64_t i = 0; i < state->inner; i++) {
            if (kernel_stop_ends_at(i)) return NULL;
            int64_t given = load_index(run->indices, state->dtype, outer * state->inner + i);
            int64_t index;
            if (!cpu_index_wrap(given, state->depth, &index)) continue;
            cpu_move(to + (index * state->inner + i) * state->size, run->on, state->size);
        }
    }
    return NULL;
}

static Error *launch_one_hot(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const OneHotState *state = plan_state(plan);
    OneHotRun run = {state, cpu_input(launch, 0), cpu_output(launch, 0), {0}, {0}};
    const char *values = cpu_input(launch, 2);
    (void)output_shapes;
    cpu_move(run.off, values, state->size);
    cpu_move(run.on, values + state->size, state->size);
    uint64_t plane = (uint64_t)(state->depth * state->inner);
    if (plane == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->outer,
        ELEMENTS_PER_PART / plane + 1, run_one_hot, &run);
}

static Error *plan_one_hot(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *indices = &request->inputs[0].shape;
    uint32_t axis;
    TRY(shape_axis(attributes_int(request->attributes, "axis"), indices->rank + 1, &axis));
    TRY(plan_create(device, request, "cpu.one_hot", sizeof(OneHotState), out));
    OneHotState *state = plan_state(*out);
    state->outer = shape_product(indices, 0, axis);
    state->depth = request->outputs[0].shape.dims[axis];
    state->inner = shape_product(indices, axis, indices->rank);
    state->dtype = request->inputs[0].dtype;
    state->size = element_size(request);
    (*out)->launch = launch_one_hot;
    return NULL;
}

/* Ones along a diagonal, zeros elsewhere. */
typedef struct EyeState {
    int64_t rows, columns, k;
    uint32_t size;
    uint8_t one[8];
} EyeState;

static Error *launch_eye(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const EyeState *state = plan_state(plan);
    char *to = cpu_output(launch, 0);
    (void)output_shapes;
    if (state->rows == 0 || state->columns == 0) return NULL;
    const uint64_t bytes = (uint64_t)(state->rows * state->columns) * state->size;
    for (uint64_t done = 0; done < bytes; done += CLEARED_BYTES) {
        TRY(kernel_stop_check());
        memset(to + done, 0, bytes - done < CLEARED_BYTES ? bytes - done : CLEARED_BYTES);
    }
    /* the first row that the diagonal crosses, and the column there */
    int64_t row = state->k >= 0 ? 0 : state->k < -state->rows ? state->rows : -state->k;
    int64_t column = state->k > 0 ? state->k : 0;
    for (; row < state->rows && column < state->columns; row++, column++) {
        if (row % KERNEL_STOP_TURNS == 0) TRY(kernel_stop_check());
        cpu_move(to + (row * state->columns + column) * state->size, state->one, state->size);
    }
    return NULL;
}

static Error *plan_eye(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *shape = &request->outputs[0].shape;
    TRY(plan_create(device, request, "cpu.eye_like", sizeof(EyeState), out));
    EyeState *state = plan_state(*out);
    state->rows = shape->dims[0];
    state->columns = shape->dims[1];
    state->k = attributes_int(request->attributes, "k");
    state->size = element_size(request);
    (void)dtype_scalar_write(
        request->outputs[0].dtype, 1, state->one); /* every type of the rule can hold 1 */
    (*out)->launch = launch_eye;
    return NULL;
}

const Kernel cpu_generate[] = {
    {OPERATOR_CONSTANT_OF_SHAPE, DTYPES_ANY, plan_constant_of_shape, "cpu.constant_of_shape",
        KERNEL_PORTABLE},
    {OPERATOR_RANGE, DTYPES_NUMBER, plan_range, "cpu.range", KERNEL_PORTABLE},
    {OPERATOR_SHAPE, DTYPES_SIZED, plan_numbers, "cpu.shape", KERNEL_PORTABLE | KERNEL_BOUNDED},
    {OPERATOR_SIZE, DTYPES_SIZED, plan_numbers, "cpu.size", KERNEL_PORTABLE | KERNEL_BOUNDED},
    {OPERATOR_ONE_HOT, DTYPES_NUMBER, plan_one_hot, "cpu.one_hot", KERNEL_PORTABLE},
    {OPERATOR_EYE_LIKE, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), plan_eye, "cpu.eye_like",
        KERNEL_PORTABLE},
    KERNELS_END,
};
