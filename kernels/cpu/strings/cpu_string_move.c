/* Operators that move elements, for strings: the same operator moves the elements' numbers, then
 * the texts are copied in that order. So indices are checked by the usual code, and every such
 * operator supports strings. Number 0 is the empty string. For operators that compare, numbers are
 * ordered as the texts are. */
#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/cpu/strings/cpu_strings.h"
#include "kernels/shape_rules/operator_infer.h"

typedef struct State {
    Plan *inner; /* int64 in the place of strings */
    uint32_t input_count, output_count;
    bool compares; /* one input; equal elements have one number */
    bool is_string[PLAN_INPUTS_MAX], makes_strings[PLAN_OUTPUTS_MAX];
    int64_t counts[PLAN_INPUTS_MAX]; /* elements of each input of strings */
    int64_t bases[PLAN_INPUTS_MAX];  /* the number of each input's first element */
} State;

typedef struct Ordered {
    StringView view;
    int64_t index; /* of the element */
} Ordered;

/* The inner operator's operands: numbers in place of strings, and its workspace. */
typedef struct Numbers {
    uint64_t inputs[PLAN_INPUTS_MAX], outputs[PLAN_OUTPUTS_MAX];
    int64_t *block;
    Ordered *ordered; /* of an operator that compares: texts by number; in the block */
    Ordered *order_block;
    void *workspace;
} Numbers;

static void numbers_deinit(Numbers *numbers) {
    memory_free(numbers->block);
    memory_free(numbers->order_block);
    memory_free(numbers->workspace);
}

/* The text of a number that the inner operator returned. */
static StringView find_text(
    const State *state, const Launch *launch, const Numbers *numbers, int64_t number) {
    for (uint32_t i = state->input_count; i-- > 0;) {
        if (!state->is_string[i] || number < state->bases[i]) continue;
        const int64_t at = number - state->bases[i];
        if (numbers->ordered) return numbers->ordered[at].view;
        return string_tensor_at(cpu_input(launch, i), state->counts[i], at);
    }
    return (StringView){"", 0};
}

