#include <inttypes.h>
#include <string.h>

#include "kernels/cpu/cpu_lstm.h"
#include "kernels/cpu/cpu_vector.h"

/* ---- rows of gates; every element by itself, so the bits are the same at every level ---- */

CPU_INLINE void add_rows_body(const float *a, const float *b, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) to[i] = a[i] + b[i];
}
CPU_VARIANTS(
    add_rows, (const float *a, const float *b, int64_t count, float *to), (a, b, count, to));

CPU_INLINE void peep_rows_body(const float *weights, const float *state, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) to[i] = to[i] + weights[i] * state[i];
}
CPU_VARIANTS(peep_rows, (const float *weights, const float *state, int64_t count, float *to),
    (weights, state, count, to));

CPU_INLINE void cell_rows_body(
    const float *forget, const float *input, const float *update, int64_t count, float *cell) {
    for (int64_t i = 0; i < count; i++) cell[i] = forget[i] * cell[i] + input[i] * update[i];
}
CPU_VARIANTS(cell_rows,
    (const float *forget, const float *input, const float *update, int64_t count, float *cell),
    (forget, input, update, count, cell));

/* ---- where things lie ---- */

static int64_t round_up(int64_t count) { return (count + 15) / 16 * 16; }

typedef struct Scratch {
    float *bias;      /* [4 H]: both biases of the direction */
    float *gates;     /* [length × batch, 4 H]: X W' + bias */
    float *recurrent; /* [batch, 4 H]: H R' */
    float *h, *c;     /* [batch, H] */
    float *packed[2]; /* W and R of the direction, where they come plain */
} Scratch;

static int64_t weight_count(const CpuLstm *lstm, int index) {
    return cpu_matmul_packed_count(index == 0 ? lstm->input : lstm->hidden, 4 * lstm->hidden);
}

int64_t cpu_lstm_workspace_count(const CpuLstm *lstm) {
    const int64_t gates = 4 * lstm->hidden;
    int64_t count = round_up(gates) + round_up(lstm->length * lstm->batch * gates) +
                    round_up(lstm->batch * gates) + 2 * round_up(lstm->batch * lstm->hidden);
    for (int i = 0; i < 2; i++) count += lstm->packed[i] ? 0 : round_up(weight_count(lstm, i));
    return count;
}

static Scratch scratch_of(const CpuLstm *lstm, float *next) {
    const int64_t gates = 4 * lstm->hidden;
    Scratch scratch = {.bias = next};
    scratch.gates = scratch.bias + round_up(gates);
    scratch.recurrent = scratch.gates + round_up(lstm->length * lstm->batch * gates);
    scratch.h = scratch.recurrent + round_up(lstm->batch * gates);
    scratch.c = scratch.h + round_up(lstm->batch * lstm->hidden);
    next = scratch.c + round_up(lstm->batch * lstm->hidden);
    for (int i = 0; i < 2; i++) {
        scratch.packed[i] = next;
        next += lstm->packed[i] ? 0 : round_up(weight_count(lstm, i));
    }
    return scratch;
}

/* Row of X and of the gates that element n of the batch has at time t. */
static int64_t time_row(const CpuLstm *lstm, int64_t t, int64_t n) {
    return lstm->batch_first ? n * lstm->length + t : t * lstm->batch + n;
}
/* Row of Y [length, directions, batch, H] or [batch, length, directions, H]. */
static int64_t output_row(const CpuLstm *lstm, int64_t t, int64_t direction, int64_t n) {
    if (lstm->batch_first) return (n * lstm->length + t) * lstm->directions + direction;
    return (t * lstm->directions + direction) * lstm->batch + n;
}
/* Row of an initial or last state. */
static int64_t state_row(const CpuLstm *lstm, int64_t direction, int64_t n) {
    return lstm->batch_first ? n * lstm->directions + direction : direction * lstm->batch + n;
}

/* ---- the run ---- */

typedef struct Run {
    const CpuLstm *lstm;
    const CpuFloatCall *call;
    Scratch scratch;
    const int32_t *lengths;
    const float *peepholes; /* of the direction */
    int64_t direction;
    bool reverse;
    int64_t step;
} Run;

