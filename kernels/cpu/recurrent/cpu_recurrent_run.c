/* The steps of LSTM, GRU and RNN in float32, whose R may be bfloat16, or both weights bytes. */
#include <string.h>

#include "kernels/cpu/matmul/cpu_panels_bfloat16.h"
#include "kernels/cpu/recurrent/cpu_recurrent_scratch.h"
#include "kernels/cpu/recurrent/cpu_recurrent_weave.h"
#include "kernels/cpu/core/cpu_sweep.h"
#include "kernels/cpu/loops/cpu_loop_find.h"

enum {
    SLICED_BATCH_MAX = 16,
    /* gates times units of the state that a slice is multiplied with, which are worth a thread: 256
     * KiB of weights read once */
    SLICE_COST = 1024,
    BYTES_GAIN = 3, /* so many times less a step costs with weights in bytes */
    /* A step of at most so many multiply-adds is not shared among threads. Reading the weights is
     * counted as SMALL_ROWS more rows of A. */
    SMALL_COST = 2000000,
    SMALL_ROWS = 32,
    SMALL_ELEMENTS = 8192, /* of a step's result that are worth a thread */
};

/* True for a step that is too little work to be shared. */
static bool is_small(const CpuRecurrent *recurrent) {
    return !recurrent->sliced && recurrent->batch <= recurrent->first.code.rows &&
           recurrent->batch <= SMALL_ELEMENTS / recurrent->hidden &&
           (recurrent->batch + SMALL_ROWS) * recurrent->first.depth * recurrent->inputs.columns <=
               SMALL_COST;
}

/* ---- the run ---- */

typedef struct Run {
    const CpuRecurrent *recurrent;
    const CpuFloatCall *call;
    CpuRecurrentScratch scratch;
    int64_t direction;
    bool reverse;
    int64_t step;
    int phase;                    /* which cell */
    CpuMatmulBuffers products[2]; /* for each of the two phases */
    CpuRecurrentWeave weave;
    CpuRecurrentBytesRun bytes; /* if the weights are bytes */
} Run;

/* Units of the state: all of them, or those of some panels. */
typedef struct Slice {
    int64_t first, count;
} Slice;

/* Past the end the state stays and the output is zero. */
static void end_sequence(const Run *run, const Slice *slice, int64_t n, float *y) {
    const CpuRecurrent *recurrent = run->recurrent;
    const int64_t row = cpu_recurrent_output_row(recurrent, run->step, run->direction, n);
    if (y && run->phase == 0)
        memset(y + row * recurrent->hidden + slice->first, 0, (size_t)slice->count * sizeof(float));
}

static CpuCellCall cell_of(const Run *run, const Slice *slice, int64_t t, int64_t n) {
    const CpuRecurrent *recurrent = run->recurrent;
    const CpuRecurrentScratch *scratch = &run->scratch;
    const int64_t hidden = recurrent->hidden, gates = recurrent->gates * hidden;
    const int64_t at = n * hidden + slice->first;
    CpuCellCall cell = {
        .recurrent = recurrent,
        .activations = recurrent->activations[run->direction],
        .count = slice->count,
        .gates = scratch->gates + cpu_recurrent_time_row(recurrent, t, n) * gates + slice->first,
        .products = scratch->products + n * recurrent->first_gates * hidden + slice->first,
        .h = scratch->h + at,
        .c = scratch->c + at,
    };
    if (recurrent->has_bias)
        cell.state_bias = run->call->inputs[3] + (2 * run->direction + 1) * gates + slice->first;
    if (recurrent->has_peepholes)
        cell.peepholes = run->call->inputs[7] + run->direction * 3 * hidden + slice->first;
    if (recurrent->cells[1]) {
        cell.reset = scratch->reset + at;
        cell.candidate = scratch->candidate + at;
    }
    return cell;
}