/* Compares by bytes, which orders UTF-8 by code points. */
static int compare_texts(const StringView *a, const StringView *b) {
    const uint64_t shorter = a->size < b->size ? a->size : b->size;
    int order = 0;
    for (uint64_t at = 0, end; order == 0 && at < shorter; at = end) {
        if (at > 0 && kernel_stop_ends()) return 0;
        end = shorter - at < CPU_STRING_PIECE ? shorter : at + CPU_STRING_PIECE;
        order = memcmp(a->text + at, b->text + at, end - at);
    }
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static void merge(
    const Ordered *from, Ordered *to, int64_t middle, int64_t end, KernelStopMeter *meter) {
    int64_t left = 0, right = middle;
    for (int64_t i = 0; i < end; i++) {
        if (kernel_stop_ends_after(meter, 64)) return;
        const bool take_left = left < middle && (right == end || compare_texts(&from[left].view,
                                                                     &from[right].view) <= 0);
        to[i] = take_left ? from[left++] : from[right++];
    }
}

/* Sorts by texts, and keeps the order of equal ones. *inout_items and *inout_spare may be
 * exchanged. Errors: ABANDONED. */
MUST_CHECK static Error *sort(Ordered **inout_items, Ordered **inout_spare, int64_t count) {
    KernelStopMeter meter = {0};
    for (int64_t run = 1; run < count; run *= 2) {
        Ordered *from = *inout_items, *to = *inout_spare;
        for (int64_t begin = 0; begin < count; begin += 2 * run) {
            const int64_t left = count - begin;
            merge(from + begin, to + begin, left < run ? left : run,
                left < 2 * run ? left : 2 * run, &meter);
            if (begin % KERNEL_STOP_TURNS == 0) TRY(kernel_stop_check());
        }
        TRY(kernel_stop_check());
        *inout_items = to;
        *inout_spare = from;
    }
    return NULL;
}

static Error *order_input(
    const State *state, const Launch *launch, uint32_t input, Numbers *numbers, int64_t *to) {
    const int64_t count = state->counts[input];
    void *memory;
    TRY(memory_alloc((size_t)count, 2 * sizeof(Ordered), &memory));
    Ordered *ordered = numbers->ordered = numbers->order_block = memory, *spare = ordered + count;
    KERNEL_STOP_EACH (i, 0, count)
        ordered[i] = (Ordered){string_tensor_at(cpu_input(launch, input), count, i), i};
    TRY(kernel_stop_check());
    TRY(sort(&ordered, &spare, count));
    numbers->ordered = ordered;
    for (int64_t i = 0, first = 0; i < count; i++) {
        if (i % KERNEL_STOP_TURNS == 0) TRY(kernel_stop_check());
        if (i > 0 && compare_texts(&ordered[i - 1].view, &ordered[i].view) != 0) first = i;
        to[ordered[i].index] = state->bases[input] + first;
    }
    return NULL;
}

/* shapes: of the outputs, if outputs are made. */
static Error *number_inputs(
    const State *state, const Launch *launch, const Shape *shapes, Numbers *numbers) {
    uint64_t count = 0;
    void *memory;
    for (uint32_t i = 0; i < state->input_count; i++) count += (uint64_t)state->counts[i];
    for (uint32_t i = 0; shapes && i < state->output_count; i++)
        count += (uint64_t)shape_count_unchecked(&shapes[i]);
    TRY(memory_alloc(count, sizeof(int64_t), &memory));
    numbers->block = memory;
    TRY(memory_alloc(state->inner->workspace_bytes + DEVICE_ALIGNMENT, 1, &numbers->workspace));
    int64_t *to = numbers->block;
    for (uint32_t i = 0; i < state->input_count; i++) {
        numbers->inputs[i] = launch->inputs[i];
        if (!state->is_string[i]) continue;
        numbers->inputs[i] = state->counts[i] ? (uint64_t)(uintptr_t)to : 0;
        if (state->compares) TRY(order_input(state, launch, i, numbers, to));
        for (int64_t at = 0; !state->compares && at < state->counts[i]; at++) {
            if (at % KERNEL_STOP_TURNS == 0) TRY(kernel_stop_check());
            to[at] = state->bases[i] + at;
        }
        to += state->counts[i];
    }
    for (uint32_t i = 0; shapes && i < state->output_count; i++) {
        int64_t made = shape_count_unchecked(&shapes[i]);
        numbers->outputs[i] = made ? (uint64_t)(uintptr_t)to : 0;
        to += made;
    }
    return NULL;
}

static Launch inner_launch(const Launch *launch, const Numbers *numbers) {
    Launch inner = *launch;
    uintptr_t workspace = (uintptr_t)numbers->workspace;
    inner.inputs = numbers->inputs;
    inner.outputs = numbers->outputs;
    inner.workspace = (workspace + DEVICE_ALIGNMENT - 1) & ~(uintptr_t)(DEVICE_ALIGNMENT - 1);
    return inner;
}

static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const State *state = plan_state(plan);
    Numbers numbers = {0};
    Error *error = number_inputs(state, launch, NULL, &numbers);
    Launch inner = inner_launch(launch, &numbers);
    if (!error) error = state->inner->measure(state->inner, &inner, out_shapes);
    numbers_deinit(&numbers);
    return error;
}

static Error *move_numbers(
    const State *state, const Launch *launch, const Shape *shapes, Numbers *numbers) {
    TRY(number_inputs(state, launch, shapes, numbers));
    Launch inner = inner_launch(launch, numbers);
    return state->inner->launch(state->inner, &inner, shapes);
}

static const int64_t *moved(const Numbers *numbers, uint32_t output) {
    return (const int64_t *)(uintptr_t)numbers->outputs[output];
}

static Error *measure_bytes(
    const Plan *plan, const Launch *launch, const Shape *shapes, uint64_t *out_bytes) {
    const State *state = plan_state(plan);
    Numbers numbers = {0};
    Error *error = move_numbers(state, launch, shapes, &numbers);
    for (uint32_t o = 0; !error && o < state->output_count; o++) {
        int64_t count = shape_count_unchecked(&shapes[o]);
        if (!state->makes_strings[o]) continue;
        out_bytes[o] = string_tensor_head_bytes(count);
        for (int64_t i = 0; i < count && !error; i++) {
            if (i % KERNEL_STOP_TURNS == 0) error = kernel_stop_check();
            if (error) break;
            error = cpu_strings_add_size(
                &out_bytes[o], find_text(state, launch, &numbers, moved(&numbers, o)[i]).size);
        }
    }
    numbers_deinit(&numbers);
    return error;
}

static Error *launch_move(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Numbers numbers = {0};
    KernelStopMeter meter = {0};
    Error *error = move_numbers(state, launch, output_shapes, &numbers);
    for (uint32_t o = 0; !error && o < state->output_count; o++) {
        int64_t count = shape_count_unchecked(&output_shapes[o]);
        if (!state->makes_strings[o]) {
            /* a list of indices */
            if (count > 0 && launch->outputs[o])
                error = kernel_stop_copy(
                    cpu_output(launch, o), moved(&numbers, o), (uint64_t)count * sizeof(int64_t));
            continue;
        }
        StringWriter writer = string_writer_open(cpu_output(launch, o), count);
        for (int64_t i = 0; i < count && !error; i++) {
            const StringView text = find_text(state, launch, &numbers, moved(&numbers, o)[i]);
            error = cpu_string_write(&writer, text, &meter);
            string_writer_end(&writer);
        }
    }
    numbers_deinit(&numbers);
    return error;
}