static void activate(const CpuLstmActivation *activation, float *row, int64_t count) {
    const CpuOperand operand = {row, 1};
    activation->loop(row, &operand, count, &activation->parameters);
}

/* One element of the batch at one step; row: its four gates. */
static void run_gates(const Run *run, float *row, float *h, float *c) {
    const CpuLstm *lstm = run->lstm;
    const int64_t hidden = lstm->hidden;
    float *input = row, *output = row + hidden, *forget = row + 2 * hidden;
    float *update = row + 3 * hidden;
    const CpuLstmActivation *activations = lstm->activations[run->direction];
    if (run->peepholes) {
        lstm->peep(run->peepholes, c, hidden, input);
        lstm->peep(run->peepholes + 2 * hidden, c, hidden, forget);
    }
    if (lstm->clip_loop) {
        const CpuOperand operands[3] = {
            {row, 1}, {&lstm->clip_limits[0], 0}, {&lstm->clip_limits[1], 0}};
        lstm->clip_loop(row, operands, 4 * hidden, &activations[0].parameters);
    }
    activate(&activations[0], input, hidden);
    activate(&activations[0], forget, hidden);
    activate(&activations[1], update, hidden);
    if (lstm->input_forget)
        for (int64_t i = 0; i < hidden; i++) forget[i] = 1.0f - input[i];
    lstm->cell(forget, input, update, hidden, c);
    if (run->peepholes) lstm->peep(run->peepholes + hidden, c, hidden, output);
    activate(&activations[0], output, hidden);
    memcpy(update, c, (size_t)hidden * sizeof(float));
    activate(&activations[2], update, hidden);
    for (int64_t i = 0; i < hidden; i++) h[i] = output[i] * update[i];
}

static Error *step_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const CpuLstm *lstm = run->lstm;
    const int64_t hidden = lstm->hidden;
    float *y = lstm->wanted[0] ? run->call->outputs[0] : NULL;
    for (int64_t n = (int64_t)begin; n < (int64_t)end; n++) {
        const int64_t length = run->lengths ? run->lengths[n] : lstm->length;
        if (run->step >= length) {
            /* past the end the state stays and the output is zero */
            if (y)
                memset(y + output_row(lstm, run->step, run->direction, n) * hidden, 0,
                    (size_t)hidden * sizeof(float));
            continue;
        }
        const int64_t t = run->reverse ? length - 1 - run->step : run->step;
        float *row = run->scratch.gates + time_row(lstm, t, n) * 4 * hidden;
        float *h = run->scratch.h + n * hidden, *c = run->scratch.c + n * hidden;
        lstm->add(row, run->scratch.recurrent + n * 4 * hidden, 4 * hidden, row);
        run_gates(run, row, h, c);
        if (y)
            memcpy(y + output_row(lstm, t, run->direction, n) * hidden, h,
                (size_t)hidden * sizeof(float));
    }
    return NULL;
}

static void load_states(const Run *run, const float *from, float *to) {
    const CpuLstm *lstm = run->lstm;
    const size_t bytes = (size_t)lstm->hidden * sizeof(float);
    for (int64_t n = 0; n < lstm->batch; n++) {
        if (from)
            memcpy(to + n * lstm->hidden, from + state_row(lstm, run->direction, n) * lstm->hidden,
                bytes);
        else
            memset(to + n * lstm->hidden, 0, bytes);
    }
}

static void store_states(const Run *run, const float *from, float *to) {
    const CpuLstm *lstm = run->lstm;
    for (int64_t n = 0; to && n < lstm->batch; n++)
        memcpy(to + state_row(lstm, run->direction, n) * lstm->hidden, from + n * lstm->hidden,
            (size_t)lstm->hidden * sizeof(float));
}

/* The direction's W (0) or R (1) in panels. */
static const float *weights_of(const Run *run, int index) {
    const CpuLstm *lstm = run->lstm;
    const float *given = run->call->inputs[1 + index];
    const int64_t gates = 4 * lstm->hidden, depth = index == 0 ? lstm->input : lstm->hidden;
    if (lstm->packed[index]) return given + run->direction * weight_count(lstm, index);
    float *to = run->scratch.packed[index];
    const int64_t panels = (gates + CPU_MATMUL_PANEL - 1) / CPU_MATMUL_PANEL;
    for (int64_t panel = 0; depth > 0 && panel < panels; panel++)
        cpu_matmul_pack_panel(
            given + run->direction * gates * depth, 1, depth, depth, gates, panel, to);
    return to;
}

