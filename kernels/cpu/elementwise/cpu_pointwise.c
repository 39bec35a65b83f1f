#include "kernels/cpu/elementwise/cpu_pointwise.h"

#include <string.h>

#include "kernels/cpu/elementwise/cpu_broadcast.h"

enum {
    SCRATCH_BYTES = 32 * 1024, /* results of steps and expanded operands of one block */
    SLOTS_MAX = 128,
    BLOCK_MAX = 1024,
    BLOCK_MIN = 8,
    LINEAR_BLOCK = 4096, /* elements in a thread's unit when one loop does everything */
    INNER_MIN = 64,      /* shorter rows are expanded into blocks: a loop call costs about 5 ns */
    ELEMENTS_PER_PART = 32768, /* elements of one step for which a thread is worth its start */
};

typedef enum WalkKind {
    WALK_LINEAR, /* every operand is contiguous or one element */
    WALK_ROWS,   /* blocks end with the innermost dimension */
    WALK_FLAT,   /* the innermost dimension is short: blocks span rows */
    WALK_TILED,  /* the same, with blocks of whole rows, which every broadcast operand repeats */
} WalkKind;

typedef enum InputKind {
    INPUT_UNUSED,
    INPUT_CONTIGUOUS,
    INPUT_SCALAR,
    INPUT_BROADCAST,
} InputKind;

typedef struct Input {
    InputKind kind;
    uint32_t size;            /* of an element */
    uint32_t expanded_offset; /* WALK_FLAT and WALK_TILED: the block's place in the scratch */
    int64_t strides[SHAPE_RANK_MAX];
} Input;

typedef struct Operand {
    CpuSourceKind kind;
    uint32_t index; /* of the input, of the slot, or of the constant */
} Operand;

typedef struct Step {
    CpuLoop *loop;
    uint32_t operand_count;
    uint32_t slot; /* of the result; the last step writes to the output */
    Operand operands[CPU_LOOP_OPERANDS_MAX];
    CpuParameters parameters;
} Step;

typedef struct State {
    CpuBroadcast shape;
    WalkKind walk;
    uint32_t input_count, step_count;
    uint32_t out_size, slot_bytes;
    int64_t block; /* elements at a time */
    uint64_t blocks_per_row, units, units_per_part_min;
    Input *inputs;
    Step *steps;
    uint64_t *constants;
} State;

typedef struct Run {
    const State *state;
    const Launch *launch;
} Run;

/* Runs one block of n elements through all steps. */
static void run_block(
    const State *state, const CpuOperand *inputs, uint8_t *scratch, uint8_t *out, int64_t n) {
    CpuOperand slots[SLOTS_MAX];
    const Step *last = &state->steps[state->step_count - 1];
    for (const Step *step = state->steps; step <= last; step++) {
        CpuOperand operands[CPU_LOOP_OPERANDS_MAX];
        int64_t stride = 0;
        for (uint32_t i = 0; i < step->operand_count; i++) {
            const Operand *from = &step->operands[i];
            if (from->kind == CPU_SOURCE_INPUT)
                operands[i] = inputs[from->index];
            else if (from->kind == CPU_SOURCE_STEP)
                operands[i] = slots[from->index];
            else
                operands[i] = (CpuOperand){&state->constants[from->index], 0};
            stride |= operands[i].step;
        }
        void *to = step == last ? out : scratch + (size_t)step->slot * state->slot_bytes;
        step->loop(to, operands, stride ? n : 1, &step->parameters);
        if (step != last) slots[step->slot] = (CpuOperand){to, stride};
    }
}

static const uint8_t *input_base(const Run *run, uint32_t index) {
    return cpu_input(run->launch, index);
}

static void run_linear(const Run *run, int64_t begin, int64_t end) {
    const State *state = run->state;
    _Alignas(64) uint8_t scratch[SCRATCH_BYTES];
    uint8_t *out = cpu_output(run->launch, 0);
    CpuOperand inputs[PLAN_INPUTS_MAX];
    for (int64_t at = begin; at < end; at += state->block) {
        for (uint32_t k = 0; k < state->input_count; k++) {
            const Input *input = &state->inputs[k];
            int64_t step = input->kind == INPUT_CONTIGUOUS;
            inputs[k] = (CpuOperand){input_base(run, k) + at * step * input->size, step};
        }
        int64_t n = end - at < state->block ? end - at : state->block;
        run_block(state, inputs, scratch, out + at * state->out_size, n);
    }
}

