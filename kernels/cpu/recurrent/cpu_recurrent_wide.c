/* LSTM, GRU and RNN of float64: each element of the batch is computed through all its steps by
 * itself, and every sum is a chain in order: the same bits everywhere. */
#include <string.h>

#include "kernels/cpu/recurrent/cpu_recurrent.h"

typedef struct WideState {
    CpuRecurrent recurrent;
    bool is_lstm, is_gru;
    int64_t scratch; /* doubles of one sequence: gates, products, reset */
} WideState;

/* One sequence in one direction. */
typedef struct Sequence {
    const WideState *state;
    const CpuRecurrentActivation *activations;
    const double *w, *r, *bias, *peepholes; /* of the direction; bias and peepholes may be NULL */
    double *gates, *products, *reset;
    double *h, *c;
} Sequence;

typedef struct Run {
    const WideState *state;
    const double *const *inputs;
    double *y, *h, *c, *scratch;
    const int32_t *lengths;
} Run;

static double dot(const double *a, const double *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void activate(const Sequence *sequence, uint32_t index, double *row, int64_t count) {
    const CpuRecurrentActivation *activation = &sequence->activations[index];
    const CpuOperand operand = {row, 1};
    activation->loop(row, &operand, count, &activation->parameters);
}

static void clip(const Sequence *sequence, double *row, int64_t count) {
    const CpuRecurrent *recurrent = &sequence->state->recurrent;
    const double low = (double)recurrent->clip_limits[0], high = (double)recurrent->clip_limits[1];
    const CpuOperand operands[3] = {{row, 1}, {&low, 0}, {&high, 0}};
    const CpuParameters none = {0};
    if (recurrent->clip_loop) recurrent->clip_loop(row, operands, count, &none);
}

/* The gates of the input and the products of the state, each with its bias. */
static void multiply(const Sequence *sequence, const double *x) {
    const CpuRecurrent *recurrent = &sequence->state->recurrent;
    const int64_t gates = recurrent->gates * recurrent->hidden;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < gates; i++) {
        const uint64_t work = (uint64_t)(recurrent->input + recurrent->hidden);
        if (kernel_stop_ends_after(&meter, work)) return;
        sequence->gates[i] = dot(sequence->w + i * recurrent->input, x, recurrent->input);
        sequence->products[i] =
            dot(sequence->r + i * recurrent->hidden, sequence->h, recurrent->hidden);
        if (!sequence->bias) continue;
        sequence->gates[i] += sequence->bias[i];
        sequence->products[i] += sequence->bias[gates + i];
    }
}

static void add_products(const Sequence *sequence, int64_t count) {
    for (int64_t i = 0; i < count; i++) sequence->gates[i] += sequence->products[i];
}

static void step_rnn(const Sequence *sequence) {
    const int64_t hidden = sequence->state->recurrent.hidden;
    add_products(sequence, hidden);
    clip(sequence, sequence->gates, hidden);
    activate(sequence, 0, sequence->gates, hidden);
    memcpy(sequence->h, sequence->gates, (size_t)hidden * sizeof(double));
}

static void step_gru(const Sequence *sequence) {
    const CpuRecurrent *gru = &sequence->state->recurrent;
    const int64_t hidden = gru->hidden;
    double *update = sequence->gates, *reset = update + hidden, *candidate = update + 2 * hidden;
    add_products(sequence, 2 * hidden);
    clip(sequence, update, 2 * hidden);
    activate(sequence, 0, update, 2 * hidden);
    for (int64_t i = 0; i < hidden; i++) sequence->reset[i] = reset[i] * sequence->h[i];
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < hidden; i++) {
        if (kernel_stop_ends_after(&meter, (uint64_t)hidden)) return;
        if (gru->first_gates == gru->gates) {
            candidate[i] += reset[i] * sequence->products[2 * hidden + i];
            continue;
        }
        candidate[i] += dot(sequence->r + (2 * hidden + i) * hidden, sequence->reset, hidden);
        if (sequence->bias) candidate[i] += sequence->bias[5 * hidden + i];
    }
    clip(sequence, candidate, hidden);
    activate(sequence, 1, candidate, hidden);
    for (int64_t i = 0; i < hidden; i++)
        sequence->h[i] = (1.0 - update[i]) * candidate[i] + update[i] * sequence->h[i];
}

static void step_lstm(const Sequence *sequence) {
    const CpuRecurrent *lstm = &sequence->state->recurrent;
    const int64_t hidden = lstm->hidden;
    const double *peep = sequence->peepholes;
    double *input = sequence->gates, *output = input + hidden, *forget = input + 2 * hidden;
    double *update = input + 3 * hidden, *c = sequence->c;
    add_products(sequence, 4 * hidden);
    for (int64_t i = 0; peep && i < hidden; i++) {
        input[i] += peep[i] * c[i];
        forget[i] += peep[2 * hidden + i] * c[i];
    }
    clip(sequence, input, hidden);
    clip(sequence, forget, 2 * hidden);
    activate(sequence, 0, input, hidden);
    activate(sequence, 0, forget, hidden);
    activate(sequence, 1, update, hidden);
    for (int64_t i = 0; i < hidden; i++) {
        const double kept = lstm->input_forget ? 1.0 - input[i] : forget[i];
        c[i] = kept * c[i] + input[i] * update[i];
        if (peep) output[i] += peep[hidden + i] * c[i];
    }
    clip(sequence, output, hidden);
    activate(sequence, 0, output, hidden);
    memcpy(update, c, (size_t)hidden * sizeof(double));
    activate(sequence, 2, update, hidden);
    for (int64_t i = 0; i < hidden; i++) sequence->h[i] = output[i] * update[i];
}

