/* LSTM of float32: one matrix product for all inputs, one for each step. */
#include <inttypes.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/cpu/recurrent/cpu_recurrent.h"
#include "kernels/cuda/planners/cuda_copy.h"
#include "kernels/cuda/planners/cuda_matmul.h"

typedef struct State {
    CpuRecurrent lstm;
    uint64_t recurrent, h, c; /* offsets in the workspace; the gates are at its start */
} State;

typedef struct Run {
    const Plan *plan;
    const Launch *launch;
    const State *state;
    int64_t direction;
} Run;

/* Index 0 of an absent operand. */
static uint64_t input_of(const Run *run, bool present, uint32_t index, int64_t count) {
    if (!present) return 0;
    return run->launch->inputs[index] + (uint64_t)(run->direction * count) * sizeof(float);
}

/* to [rows, 4 hidden] = from [rows, depth] * weights' of the direction */
static Error *multiply(
    const Run *run, uint64_t from, uint32_t weights, uint64_t to, int64_t rows, int64_t depth) {
    const int64_t gates = 4 * run->state->lstm.hidden;
    CudaMatmulParams params = {.a = from,
        .b = input_of(run, true, weights, gates * depth),
        .c = to,
        .rows = rows,
        .columns = gates,
        .depth = depth,
        .a_row = depth,
        .a_column = 1,
        .b_row = 1,
        .b_column = depth,
        .batches = 1,
        .batch_rank = 1,
        .batch_dims = {1},
        .dtype = DTYPE_FLOAT32,
        .epilogue = {.alpha = 1, .bias_scale = 1}};
    return cuda_matmul_run(run->plan, run->launch, &params);
}

/* Copies the direction's rows of an initial or last state to or from [batch, hidden]. */
static Error *move_state(const Run *run, uint64_t outside, uint64_t inside, bool inwards) {
    const CpuRecurrent *lstm = &run->state->lstm;
    const int64_t dims[2] = {lstm->batch, lstm->hidden}, compact[2] = {lstm->hidden, 1};
    const int64_t rows[2] = {lstm->hidden * (lstm->batch_first ? lstm->directions : 1), 1};
    const int64_t first = run->direction * lstm->hidden * (lstm->batch_first ? 1 : lstm->batch);
    CudaCopy copy;
    if (inwards)
        cuda_copy_make(2, dims, rows, first, compact, 0, sizeof(float), &copy);
    else
        cuda_copy_make(2, dims, compact, 0, rows, first, sizeof(float), &copy);
    return cuda_copy_run(
        run->plan, run->launch, &copy, inwards ? inside : outside, inwards ? outside : inside);
}

static Error *load_state(const Run *run, bool present, uint32_t index, uint64_t to) {
    const CpuRecurrent *lstm = &run->state->lstm;
    if (present) return move_state(run, run->launch->inputs[index], to, true);
    return cuda_copy_fill(
        run->plan, run->launch, to, 0, sizeof(float), (uint64_t)(lstm->batch * lstm->hidden));
}

static CudaLstmParams step_params(const Run *run) {
    const State *state = run->state;
    const CpuRecurrent *lstm = &state->lstm;
    const uint64_t workspace = run->launch->workspace;
    const int64_t directions = lstm->directions;
    CudaLstmParams params = {.gates = workspace,
        .recurrent = workspace + state->recurrent,
        .bias = input_of(run, lstm->has_bias, 3, 8 * lstm->hidden),
        .peepholes = input_of(run, lstm->has_peepholes, 7, 3 * lstm->hidden),
        .lengths = lstm->has_lengths ? run->launch->inputs[4] : 0,
        .h = workspace + state->h,
        .c = workspace + state->c,
        .batch = lstm->batch,
        .hidden = lstm->hidden,
        .length = lstm->length,
        .gates_time = lstm->batch_first ? 1 : lstm->batch,
        .gates_batch = lstm->batch_first ? lstm->length : 1,
        .y_time = lstm->batch_first ? directions : directions * lstm->batch,
        .y_batch = lstm->batch_first ? lstm->length * directions : 1,
        .reverse = run->direction == 1 || lstm->reverse_only,
        .input_forget = lstm->input_forget,
        .clips = lstm->clip_loop != NULL,
        .clip = lstm->clip_limits[1]};
    const int64_t first = run->direction * lstm->hidden * (lstm->batch_first ? 1 : lstm->batch);
    if (lstm->wanted[0]) params.y = run->launch->outputs[0] + (uint64_t)first * sizeof(float);
    for (uint32_t i = 0; i < 3; i++) {
        const CpuRecurrentActivation *activation = &lstm->activations[run->direction][i];
        params.activations[i] = (CudaLstmActivation){(uint32_t)activation->id,
            (float)activation->parameters.alpha, (float)activation->parameters.beta};
    }
    return params;
}