/* Computes the cell for one element of the batch. */
static void step_element(const Run *run, const Slice *slice, int64_t n) {
    const CpuRecurrent *recurrent = run->recurrent;
    const CpuRecurrentScratch *scratch = &run->scratch;
    const size_t bytes = (size_t)slice->count * sizeof(float);
    const bool is_last = run->phase == 1 || !recurrent->cells[1];
    const int64_t length = scratch->lengths[n], at = n * recurrent->hidden + slice->first;
    float *y = recurrent->wanted[0] ? run->call->outputs[0] : NULL;
    /* products of other slices still read h, so the last cell changes a copy */
    if (is_last && scratch->next_h != scratch->h)
        memcpy(scratch->next_h + at, scratch->h + at, bytes);
    if (run->step >= length) {
        end_sequence(run, slice, n, y);
        return;
    }
    const int64_t t = run->reverse ? length - 1 - run->step : run->step;
    CpuCellCall cell = cell_of(run, slice, t, n);
    if (is_last) cell.h = scratch->next_h + at;
    recurrent->cells[run->phase](&cell);
    if (!y || !is_last) return;
    y += cpu_recurrent_output_row(recurrent, t, run->direction, n) * recurrent->hidden;
    memcpy(y + slice->first, cell.h, bytes);
}

static Error *step_elements(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const Slice all = {0, run->recurrent->hidden};
    for (int64_t n = (int64_t)begin; n < (int64_t)end; n++) step_element(run, &all, n);
    return NULL;
}

/* Gates that the product of a phase makes. */
static int64_t phase_gates(const CpuRecurrent *recurrent, int phase) {
    return phase == 0 ? recurrent->first_gates : recurrent->gates - recurrent->first_gates;
}

/* Every other step reads the weights backwards, and finds the ones read last in the cache. */
static bool goes_back(const Run *run) { return run->step % 2 != 0; }

/* Multiplies the slice's panels of a gate. before: the number of gates in the product before this
 * one. */
static void multiply_panels(const Run *run, const Slice *slice, int64_t gate, int64_t before) {
    const CpuRecurrent *recurrent = run->recurrent;
    const int64_t count = slice->count / CPU_MATMUL_PANEL, own = slice->first / CPU_MATMUL_PANEL;
    const int64_t first = gate * (recurrent->hidden / CPU_MATMUL_PANEL) + own;
    const CpuMatmulBuffers *buffers = &run->products[run->phase];
    const CpuMatmul *product = run->phase == 0 ? &recurrent->first : &recurrent->second;
    const int64_t weights = product->depth * product->columns;
    if (recurrent->packed_bfloat16) {
        const uint16_t *b = (const uint16_t *)(const void *)run->call->inputs[2];
        const CpuBfloat16Panels panels = {
            b + run->direction * weights, first, count, goes_back(run)};
        cpu_panels_bfloat16_run(product, recurrent->level, buffers->a, &panels, buffers->c);
        return;
    }
    if (cpu_recurrent_weaves(&run->weave, run->step)) {
        const CpuWeavePlace place = {run->step, gate, own, count, before, goes_back(run)};
        cpu_recurrent_weave_panels(recurrent, &run->weave, buffers, &place);
        return;
    }
    const bool near = (uint64_t)weights * sizeof(float) <= CPU_SWEEP_NEAR_BYTES;
    for (int64_t i = 0; i < count && !kernel_stop_ends(); i++)
        cpu_matmul_run_panel(product, buffers, first + (goes_back(run) ? count - 1 - i : i), near);
}

/* The same of weights in bytes. */
static Error *multiply_bytes(const Run *run, const Slice *slice, int64_t gate) {
    const CpuRecurrent *recurrent = run->recurrent;
    const CpuRecurrentPlace place = {
        .side = CPU_RECURRENT_STATES,
        .direction = run->direction,
        .rows = recurrent->batch,
        .column = gate * recurrent->hidden + slice->first,
        .columns = slice->count,
        .out = run->scratch.products,
    };
    return cpu_recurrent_bytes_part(&run->bytes, &place);
}

/* Multiplies the slice's columns, gate by gate in the order of memory. */
static Error *multiply_slice(const Run *run, const Slice *slice) {
    const CpuRecurrent *recurrent = run->recurrent;
    const int64_t gates = phase_gates(recurrent, run->phase);
    for (int64_t i = 0; i < gates; i++) {
        TRY(kernel_stop_check());
        const int64_t gate = goes_back(run) ? gates - 1 - i : i;
        if (recurrent->in_bytes)
            TRY(multiply_bytes(run, slice, gate));
        else
            multiply_panels(run, slice, gate, i);
    }
    return NULL;
}

/* A slice of the state, of some panels, with its columns of the products. */
static Error *step_slice(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    const CpuRecurrent *recurrent = run->recurrent;
    const Slice slice = {
        (int64_t)begin * CPU_MATMUL_PANEL, (int64_t)(end - begin) * CPU_MATMUL_PANEL};
    TRY(multiply_slice(run, &slice));
    KernelStopMeter meter = {0};
    for (int64_t n = 0; n < recurrent->batch; n++) {
        TRY(kernel_stop_count(&meter, (uint64_t)slice.count * 16));
        step_element(run, &slice, n);
    }
    return NULL;
}

