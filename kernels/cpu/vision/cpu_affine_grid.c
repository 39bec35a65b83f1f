/* AffineGrid: each position of the output, -1 … 1 along each dimension, times a matrix. Computed in
 * float64, rounded once. */
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/arguments/arguments.h"

enum { ELEMENTS_PER_PART = 4096, RANK_MAX = 3 };

typedef struct State {
    uint32_t rank;          /* 2 or 3 */
    int64_t dims[RANK_MAX]; /* D, H, W or H, W */
    int64_t rows;           /* of one image: all but W */
    uint64_t units;         /* rows of all images */
    bool corners, wide;
} State;

typedef struct Run {
    const State *state;
    const void *theta;
    void *grid;
} Run;

/* The position of index `at` among `dim`. */
static double position(const State *state, int64_t at, int64_t dim) {
    if (!state->corners) return (double)(2 * at + 1) / (double)dim - 1;
    /* the same formula as PyTorch's */
    return dim > 1 ? (double)(2 * at) / (double)(dim - 1) - 1 : 0;
}

static Error *run_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    const uint32_t rank = state->rank;
    const int64_t width = state->dims[rank - 1];
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        /* at: the point, innermost dimension first, then 1 */
        double theta[RANK_MAX * (RANK_MAX + 1)], at[RANK_MAX + 1];
        const int64_t image = unit / state->rows, size = rank * (rank + 1);
        for (int64_t i = 0; i < size; i++)
            theta[i] = cpu_float_load(state->wide, run->theta, image * size + i);
        int64_t rest = unit % state->rows;
        for (uint32_t d = 1; d < rank; d++) {
            const int64_t dim = state->dims[rank - 1 - d];
            at[d] = position(state, rest % dim, dim);
            rest /= dim;
        }
        at[rank] = 1;
        KERNEL_STOP_EACH (i, 0, width) {
            at[0] = position(state, i, width);
            for (uint32_t r = 0; r < rank; r++) {
                double sum = 0;
                for (uint32_t c = 0; c <= rank; c++) sum += theta[r * (rank + 1) + c] * at[c];
                const int64_t to = (unit * width + i) * rank + r;
                if (state->wide)
                    ((double *)run->grid)[to] = sum;
                else
                    ((float *)run->grid)[to] = (float)sum;
            }
        }
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const State *state = opaque;
    Run run = {state, call->inputs[0], call->outputs[0]};
    if (state->units == 0) return NULL;
    return cpu_for_each(call->device, call->launch->threads, state->units,
        (uint64_t)(ELEMENTS_PER_PART / state->dims[state->rank - 1]) + 1, run_rows, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *grid = &request->outputs[0].shape;
    void *opaque;
    TRY(cpu_float_plan_create(
        device, request, "cpu.affine_grid", sizeof(State), run, out, &opaque));
    State *state = opaque;
    state->rank = grid->rank - 2;
    for (uint32_t i = 0; i < state->rank; i++) state->dims[i] = grid->dims[1 + i];
    state->rows = shape_product(grid, 1, grid->rank - 2);
    state->corners = attributes_int(request->attributes, "align_corners") != 0;
    state->wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    if (shape_count_unchecked(grid) > 0) state->units = (uint64_t)(grid->dims[0] * state->rows);
    return NULL;
}

const Kernel cpu_affine_grid[] = {
    {OPERATOR_AFFINE_GRID, DTYPES_FLOAT, plan, "cpu.affine_grid", KERNEL_PORTABLE},
    KERNELS_END,
};