static Error *run_direction(const Run *run) {
    const CpuRecurrent *lstm = &run->state->lstm;
    const Launch *launch = run->launch;
    CudaLstmParams params = step_params(run);
    TRY(multiply(run, launch->inputs[0], 1, params.gates, lstm->length * lstm->batch, lstm->input));
    TRY(load_state(run, lstm->has_h, 5, params.h));
    TRY(load_state(run, lstm->has_c, 6, params.c));
    for (params.step = 0; params.step < lstm->length; params.step++) {
        TRY(multiply(run, params.h, 2, params.recurrent, lstm->batch, lstm->hidden));
        TRY(cuda_run_units(run->plan, launch, CUDA_KERNEL_LSTM_STEP,
            (uint64_t)(lstm->batch * lstm->hidden), &params, sizeof params));
    }
    if (lstm->wanted[1]) TRY(move_state(run, launch->outputs[1], params.h, false));
    if (lstm->wanted[2]) TRY(move_state(run, launch->outputs[2], params.c, false));
    return NULL;
}

static Error *check_each(const int32_t *lengths, const CpuRecurrent *lstm) {
    for (int64_t n = 0; n < lstm->batch; n++)
        if (lengths[n] < 0 || lengths[n] > lstm->length)
            FAIL(INVALID, "LSTM: sequence_lens[%" PRId64 "] is %" PRId32 " of %" PRId64, n,
                lengths[n], lstm->length);
    return NULL;
}

/* Waits for the lengths on the host: the kernels trust them. */
static Error *check_lengths(const Run *run) {
    const CpuRecurrent *lstm = &run->state->lstm;
    Device *device = run->plan->device;
    void *lengths;
    TRY(memory_alloc((size_t)lstm->batch, sizeof(int32_t), &lengths));
    Error *error = device->class_->copy_to_host(device, run->launch->stream, lengths,
        run->launch->inputs[4], (uint64_t)lstm->batch * sizeof(int32_t));
    if (!error) error = check_each(lengths, lstm);
    memory_free(lengths);
    return error;
}

static Error *launch_lstm(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    Run run = {plan, launch, plan_state(plan), 0};
    const CpuRecurrent *lstm = &run.state->lstm;
    (void)output_shapes;
    if (lstm->batch == 0) return NULL;
    if (lstm->has_lengths) TRY(check_lengths(&run));
    for (; run.direction < lstm->directions; run.direction++) TRY(run_direction(&run));
    return NULL;
}

/* Reserves rows × width floats behind the bytes so far. */
static Error *reserve(uint64_t *inout_bytes, int64_t rows, int64_t width, uint64_t *out_offset) {
    uint64_t bytes;
    *out_offset = *inout_bytes;
    if (!checked_mul_u64((uint64_t)rows, (uint64_t)width * sizeof(float), &bytes) ||
        !checked_align_u64(bytes, DEVICE_ALIGNMENT, &bytes) ||
        !checked_add_u64(*inout_bytes, bytes, inout_bytes))
        FAIL(INVALID, "the gates are too large");
    return NULL;
}

/* The kernel activates with functions that are operators, too. */
static bool activations_are_known(const CpuRecurrent *lstm) {
    for (int64_t d = 0; d < lstm->directions; d++)
        for (uint32_t i = 0; i < lstm->activation_count; i++)
            if (lstm->activations[d][i].id == CPU_LOOP_COUNT) return false;
    return true;
}

static Error *plan_lstm(Device *device, const PlanRequest *request, Plan **out) {
    CpuRecurrent lstm;
    uint64_t bytes = 0, gates;
    TRY(cpu_recurrent_of(request, CPU_LEVEL_PORTABLE, DTYPE_FLOAT32, &lstm));
    if (!activations_are_known(&lstm)) return cuda_decline(out);
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, "cuda.lstm", sizeof(State), &plan));
    State *state = plan_state(plan);
    state->lstm = lstm;
    TRY(reserve(&bytes, lstm.length * lstm.batch, 4 * lstm.hidden, &gates));
    TRY(reserve(&bytes, lstm.batch, 4 * lstm.hidden, &state->recurrent));
    TRY(reserve(&bytes, lstm.batch, lstm.hidden, &state->h));
    TRY(reserve(&bytes, lstm.batch, lstm.hidden, &state->c));
    plan->workspace_bytes = bytes;
    plan->launch = launch_lstm;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cuda_lstm[] = {
    {OPERATOR_LSTM, DTYPE_BIT(DTYPE_FLOAT32), plan_lstm, "cuda.lstm", 0},
    KERNELS_END,
};