/* Runs one loop over all elements, without blocks and scratch. */
static void run_single(const Run *run, int64_t begin, int64_t end) {
    const State *state = run->state;
    const Step *step = state->steps;
    CpuOperand operands[CPU_LOOP_OPERANDS_MAX];
    for (uint32_t i = 0; i < step->operand_count; i++) {
        uint32_t k = step->operands[i].index;
        if (step->operands[i].kind == CPU_SOURCE_INPUT) {
            const Input *input = &state->inputs[k];
            int64_t stride = input->kind == INPUT_CONTIGUOUS;
            operands[i] = (CpuOperand){input_base(run, k) + begin * stride * input->size, stride};
        } else {
            operands[i] = (CpuOperand){&state->constants[k], 0};
        }
    }
    uint8_t *out = (uint8_t *)cpu_output(run->launch, 0) + begin * state->out_size;
    step->loop(out, operands, end - begin, &step->parameters);
}

/* The element an input has at the start of a row. */
static int64_t row_offset(const State *state, const Input *input, uint64_t row) {
    int64_t offset = 0;
    for (uint32_t d = state->shape.rank - 1; d-- > 0;) {
        uint64_t dim = (uint64_t)state->shape.dims[d];
        offset += (int64_t)(row % dim) * input->strides[d];
        row /= dim;
    }
    return offset;
}

/* The position of the walk over rows: the outer coordinates, and each input's element. */
typedef struct RowWalk {
    int64_t coordinates[SHAPE_RANK_MAX];
    int64_t offsets[PLAN_INPUTS_MAX];
} RowWalk;

static void start_walk(const State *state, uint64_t row, RowWalk *walk) {
    for (uint32_t k = 0; k < state->input_count; k++)
        walk->offsets[k] = row_offset(state, &state->inputs[k], row);
    for (uint32_t d = state->shape.rank - 1; d-- > 0;) {
        walk->coordinates[d] = (int64_t)(row % (uint64_t)state->shape.dims[d]);
        row /= (uint64_t)state->shape.dims[d];
    }
}

static void advance_walk(const State *state, RowWalk *walk) {
    for (uint32_t d = state->shape.rank - 1; d-- > 0;) {
        bool wraps = ++walk->coordinates[d] == state->shape.dims[d];
        int64_t steps = wraps ? 1 - state->shape.dims[d] : 1;
        for (uint32_t k = 0; k < state->input_count; k++)
            walk->offsets[k] += steps * state->inputs[k].strides[d];
        if (!wraps) return;
        walk->coordinates[d] = 0;
    }
}

static void run_rows(const Run *run, uint64_t begin, uint64_t end) {
    const State *state = run->state;
    _Alignas(64) uint8_t scratch[SCRATCH_BYTES];
    uint8_t *out = cpu_output(run->launch, 0);
    CpuOperand inputs[PLAN_INPUTS_MAX];
    RowWalk walk;
    uint32_t inner_axis = state->shape.rank - 1;
    int64_t inner = state->shape.dims[inner_axis];
    uint64_t row = begin / state->blocks_per_row, part = begin % state->blocks_per_row;
    start_walk(state, row, &walk);
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t column = (int64_t)part * state->block;
        int64_t n = inner - column < state->block ? inner - column : state->block;
        for (uint32_t k = 0; k < state->input_count; k++) {
            const Input *input = &state->inputs[k];
            int64_t step = input->strides[inner_axis];
            int64_t offset = walk.offsets[k] + column * step;
            inputs[k] = (CpuOperand){input_base(run, k) + offset * input->size, step};
        }
        run_block(
            state, inputs, scratch, out + ((int64_t)row * inner + column) * state->out_size, n);
        if (++part < state->blocks_per_row) continue;
        part = 0;
        row++;
        advance_walk(state, &walk);
    }
}