static void destroy(Plan *plan) {
    State *state = plan_state(plan);
    plan_release(state->inner);
    plan_free(plan);
}

/* The request with int64 where there are strings. */
static Error *plan_inner(Device *device, const PlanRequest *request, Plan **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(PlanRequest) + PLAN_INPUTS_MAX * sizeof(TensorSpec), &memory));
    PlanRequest *inner = memory;
    TensorSpec *inputs = (TensorSpec *)(inner + 1);
    *inner = *request;
    inner->inputs = inputs;
    /* Append would be an expansion, which has no plan for strings */
    if (request->operator_info->id == OPERATOR_APPEND)
        inner->operator_info = operator_get(OPERATOR_CONCAT);
    for (uint32_t i = 0; i < request->input_count; i++) {
        inputs[i] = request->inputs[i];
        if (inputs[i].present && inputs[i].dtype == DTYPE_STRING) inputs[i].dtype = DTYPE_INT64;
    }
    Error *error = operator_infer(inner);
    if (!error) error = device->class_->plan(device, inner, out);
    memory_free(memory);
    return error;
}

/* Numbers of elements can be moved but not added up. */
static bool only_moves(const PlanRequest *request) {
    OperatorId id = request->operator_info->id;
    if (id == OPERATOR_SCATTER_ELEMENTS || id == OPERATOR_SCATTER_ND)
        if (strcmp(attributes_text(request->attributes, "reduction"), "none") != 0) return false;
    if (id == OPERATOR_UNIQUE) return true;
    for (uint32_t i = 0; i < request->output_count; i++)
        if (request->outputs[i].dtype != DTYPE_STRING) return false;
    return true;
}

static Error *plan_move(Device *device, const PlanRequest *request, Plan **out) {
    *out = NULL;
    if (!only_moves(request)) return NULL;
    OWN(Plan, inner) = NULL;
    OWN(Plan, plan) = NULL;
    int64_t base = 1;
    TRY(plan_inner(device, request, &inner));
    if (inner->view) return NULL;
    TRY(plan_create(device, request, "cpu.string_move", sizeof(State), &plan));
    State *state = plan_state(plan);
    plan->destroy = destroy;
    state->inner = TAKE(inner);
    state->input_count = request->input_count;
    state->output_count = request->output_count;
    state->compares = request->operator_info->id == OPERATOR_UNIQUE;
    for (uint32_t i = 0; i < request->output_count; i++)
        state->makes_strings[i] = request->outputs[i].dtype == DTYPE_STRING;
    for (uint32_t i = 0; i < request->input_count; i++) {
        const TensorSpec *input = &request->inputs[i];
        state->is_string[i] = input->present && input->dtype == DTYPE_STRING;
        if (!state->is_string[i]) continue;
        state->counts[i] = shape_count_unchecked(&input->shape);
        state->bases[i] = base;
        base += state->counts[i];
    }
    plan->measure = state->inner->measure ? measure : NULL;
    plan->measure_bytes = measure_bytes;
    plan->launch = launch_move;
    *out = TAKE(plan);
    return NULL;
}

/* The first input of Where and OneHot decides the row, so their rows accept all of its types. */
#define MOVES(id)                                                                                  \
    { OPERATOR_##id, DTYPES_STRING, plan_move, "cpu.string_move", KERNEL_PORTABLE }

const Kernel cpu_string_move[] = {
    MOVES(APPEND),
    MOVES(CONCAT),
    MOVES(SPLIT),
    MOVES(SLICE),
    MOVES(GATHER),
    MOVES(GATHER_ELEMENTS),
    MOVES(GATHER_ND),
    MOVES(SCATTER_ELEMENTS),
    MOVES(SCATTER_ND),
    MOVES(TRANSPOSE),
    MOVES(EXPAND),
    MOVES(TILE),
    MOVES(REVERSE_SEQUENCE),
    MOVES(COMPRESS),
    MOVES(PAD),
    MOVES(UNIQUE),
    {OPERATOR_ONE_HOT, DTYPES_NUMBER, plan_move, "cpu.string_move", KERNEL_PORTABLE},
    {OPERATOR_WHERE, DTYPE_BIT(DTYPE_BOOL), plan_move, "cpu.string_move", KERNEL_PORTABLE},
    KERNELS_END,
};
