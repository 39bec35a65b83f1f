/* Det: Gaussian elimination with the largest pivot of each column, in float64. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/scalar/scalar_convert.h"

typedef struct State {
    int64_t matrices, n;
    DType dtype;
} State;

typedef struct Run {
    const State *state;
    const void *from;
    void *to;
    double *copies; /* of the matrices */
} Run;

static void swap_rows(double *matrix, int64_t n, int64_t a, int64_t b) {
    for (int64_t i = 0; i < n; i++) {
        const double kept = matrix[a * n + i];
        matrix[a * n + i] = matrix[b * n + i];
        matrix[b * n + i] = kept;
    }
}

/* The matrix is used up. */
static double eliminate(double *matrix, int64_t n) {
    double product = 1;
    KernelStopMeter meter = {0};
    for (int64_t column = 0; column < n; column++) {
        int64_t pivot = column;
        KERNEL_STOP_EACH (row, column + 1, n)
            if (scalar_abs_f64(matrix[row * n + column]) >
                scalar_abs_f64(matrix[pivot * n + column]))
                pivot = row;
        if (pivot != column) {
            swap_rows(matrix, n, pivot, column);
            product = -product;
        }
        const double *top = matrix + column * n;
        product *= top[column];
        if (top[column] == 0) return scalar_canonical_f64(product);
        for (int64_t row = column + 1; row < n; row++) {
            if (kernel_stop_ends_after(&meter, (uint64_t)(n - column) + 8)) return 0;
            const double factor = matrix[row * n + column] / top[column];
            for (int64_t i = column + 1; i < n; i++) matrix[row * n + i] -= factor * top[i];
        }
    }
    return scalar_canonical_f64(product);
}

static double load(DType dtype, const void *from, int64_t at) {
    if (dtype == DTYPE_FLOAT64) return ((const double *)from)[at];
    if (dtype == DTYPE_FLOAT32) return (double)((const float *)from)[at];
    const uint16_t half = ((const uint16_t *)from)[at];
    return (
        double)(dtype == DTYPE_FLOAT16 ? scalar_widen_float16(half) : scalar_widen_bfloat16(half));
}

static void store(DType dtype, void *to, int64_t at, double value) {
    if (dtype == DTYPE_FLOAT64)
        ((double *)to)[at] = value;
    else if (dtype == DTYPE_FLOAT32)
        ((float *)to)[at] = (float)value;
    else if (dtype == DTYPE_FLOAT16)
        ((uint16_t *)to)[at] = scalar_narrow_float16(scalar_narrow_to_odd(value));
    else
        ((uint16_t *)to)[at] = scalar_narrow_bfloat16(scalar_narrow_to_odd(value));
}

static Error *run_matrices(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    const int64_t elements = state->n * state->n;
    (void)part;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        double *matrix = elements ? run->copies + i * elements : NULL;
        KERNEL_STOP_EACH (k, 0, elements)
            matrix[k] = load(state->dtype, run->from, i * elements + k);
        store(state->dtype, run->to, i, eliminate(matrix, state->n));
    }
    return NULL;
}

static Error *launch_det(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0), cpu_workspace(launch)};
    (void)output_shapes;
    const uint64_t n = (uint64_t)state->n;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->matrices,
        n < 64 ? 32768 / (n * n * n + 1) + 1 : 1, run_matrices, &run);
}

static Error *plan_det(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *input = &request->inputs[0].shape;
    TRY(plan_create(device, request, "cpu.det", sizeof(State), out));
    State *state = plan_state(*out);
    state->n = input->dims[input->rank - 1];
    state->matrices = shape_product(input, 0, input->rank - 2);
    state->dtype = request->inputs[0].dtype;
    /* cannot overflow: the tensor's number of bits, at least 16 for each element, fits, too */
    (*out)->workspace_bytes = (uint64_t)shape_count_unchecked(input) * sizeof(double);
    (*out)->launch = launch_det;
    return NULL;
}

const Kernel cpu_det[] = {
    {OPERATOR_DET, DTYPES_FLOAT, plan_det, "cpu.det", KERNEL_PORTABLE},
    KERNELS_END,
};