static void load_states(const Run *run, const float *from, float *to) {
    const CpuRecurrent *recurrent = run->recurrent;
    const int64_t hidden = recurrent->hidden;
    const size_t bytes = (size_t)hidden * sizeof(float);
    KERNEL_STOP_EACH (n, 0, recurrent->batch) {
        const int64_t row = cpu_recurrent_state_row(recurrent, run->direction, n);
        if (from)
            memcpy(to + n * hidden, from + row * hidden, bytes);
        else
            memset(to + n * hidden, 0, bytes);
    }
}

static void store_states(const Run *run, const float *from, float *to) {
    const CpuRecurrent *recurrent = run->recurrent;
    const int64_t hidden = recurrent->hidden;
    for (int64_t n = 0; to && n < recurrent->batch && !kernel_stop_ends_at(n); n++)
        memcpy(to + cpu_recurrent_state_row(recurrent, run->direction, n) * hidden,
            from + n * hidden, (size_t)hidden * sizeof(float));
}

/* The direction's weights in panels. */
static const float *weights_of(const Run *run, int index) {
    const CpuRecurrent *recurrent = run->recurrent;
    const float *given = run->call->inputs[index == CPU_RECURRENT_W ? 1 : 2];
    const int64_t depth = cpu_recurrent_weight_depth(recurrent, index);
    const int64_t columns = cpu_recurrent_weight_columns(recurrent, index);
    float *to = run->scratch.packed[index];
    if (columns == 0 || recurrent->in_bytes) return NULL;
    if (index != CPU_RECURRENT_W && recurrent->packed_bfloat16) {
        const uint16_t *half = (const uint16_t *)(const void *)given;
        if (recurrent->sliced) return NULL; /* steps read the bfloat16 panels directly */
        cpu_panels_bfloat16_widen(&recurrent->first.code, recurrent->level,
            half + run->direction * depth * columns, depth, columns, to);
        return to;
    }
    if (!cpu_recurrent_packs(recurrent, index))
        return given + run->direction * cpu_recurrent_weight_count(recurrent, index);
    given += run->direction * recurrent->gates * recurrent->hidden * depth;
    if (index == CPU_RECURRENT_R_SECOND)
        given += cpu_recurrent_weight_columns(recurrent, CPU_RECURRENT_R_FIRST) * depth;
    cpu_matmul_pack(&recurrent->inputs.code, given, 1, depth, depth, columns, to);
    return to;
}

static void add_biases(const Run *run) {
    const CpuRecurrent *recurrent = run->recurrent;
    const int64_t gates = recurrent->gates * recurrent->hidden;
    const float *bias = run->call->inputs[3] + run->direction * 2 * gates;
    memcpy(run->scratch.bias, bias, (size_t)gates * sizeof(float));
    recurrent->rows.add(
        bias, bias + gates, recurrent->joined_gates * recurrent->hidden, run->scratch.bias);
}

/* The products of a phase, in pieces for threads. */
static Error *multiply_states(Run *run, const CpuMatmul *product) {
    const CpuFloatCall *call = run->call;
    if (run->recurrent->in_bytes)
        return cpu_recurrent_bytes_multiply(
            &run->bytes, CPU_RECURRENT_STATES, run->direction, NULL, run->scratch.products);
    return cpu_matmul_run(call->device, product, &run->products[run->phase], call->launch);
}

/* A step whose work lasts no longer than the preparations of a product and of threads would. */
static Error *run_small_phase(Run *run, const CpuMatmul *product) {
    TRY(kernel_stop_check());
    cpu_matmul_run_small(product, &run->products[run->phase]);
    return step_elements(run, 0, (uint64_t)run->recurrent->batch, 0);
}

