/* LinearAttention: a state of depth × columns for each head of keys, which every row decays,
 * corrects, writes and reads. Columns are independent, so a state is computed in blocks of columns,
 * in place in the output; every element is a chain in the order of the depth without fused
 * multiply-adds: the same bits everywhere. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/scalar/scalar_exponential.h"

enum { COLUMNS = 64 /* columns of a block */ };

/* One row of one head, with a block of columns of the head's state. */
typedef struct Step {
    float *state; /* rows are state_row apart */
    int64_t state_row, depth, columns;
    const float *key, *value;
    const float *decay; /* NULL: no decay; decay_step 0: one decay for all rows of the state */
    int64_t decay_step;
    const float *beta; /* NULL: no beta */
    int64_t group;     /* queries, depth apart */
    const float *query;
    float *output; /* for each query, output_row apart */
    int64_t output_row;
    float scale;
} Step;

typedef struct LinearState {
    int64_t batch, rows, heads, group, depth, columns, blocks;
    int64_t decay_heads, beta_heads; /* columns of a row; 0: absent */
    float scale;
    void (*run_step)(const Step *step);
} LinearState;

typedef struct Run {
    const LinearState *state;
    const float *query, *key, *value, *past, *decay, *beta;
    float *output, *present;
} Run;

/* to = state' * by */
CPU_INLINE void read_state(const Step *step, const float *by, float *to) {
    for (int64_t i = 0; i < step->columns; i++) to[i] = 0;
    for (int64_t d = 0; d < step->depth; d++) {
        const float *row = step->state + d * step->state_row;
        for (int64_t i = 0; i < step->columns; i++) to[i] += by[d] * row[i];
    }
}

CPU_INLINE void run_step_body(const Step *step) {
    float update[COLUMNS], read[COLUMNS];
    for (int64_t d = 0; step->decay && d < step->depth; d++) {
        const float factor = scalar_exp_f32(step->decay[d * step->decay_step]);
        float *row = step->state + d * step->state_row;
        for (int64_t i = 0; i < step->columns; i++) row[i] *= factor;
    }
    for (int64_t i = 0; i < step->columns; i++) update[i] = step->value[i];
    if (step->beta) {
        read_state(step, step->key, read);
        for (int64_t i = 0; i < step->columns; i++) update[i] = *step->beta * (update[i] - read[i]);
    }
    for (int64_t d = 0; d < step->depth; d++) {
        float *row = step->state + d * step->state_row;
        for (int64_t i = 0; i < step->columns; i++) row[i] += step->key[d] * update[i];
    }
    for (int64_t q = 0; q < step->group; q++) {
        read_state(step, step->query + q * step->depth, read);
        float *to = step->output + q * step->output_row;
        for (int64_t i = 0; i < step->columns; i++) to[i] = step->scale * read[i];
    }
}
CPU_VARIANTS(run_step, (const Step *step), (step));

/* A block of columns of the state of a head, through all rows. */
static void run_block(const Run *run, int64_t n, int64_t head, int64_t column, int64_t count) {
    const LinearState *state = run->state;
    const int64_t depth = state->depth, columns = state->columns;
    const int64_t begin = (n * state->heads + head) * depth * columns + column;
    Step step = {
        .state = run->present + begin,
        .state_row = columns,
        .depth = depth,
        .columns = count,
        .decay_step = state->decay_heads > state->heads ? 1 : 0,
        .group = state->group,
        .output_row = columns,
        .scale = state->scale,
    };
    for (int64_t d = 0; d < depth; d++) {
        if (run->past)
            memcpy(step.state + d * columns, run->past + begin + d * columns,
                (size_t)count * sizeof(float));
        else
            memset(step.state + d * columns, 0, (size_t)count * sizeof(float));
    }
    KernelStopMeter meter = {0};
    for (int64_t t = n * state->rows; t < (n + 1) * state->rows; t++) {
        if (kernel_stop_ends_after(&meter, (uint64_t)(depth * count))) return;
        const int64_t row = t * state->heads + head;
        step.key = run->key + row * depth;
        step.value = run->value + row * columns + column;
        step.query = run->query + row * state->group * depth;
        step.output = run->output + row * state->group * columns + column;
        if (run->decay) step.decay = run->decay + (step.decay_step ? row * depth : row);
        if (run->beta)
            step.beta = run->beta + t * state->beta_heads + (state->beta_heads > 1 ? head : 0);
        state->run_step(&step);
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const LinearState *state = run->state;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t column = unit % state->blocks * COLUMNS, left = state->columns - column;
        run_block(run, unit / state->blocks / state->heads, unit / state->blocks % state->heads,
            column, left < COLUMNS ? left : COLUMNS);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    static const float nothing = 0; /* stands for keys without depth, which have no address */
    const LinearState *state = opaque;
    Run run = {
        .state = state,
        .query = state->depth ? call->inputs[0] : &nothing,
        .key = state->depth ? call->inputs[1] : &nothing,
        .value = call->inputs[2],
        .past = call->inputs[3],
        .decay = state->depth ? call->inputs[4] : NULL,
        .beta = call->inputs[5],
        .output = call->outputs[0],
        .present = call->outputs[1],
    };
    const int64_t work = state->rows * state->depth * COLUMNS;
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(state->batch * state->heads * state->blocks), (uint64_t)(65536 / (work + 1)) + 1,
        run_units, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const Shape *q = &request->inputs[0].shape, *v = &request->inputs[2].shape;
    const int64_t q_heads = attributes_int(attributes, "q_num_heads");
    const double scale = attributes_float(attributes, "scale");
    LinearState linear = {
        .batch = q->dims[0],
        .rows = q->dims[1],
        .heads = attributes_int(attributes, "kv_num_heads"),
        .depth = q->dims[2] / q_heads,
        .decay_heads = plan_request_has(request, 4) ? request->inputs[4].shape.dims[2] : 0,
        .beta_heads = plan_request_has(request, 5) ? request->inputs[5].shape.dims[2] : 0,
        .run_step = run_step_for(cpu_device(device)->level),
    };
    linear.group = q_heads / linear.heads;
    linear.columns = v->dims[2] / linear.heads;
    linear.blocks = (linear.columns + COLUMNS - 1) / COLUMNS;
    linear.scale = (float)(scale != 0 ? scale : 1 / sqrt((double)linear.depth));
    void *state;
    TRY(cpu_float_plan_create(
        device, request, "cpu.linear_attention", sizeof(LinearState), run, out, &state));
    *(LinearState *)state = linear;
    return NULL;
}

const Kernel cpu_linear_attention[] = {
    {OPERATOR_LINEAR_ATTENTION, DTYPES_FLOAT32_AND_HALF, plan, "cpu.linear_attention",
        KERNEL_PORTABLE},
    KERNELS_END,
};