static void add_biases(const Run *run) {
    const int64_t gates = 4 * run->lstm->hidden;
    const float *bias = run->call->inputs[3] + run->direction * 2 * gates;
    run->lstm->add(bias, bias + gates, gates, run->scratch.bias);
}

static Error *run_direction(Run *run, bool *out_abandoned) {
    const CpuLstm *lstm = run->lstm;
    const CpuFloatCall *call = run->call;
    if (lstm->has_bias) add_biases(run);
    const CpuMatmulBuffers inputs = {.a = call->inputs[0],
        .b = weights_of(run, 0),
        .bias = lstm->has_bias ? run->scratch.bias : NULL,
        .c = run->scratch.gates};
    TRY(cpu_matmul_run(call->device, &lstm->inputs, &inputs, call->launch, out_abandoned));
    load_states(run, lstm->has_h ? call->inputs[5] : NULL, run->scratch.h);
    load_states(run, lstm->has_c ? call->inputs[6] : NULL, run->scratch.c);
    const CpuMatmulBuffers step = {
        .a = run->scratch.h, .b = weights_of(run, 1), .c = run->scratch.recurrent};
    for (run->step = 0; run->step < lstm->length && !*out_abandoned; run->step++) {
        TRY(cpu_matmul_run(call->device, &lstm->recurrent, &step, call->launch, out_abandoned));
        if (*out_abandoned) break;
        TRY(cpu_for_each(call->device, call->launch->threads, (uint64_t)lstm->batch,
            (uint64_t)(8192 / lstm->hidden) + 1, step_units, run));
    }
    if (*out_abandoned) return NULL;
    store_states(run, run->scratch.h, lstm->wanted[1] ? call->outputs[1] : NULL);
    store_states(run, run->scratch.c, lstm->wanted[2] ? call->outputs[2] : NULL);
    return NULL;
}

Error *cpu_lstm_run(const void *state, const CpuFloatCall *call, bool *out_abandoned) {
    const CpuLstm *lstm = state;
    if (lstm->batch == 0) return NULL;
    Run run = {.lstm = lstm, .call = call, .scratch = scratch_of(lstm, call->workspace)};
    if (lstm->has_lengths) run.lengths = (const int32_t *)(const void *)call->inputs[4];
    for (int64_t n = 0; run.lengths && n < lstm->batch; n++)
        if (run.lengths[n] < 0 || run.lengths[n] > lstm->length)
            FAIL(INVALID, "LSTM: sequence_lens[%" PRId64 "] is %" PRId32 " of %" PRId64, n,
                run.lengths[n], lstm->length);
    for (int64_t d = 0; d < lstm->directions && !*out_abandoned; d++) {
        run.direction = d;
        run.reverse = d == 1 || lstm->reverse_only;
        run.peepholes = lstm->has_peepholes ? call->inputs[7] + d * 3 * lstm->hidden : NULL;
        TRY(run_direction(&run, out_abandoned));
    }
    return NULL;
}

void cpu_lstm_prepare(CpuLstm *lstm, CpuLevel level) {
    lstm->add = add_rows_for(level);
    lstm->peep = peep_rows_for(level);
    lstm->cell = cell_rows_for(level);
    const int64_t gates = 4 * lstm->hidden;
    lstm->inputs = (CpuMatmul){
        .rows = lstm->length * lstm->batch,
        .columns = gates,
        .depth = lstm->input,
        .a_row = lstm->input,
        .a_column = 1,
        .b_packed = true,
        .has_bias = lstm->has_bias,
        .batch_count = 1,
        .bias_column = 1,
        .epilogue = {.alpha = 1, .bias_scale = 1},
    };
    lstm->recurrent = lstm->inputs;
    lstm->recurrent.rows = lstm->batch;
    lstm->recurrent.depth = lstm->recurrent.a_row = lstm->hidden;
    lstm->recurrent.has_bias = false;
    cpu_matmul_prepare(&lstm->inputs, level);
    cpu_matmul_prepare(&lstm->recurrent, level);
}