#define EXPAND(T)                                                                                  \
    static void expand_##T(const State *state, const Input *input, T *to, const T *from,           \
        int64_t begin, int64_t count) {                                                            \
        int64_t inner = state->shape.dims[state->shape.rank - 1];                                  \
        int64_t step = input->strides[state->shape.rank - 1];                                      \
        uint64_t row = (uint64_t)(begin / inner);                                                  \
        int64_t column = begin % inner;                                                            \
        for (int64_t done = 0; done < count; row++, column = 0) {                                  \
            const T *line = from + row_offset(state, input, row) + column * step;                  \
            int64_t n = inner - column < count - done ? inner - column : count - done;             \
            for (int64_t i = 0; i < n; i++) to[done + i] = line[i * step];                         \
            done += n;                                                                             \
        }                                                                                          \
    }
EXPAND(uint8_t)
EXPAND(uint16_t)
EXPAND(uint32_t)
EXPAND(uint64_t)

static void expand(const State *state, const Input *input, void *to, const void *from,
    int64_t begin, int64_t count) {
    if (input->size == 1) expand_uint8_t(state, input, to, from, begin, count);
    if (input->size == 2) expand_uint16_t(state, input, to, from, begin, count);
    if (input->size == 4) expand_uint32_t(state, input, to, from, begin, count);
    if (input->size == 8) expand_uint64_t(state, input, to, from, begin, count);
}

static void run_flat(const Run *run, uint64_t begin, uint64_t end) {
    const State *state = run->state;
    _Alignas(64) uint8_t scratch[SCRATCH_BYTES];
    uint8_t *out = cpu_output(run->launch, 0);
    CpuOperand inputs[PLAN_INPUTS_MAX];
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t at = (int64_t)unit * state->block;
        int64_t n = state->shape.count - at < state->block ? state->shape.count - at : state->block;
        const bool expands = state->walk == WALK_FLAT || unit == begin;
        for (uint32_t k = 0; k < state->input_count; k++) {
            const Input *input = &state->inputs[k];
            const uint8_t *base = input_base(run, k);
            inputs[k] = (CpuOperand){base, 0};
            if (input->kind == INPUT_CONTIGUOUS)
                inputs[k] = (CpuOperand){base + at * input->size, 1};
            if (input->kind == INPUT_BROADCAST) {
                uint8_t *block = scratch + input->expanded_offset;
                if (expands) expand(state, input, block, base, at, n);
                inputs[k] = (CpuOperand){block, 1};
            }
        }
        run_block(state, inputs, scratch, out + at * state->out_size, n);
    }
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    if (state->walk == WALK_ROWS) {
        run_rows(run, begin, end);
    } else if (state->walk == WALK_FLAT || state->walk == WALK_TILED) {
        run_flat(run, begin, end);
    } else {
        int64_t from = (int64_t)begin * state->block, to = (int64_t)end * state->block;
        to = to < state->shape.count ? to : state->shape.count;
        if (state->step_count == 1)
            run_single(run, from, to);
        else
            run_linear(run, from, to);
    }
    return NULL;
}

static Error *launch_pointwise(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, launch};
    (void)output_shapes;
    if (state->units == 0) return NULL;
    if (state->units <= state->units_per_part_min) return run_units(&run, 0, state->units, 0);
    return cpu_for_each(cpu_device(plan->device), launch->threads, state->units,
        state->units_per_part_min, run_units, &run);
}

/* Finds the steps that the last one needs, and for each the last step that uses it. */
static void find_uses(const CpuPointwise *program, bool *needed, uint32_t *last_use) {
    uint32_t last = program->step_count - 1;
    needed[last] = true;
    for (uint32_t i = last + 1; i-- > 0;) {
        if (!needed[i]) continue;
        for (uint32_t k = 0; k < program->steps[i].operand_count; k++) {
            CpuSource from = program->steps[i].operands[k];
            if (from.kind != CPU_SOURCE_STEP || needed[from.index]) continue;
            needed[from.index] = true;
            last_use[from.index] = i;
        }
    }
}