static Error *run_phase(Run *run, int phase) {
    const CpuRecurrent *recurrent = run->recurrent;
    const CpuFloatCall *call = run->call;
    const CpuMatmul *product = phase == 0 ? &recurrent->first : &recurrent->second;
    run->phase = phase;
    if (recurrent->sliced) {
        const int64_t weights = phase_gates(recurrent, phase) * recurrent->hidden;
        const int64_t cost =
            weights * (recurrent->batch + 32) / (recurrent->in_bytes ? BYTES_GAIN * 32 : 32);
        return cpu_for_each_share(call->device, call->launch->threads,
            (uint64_t)(recurrent->hidden / CPU_MATMUL_PANEL), (uint64_t)(SLICE_COST / cost) + 1,
            step_slice, run);
    }
    if (is_small(recurrent) && !recurrent->in_bytes) return run_small_phase(run, product);
    TRY(multiply_states(run, product));
    return cpu_for_each(call->device, call->launch->threads, (uint64_t)recurrent->batch,
        (uint64_t)(SMALL_ELEMENTS / recurrent->hidden) + 1, step_elements, run);
}

static Error *run_step(Run *run) {
    CpuRecurrentScratch *scratch = &run->scratch;
    if (run->recurrent->in_bytes)
        TRY(cpu_recurrent_bytes_quantize(&run->bytes, CPU_RECURRENT_STATES, scratch->h));
    TRY(run_phase(run, 0));
    if (run->recurrent->cells[1]) TRY(run_phase(run, 1));
    float *left = scratch->next_h;
    scratch->next_h = scratch->h;
    scratch->h = left;
    run->products[0].a = left;
    return NULL;
}

/* X W' + bias of `count` rows of X. */
static Error *multiply_inputs(Run *run, const float *x, int64_t count, float *gates) {
    CpuMatmul product = run->recurrent->inputs;
    product.rows = count;
    const CpuMatmulBuffers buffers = {
        .a = x, .b = run->weave.weights, .bias = run->weave.bias, .c = gates};
    return cpu_matmul_run(run->call->device, &product, &buffers, run->call->launch);
}

/* Multiplies the rows of X that are not woven into steps: the first block, and the rows behind the
 * last block. */
static Error *begin_weave(Run *run) {
    const CpuRecurrent *recurrent = run->recurrent;
    const int64_t length = run->scratch.lengths[0], columns = recurrent->inputs.columns;
    const float *x = run->call->inputs[0];
    float *gates = run->scratch.gates;
    CpuRecurrentWeave *weave = &run->weave;
    const int64_t left = length - weave->blocks * weave->block;
    const int64_t step_0 = run->reverse ? length - 1 : 0;
    const int64_t first = run->reverse ? length - weave->block : 0;
    const int64_t last = run->reverse ? 0 : length - left;
    weave->reverse = run->reverse;
    weave->x = x + step_0 * recurrent->input;
    weave->gates = gates + step_0 * columns;
    TRY(multiply_inputs(run, x + first * recurrent->input, weave->block, gates + first * columns));
    if (left == 0) return NULL;
    return multiply_inputs(run, x + last * recurrent->input, left, gates + last * columns);
}

static Error *begin_inputs(Run *run) {
    const CpuRecurrent *recurrent = run->recurrent;
    run->weave = cpu_recurrent_weave_of(recurrent, run->scratch.lengths[0]);
    run->weave.weights = weights_of(run, CPU_RECURRENT_W);
    run->weave.bias = recurrent->has_bias ? run->scratch.bias : NULL;
    if (recurrent->in_bytes)
        return cpu_recurrent_bytes_multiply(
            &run->bytes, CPU_RECURRENT_INPUTS, run->direction, run->weave.bias, run->scratch.gates);
    if (run->weave.block > 0) return begin_weave(run);
    return multiply_inputs(run, run->call->inputs[0], recurrent->inputs.rows, run->scratch.gates);
}

static Error *run_direction(Run *run) {
    const CpuRecurrent *recurrent = run->recurrent;
    const CpuFloatCall *call = run->call;
    const CpuRecurrentScratch *scratch = &run->scratch;
    if (recurrent->has_bias) add_biases(run);
    run->products[0] = (CpuMatmulBuffers){
        .a = scratch->h, .b = weights_of(run, CPU_RECURRENT_R_FIRST), .c = scratch->products};
    run->products[1] = (CpuMatmulBuffers){
        .a = scratch->reset, .b = weights_of(run, CPU_RECURRENT_R_SECOND), .c = scratch->candidate};
    TRY(kernel_stop_check()); /* weights that were half packed are not read */
    TRY(begin_inputs(run));
    load_states(run, recurrent->has_h ? call->inputs[5] : NULL, scratch->h);
    load_states(run, recurrent->has_c ? call->inputs[6] : NULL, scratch->c);
    /* rows of sequences that have ended go through the product, too */
    if (recurrent->cells[1]) load_states(run, NULL, scratch->reset);
    for (run->step = 0; run->step < recurrent->length; run->step++) TRY(run_step(run));
    store_states(run, scratch->h, recurrent->wanted[1] ? call->outputs[1] : NULL);
    store_states(run, scratch->c, recurrent->wanted[2] ? call->outputs[2] : NULL);
    return kernel_stop_check();
}