static void run_sequence(const Run *run, int64_t direction, int64_t n, const Sequence *sequence) {
    const CpuRecurrent *recurrent = &run->state->recurrent;
    const int64_t hidden = recurrent->hidden, length = run->lengths[n];
    const bool reverse = direction == 1 || recurrent->reverse_only;
    for (int64_t step = 0; step < recurrent->length; step++) {
        const int64_t t = reverse && step < length ? length - 1 - step : step;
        if (kernel_stop_ends()) return;
        double *y =
            run->y ? run->y + cpu_recurrent_output_row(recurrent, t, direction, n) * hidden : NULL;
        if (step >= length) {
            if (y) memset(y, 0, (size_t)hidden * sizeof(double));
            continue;
        }
        multiply(
            sequence, run->inputs[0] + cpu_recurrent_time_row(recurrent, t, n) * recurrent->input);
        if (run->state->is_lstm)
            step_lstm(sequence);
        else if (run->state->is_gru)
            step_gru(sequence);
        else
            step_rnn(sequence);
        if (y) memcpy(y, sequence->h, (size_t)hidden * sizeof(double));
    }
}

static void load_state(const double *from, int64_t row, int64_t hidden, double *to) {
    for (int64_t i = 0; i < hidden; i++) to[i] = from ? from[row * hidden + i] : 0;
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const CpuRecurrent *recurrent = &run->state->recurrent;
    const int64_t hidden = recurrent->hidden, gates = recurrent->gates * hidden;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t d = unit / recurrent->batch, n = unit % recurrent->batch;
        const int64_t row = cpu_recurrent_state_row(recurrent, d, n);
        double *scratch = run->scratch + unit * run->state->scratch;
        Sequence sequence = {
            .state = run->state,
            .activations = recurrent->activations[d],
            .w = run->inputs[1] + d * gates * recurrent->input,
            .r = run->inputs[2] + d * gates * hidden,
            .bias = recurrent->has_bias ? run->inputs[3] + d * 2 * gates : NULL,
            .peepholes = recurrent->has_peepholes ? run->inputs[7] + d * 3 * hidden : NULL,
            .gates = scratch,
            .products = scratch + gates,
            .reset = scratch + 2 * gates,
            .h = scratch + 2 * gates + hidden,
            .c = scratch + 2 * gates + 2 * hidden,
        };
        load_state(recurrent->has_h ? run->inputs[5] : NULL, row, hidden, sequence.h);
        load_state(recurrent->has_c ? run->inputs[6] : NULL, row, hidden, sequence.c);
        run_sequence(run, d, n, &sequence);
        if (run->h) memcpy(run->h + row * hidden, sequence.h, (size_t)hidden * sizeof(double));
        if (run->c) memcpy(run->c + row * hidden, sequence.c, (size_t)hidden * sizeof(double));
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    static const double nothing = 0; /* stands for empty operands, which have no address */
    const WideState *state = opaque;
    const CpuRecurrent *recurrent = &state->recurrent;
    const double *inputs[CPU_FLOAT_INPUTS_MAX];
    const int64_t units = recurrent->directions * recurrent->batch;
    for (uint32_t i = 0; i < CPU_FLOAT_INPUTS_MAX; i++) {
        inputs[i] = (const double *)(const void *)call->inputs[i];
        if (!inputs[i]) inputs[i] = &nothing;
    }
    double *scratch = call->workspace;
    const int64_t scratch_count = units * state->scratch;
    int32_t *lengths =
        scratch_count ? (int32_t *)(void *)(scratch + scratch_count) : call->workspace;
    Run run = {
        .state = state,
        .inputs = inputs,
        .y = recurrent->wanted[0] ? (double *)(void *)call->outputs[0] : NULL,
        .h = recurrent->wanted[1] ? (double *)(void *)call->outputs[1] : NULL,
        .c = recurrent->wanted[2] ? (double *)(void *)call->outputs[2] : NULL,
        .scratch = scratch,
        .lengths = lengths,
    };
    TRY(cpu_recurrent_lengths(recurrent, recurrent->has_lengths ? call->inputs[4] : NULL, lengths));
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)units, 1, run_units, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    WideState wide = {
        .is_lstm = request->operator_info->id == OPERATOR_LSTM,
        .is_gru = request->operator_info->id == OPERATOR_GRU,
    };
    void *state;
    TRY(cpu_recurrent_of(request, cpu_device(device)->level, DTYPE_FLOAT64, &wide.recurrent));
    const CpuRecurrent *recurrent = &wide.recurrent;
    wide.scratch = (2 * recurrent->gates + 3) * recurrent->hidden;
    TRY(cpu_float_plan_create(
        device, request, "cpu.recurrent_wide", sizeof(WideState), run, out, &state));
    *(WideState *)state = wide;
    cpu_float_plan_set_workspace(*out,
        (uint64_t)(recurrent->directions * recurrent->batch * wide.scratch + recurrent->batch) *
            sizeof(double));
    return NULL;
}

#define ROW(operator_id)                                                                           \
    { operator_id, DTYPE_BIT(DTYPE_FLOAT64), plan, "cpu.recurrent_wide", KERNEL_PORTABLE }

const Kernel cpu_recurrent_wide[] = {
    ROW(OPERATOR_LSTM),
    ROW(OPERATOR_GRU),
    ROW(OPERATOR_RNN),
    KERNELS_END,
};