uint32_t cpu_pointwise_place(const CpuPointwise *program, bool *out_needed, uint32_t *out_slots) {
    bool taken[CPU_POINTWISE_STEPS_MAX + 1] = {false};
    uint32_t last_use[CPU_POINTWISE_STEPS_MAX] = {0}, slot_count = 0;
    memset(out_needed, 0, CPU_POINTWISE_STEPS_MAX * sizeof *out_needed);
    find_uses(program, out_needed, last_use);
    for (uint32_t i = 0; i < program->step_count; i++) {
        if (!out_needed[i]) continue;
        /* the result gets its slot before the operands' slots are freed, since loops work in place
         * only between equal element sizes */
        uint32_t slot = 0;
        while (taken[slot]) slot++;
        out_slots[i] = slot;
        taken[slot] = true;
        if (slot + 1 > slot_count) slot_count = slot + 1;
        for (uint32_t k = 0; k < program->steps[i].operand_count; k++) {
            CpuSource source = program->steps[i].operands[k];
            if (source.kind == CPU_SOURCE_STEP && last_use[source.index] == i)
                taken[out_slots[source.index]] = false;
        }
    }
    return slot_count;
}

/* Copies the needed steps. Answers how many slots there are. */
static uint32_t place_steps(const CpuPointwise *program, State *state) {
    bool needed[CPU_POINTWISE_STEPS_MAX];
    uint32_t slots[CPU_POINTWISE_STEPS_MAX];
    uint32_t slot_count = cpu_pointwise_place(program, needed, slots);
    for (uint32_t i = 0; i < program->step_count; i++) {
        if (!needed[i]) continue;
        const CpuPointwiseStep *from = &program->steps[i];
        Step *step = &state->steps[state->step_count++];
        step->loop = from->loop;
        step->operand_count = from->operand_count;
        step->parameters = from->parameters;
        step->slot = slots[i];
        for (uint32_t k = 0; k < from->operand_count; k++) {
            CpuSource source = from->operands[k];
            bool is_step = source.kind == CPU_SOURCE_STEP;
            step->operands[k] =
                (Operand){source.kind, is_step ? slots[source.index] : source.index};
            if (source.kind == CPU_SOURCE_INPUT) state->inputs[source.index].kind = INPUT_BROADCAST;
        }
    }
    return slot_count;
}

static void place_inputs(const PlanRequest *request, State *state) {
    const Shape *shape = &request->outputs[0].shape;
    int64_t strides[CPU_BROADCAST_OPERANDS_MAX + 1][SHAPE_RANK_MAX] = {{0}};
    for (uint32_t k = 0; k < state->input_count; k++)
        if (state->inputs[k].kind != INPUT_UNUSED)
            shape_broadcast_strides(&request->inputs[k].shape, shape, strides[k]);
    /* the output is included, so that dimensions which all inputs share keep its order */
    shape_strides(shape, strides[state->input_count]);
    cpu_broadcast_collapse(shape, state->input_count + 1, strides, &state->shape);
    for (uint32_t k = 0; k < state->input_count; k++) {
        Input *input = &state->inputs[k];
        if (input->kind == INPUT_UNUSED) continue;
        memcpy(input->strides, strides[k], sizeof input->strides);
        input->size = dtype_bits(request->inputs[k].dtype) / 8;
        bool same = shape_count_unchecked(&request->inputs[k].shape) == state->shape.count;
        bool one = shape_count_unchecked(&request->inputs[k].shape) == 1;
        input->kind = one ? INPUT_SCALAR : (same ? INPUT_CONTIGUOUS : INPUT_BROADCAST);
        if (one) memset(input->strides, 0, sizeof input->strides);
    }
}

/* True when the input is one row, which repeats for all rows of the output. */
static bool repeats_row(const State *state, const Input *input) {
    for (uint32_t d = 0; d + 1 < state->shape.rank; d++)
        if (input->strides[d] != 0) return false;
    return true;
}

/* Elements of a block. element_bytes: scratch bytes for each element. */
static int64_t block_of(uint64_t element_bytes) {
    if (element_bytes == 0) return LINEAR_BLOCK;
    const uint64_t block = (SCRATCH_BYTES / element_bytes) & ~(uint64_t)7;
    return block < BLOCK_MAX ? (int64_t)block : BLOCK_MAX;
}