static Error *run_recurrent(const void *state, const CpuFloatCall *call) {
    const CpuRecurrent *recurrent = state;
    if (recurrent->batch == 0) return NULL;
    Run run = {.recurrent = recurrent,
        .call = call,
        .scratch = cpu_recurrent_scratch_of(recurrent, call->workspace)};
    TRY(cpu_recurrent_lengths(
        recurrent, recurrent->has_lengths ? call->inputs[4] : NULL, run.scratch.lengths));
    if (recurrent->in_bytes) {
        TRY(cpu_recurrent_bytes_begin(
            &recurrent->bytes, call->device, call->launch, run.scratch.bytes, &run.bytes));
        TRY(cpu_recurrent_bytes_quantize(&run.bytes, CPU_RECURRENT_INPUTS, call->inputs[0]));
    }
    for (int64_t d = 0; d < recurrent->directions; d++) {
        run.direction = d;
        run.reverse = d == 1 || recurrent->reverse_only;
        TRY(run_direction(&run));
    }
    return NULL;
}

/* ---- the plan ---- */

/* Panels of the weights must end where gates end. A large batch is cut into rows instead: beside
 * its products, a cell's own work is small. */
static bool is_sliced(const CpuRecurrent *recurrent) {
    return recurrent->hidden > 0 && recurrent->hidden % CPU_MATMUL_PANEL == 0 &&
           recurrent->batch <= SLICED_BATCH_MAX;
}

void cpu_recurrent_prepare(CpuRecurrent *recurrent, CpuLevel level) {
    recurrent->level = level;
    recurrent->sliced = is_sliced(recurrent);
    recurrent->rows = cpu_recurrent_rows_for(level);
    recurrent->lstm_loop = cpu_lstm_loop_find(level);
    recurrent->inputs = (CpuMatmul){
        .rows = recurrent->length * recurrent->batch,
        .columns = cpu_recurrent_weight_columns(recurrent, CPU_RECURRENT_W),
        .depth = recurrent->input,
        .a_row = recurrent->input,
        .a_column = 1,
        .b_packed = true,
        .has_bias = recurrent->has_bias,
        .batch_count = 1,
        .bias_column = 1,
        .epilogue = {.alpha = 1, .bias_scale = 1},
    };
    recurrent->first = recurrent->inputs;
    recurrent->first.rows = recurrent->batch;
    recurrent->first.depth = recurrent->first.a_row = recurrent->hidden;
    recurrent->first.has_bias = false;
    recurrent->second = recurrent->first;
    recurrent->first.columns = cpu_recurrent_weight_columns(recurrent, CPU_RECURRENT_R_FIRST);
    recurrent->second.columns = cpu_recurrent_weight_columns(recurrent, CPU_RECURRENT_R_SECOND);
    cpu_matmul_prepare(&recurrent->inputs, level);
    cpu_matmul_prepare(&recurrent->first, level);
    cpu_matmul_prepare(&recurrent->second, level);
}

Error *cpu_recurrent_plan(Device *device, CpuLevel level, const char *kernel_name,
    const PlanRequest *request, CpuCell *const cells[2], Plan **out) {
    CpuRecurrent recurrent;
    void *state;
    TRY(cpu_recurrent_of(request, level, DTYPE_FLOAT32, &recurrent));
    recurrent.cells[0] = cells[0];
    recurrent.cells[1] = recurrent.first_gates < recurrent.gates ? cells[1] : NULL;
    cpu_recurrent_prepare(&recurrent, level);
    if (recurrent.in_bytes) {
        const int64_t rows[] = {recurrent.length * recurrent.batch, recurrent.batch};
        TRY(cpu_recurrent_bytes_of(device, level, request, rows, &recurrent.bytes));
    }
    TRY(cpu_float_plan_create(
        device, request, kernel_name, sizeof(CpuRecurrent), run_recurrent, out, &state));
    *(CpuRecurrent *)state = recurrent;
    cpu_float_plan_set_workspace(
        *out, (uint64_t)cpu_recurrent_workspace_count(&recurrent) * sizeof(float));
    return NULL;
}