/* Places the results' slots first, then the expanded operands. room: elements of each. */
static void place_scratch(State *state, int64_t room, uint64_t slot_bytes, uint32_t slot_size) {
    uint64_t offset = (uint64_t)room * slot_bytes;
    state->slot_bytes = (uint32_t)room * slot_size;
    for (uint32_t k = 0; k < state->input_count; k++) {
        Input *input = &state->inputs[k];
        if (state->walk == WALK_ROWS || input->kind != INPUT_BROADCAST) continue;
        input->expanded_offset = (uint32_t)offset;
        offset += (uint64_t)room * input->size;
    }
}

/* False when a block of BLOCK_MIN elements does not fit the scratch. */
static bool place_blocks(State *state, uint32_t slot_count, uint32_t slot_size) {
    const int64_t inner = state->shape.dims[state->shape.rank - 1];
    const uint64_t slot_bytes = state->step_count > 1 ? (uint64_t)slot_count * slot_size : 0;
    uint64_t expanded_bytes = 0;
    bool tiled = true;
    for (uint32_t k = 0; k < state->input_count; k++) {
        const Input *input = &state->inputs[k];
        if (input->kind != INPUT_BROADCAST) continue;
        expanded_bytes += input->size;
        tiled = tiled && repeats_row(state, input);
    }
    int64_t block = block_of(slot_bytes + expanded_bytes);
    state->walk = WALK_LINEAR;
    if (expanded_bytes > 0 && tiled && 2 * inner <= block) {
        state->walk = WALK_TILED;
    } else if (expanded_bytes > 0 && inner < INNER_MIN) {
        state->walk = WALK_FLAT;
    } else if (expanded_bytes > 0) {
        state->walk = WALK_ROWS;
        block = block_of(slot_bytes);
    }
    if (block < BLOCK_MIN) return false;
    place_scratch(state, block, slot_bytes, slot_size);
    if (state->walk == WALK_TILED) block -= block % inner;
    const uint64_t count = (uint64_t)state->shape.count;
    state->block = block;
    state->blocks_per_row = (uint64_t)((inner + block - 1) / block);
    state->units = (count + (uint64_t)block - 1) / (uint64_t)block;
    if (state->walk == WALK_ROWS) state->units = count / (uint64_t)inner * state->blocks_per_row;
    uint64_t per_unit = state->units ? count / state->units * state->step_count : 1;
    state->units_per_part_min = ELEMENTS_PER_PART / (per_unit ? per_unit : 1) + 1;
    return true;
}

static uint32_t widest_step(const CpuPointwise *program) {
    uint32_t size = 1;
    for (uint32_t i = 0; i < program->step_count; i++) {
        uint32_t bytes = dtype_bits(program->steps[i].dtype) / 8;
        size = bytes > size ? bytes : size;
    }
    return size;
}

Error *cpu_pointwise_plan(Device *device, const PlanRequest *request, const char *kernel_name,
    const CpuPointwise *program, Plan **out) {
    if (program->missing || program->step_count == 0) return cpu_decline(out);
    size_t inputs_at = (sizeof(State) + 15) & ~(size_t)15;
    size_t steps_at = inputs_at + request->input_count * sizeof(Input);
    size_t constants_at = steps_at + program->step_count * sizeof(Step);
    size_t size = constants_at + program->constant_count * sizeof(uint64_t);
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, kernel_name, size, &plan));
    State *state = plan_state(plan);
    state->inputs = (Input *)((char *)state + inputs_at);
    state->steps = (Step *)((char *)state + steps_at);
    state->constants = (uint64_t *)((char *)state + constants_at);
    state->input_count = request->input_count;
    state->out_size = dtype_bits(request->outputs[0].dtype) / 8;
    memcpy(state->constants, program->constants, program->constant_count * sizeof(uint64_t));
    uint32_t slot_count = place_steps(program, state);
    if (slot_count > SLOTS_MAX) return cpu_decline(out);
    place_inputs(request, state);
    if (state->shape.count > 0 && !place_blocks(state, slot_count, widest_step(program)))
        return cpu_decline(out);
    plan->launch = launch_pointwise;
    *out = TAKE(plan);
    return NULL;
}
