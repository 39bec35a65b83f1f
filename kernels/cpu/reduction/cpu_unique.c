/* Unique: the items along an axis, or the elements, are sorted by their keys; equal neighbours are
 * one item. Keys are computed once, so that a change of the data during the launch does no harm:
 * the count is compared with the result. NaN equals NaN and comes last, -0 equals 0. */
#include <string.h>

#include "base/checked.h"
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/cpu/core/cpu_order.h"
#include "kernels/arguments/arguments.h"

/* input [outer, items, inner]: an item is outer * inner elements. */
typedef struct State {
    int64_t outer, items, inner;
    DType dtype;
    uint32_t size;
    uint32_t axis;
    bool sorted;
} State;

/* Arrays in the workspace. */
typedef struct Work {
    const State *state;
    uint64_t *keys; /* [items, outer, inner] */
    int64_t *order; /* items, sorted */
    int64_t *spare;
    int64_t *leader; /* for each item the first equal one */
    int64_t *number; /* the output position of a leader */
    KernelStopMeter meter;
} Work;

static int64_t item_length(const State *state) { return state->outer * state->inner; }

static Work work_of(const State *state, const Launch *launch) {
    char *at = cpu_workspace(launch);
    Work work = {.state = state};
    work.keys = (uint64_t *)(void *)at;
    work.order = (int64_t *)(void *)(work.keys + state->items * item_length(state));
    work.spare = work.order + state->items;
    work.leader = work.spare + state->items;
    work.number = work.leader + state->items;
    return work;
}

static void take_keys(const Work *work, const char *from) {
    const State *state = work->state;
    const DType dtype = state->dtype == DTYPE_BOOL ? DTYPE_UINT8 : state->dtype;
    const int64_t length = item_length(state);
    KernelStopMeter meter = {0};
    for (int64_t item = 0; item < state->items; item++)
        for (int64_t outer = 0; outer < state->outer; outer++) {
            if (kernel_stop_ends_after(&meter, 16)) return;
            uint64_t *keys = work->keys + item * length + outer * state->inner;
            const char *at = from + (outer * state->items + item) * state->inner * state->size;
            for (int64_t i = 0, end; i < state->inner; i = end) {
                end = kernel_stop_piece(i, state->inner);
                if (kernel_stop_ends_after(&meter, (uint64_t)(end - i) * 8)) return;
                cpu_order_keys(dtype, at + i * state->size, 1, end - i, keys + i);
            }
            for (int64_t i = 0; state->dtype == DTYPE_BOOL && i < state->inner; i++)
                keys[i] = keys[i] != 0 && !kernel_stop_ends_at(i);
        }
}

/* Less than, equal to or greater than 0 as item a is to item b. */
static int compare(const Work *work, int64_t a, int64_t b) {
    const int64_t length = item_length(work->state);
    const uint64_t *left = work->keys + a * length, *right = work->keys + b * length;
    for (int64_t i = 0; i < length; i++) {
        if (kernel_stop_ends_at(i)) return 0;
        if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}

/* Merges [begin, middle) and [middle, end) of `from` into `to`; of equal items the left one comes
 * first. */
static void merge(
    Work *work, const int64_t *from, int64_t *to, int64_t begin, int64_t middle, int64_t end) {
    int64_t left = begin, right = middle;
    for (int64_t i = begin; i < end; i++) {
        if (kernel_stop_ends_after(&work->meter, 64)) return;
        const bool take_left =
            left < middle && (right == end || compare(work, from[left], from[right]) <= 0);
        to[i] = take_left ? from[left++] : from[right++];
    }
}

/* Sorts items in ascending order, equal ones by their index. After a stop the order is any, with
 * each item once. */
static void sort(Work *work) {
    const int64_t count = work->state->items;
    KERNEL_STOP_EACH (i, 0, count) work->order[i] = i;
    for (int64_t run = 1; run < count; run *= 2) {
        for (int64_t begin = 0; begin < count; begin += 2 * run) {
            if (begin % KERNEL_STOP_TURNS == 0 && kernel_stop_ends()) return;
            const int64_t middle = begin + run < count ? begin + run : count;
            const int64_t end = middle + run < count ? middle + run : count;
            merge(work, work->order, work->spare, begin, middle, end);
        }
        if (kernel_stop_ends()) return;
        int64_t *other = work->order;
        work->order = work->spare;
        work->spare = other;
    }
}

/* Fills leader and number; answers how many different items there are. */
static int64_t group(Work *work, const void *from) {
    const State *state = work->state;
    take_keys(work, from);
    sort(work);
    int64_t found = 0, leader = 0;
    if (kernel_stop_ends()) return 0; /* some of the order may be missing */
    for (int64_t i = 0; i < state->items; i++) {
        if (kernel_stop_ends_at(i)) return 0;
        const int64_t item = work->order[i];
        if (i == 0 || compare(work, work->order[i - 1], item) != 0) {
            leader = item;
            work->number[leader] = found++;
        }
        work->leader[item] = leader;
    }
    if (state->sorted) return found;
    found = 0;
    KERNEL_STOP_EACH (item, 0, state->items)
        if (work->leader[item] == item) work->number[item] = found++;
    return found;
}

static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const State *state = plan_state(plan);
    int64_t found = state->items > 0; /* items without elements are all equal */
    if (item_length(state) > 0 && state->items > 0) {
        Work work = work_of(state, launch);
        found = group(&work, cpu_input(launch, 0));
        TRY(kernel_stop_check());
    }
    out_shapes[0].dims[state->axis] = found;
    if (plan->output_count > 1) out_shapes[1].dims[0] = found;
    if (plan->output_count > 3) out_shapes[3].dims[0] = found;
    return NULL;
}

MUST_CHECK static Error *write_item(
    const State *state, const char *from, char *to, int64_t item, int64_t number, int64_t room) {
    const size_t bytes = (size_t)state->inner * state->size;
    KERNEL_STOP_EACH (outer, 0, state->outer)
        cpu_move(to + (size_t)(outer * room + number) * bytes,
            from + (size_t)(outer * state->items + item) * bytes, bytes);
    return kernel_stop_check();
}

/* The address of an output, or NULL if the call does not want the output. */
static int64_t *wanted(const Plan *plan, const Launch *launch, uint32_t output) {
    if (output >= plan->output_count || !plan->outputs[output].present) return NULL;
    return cpu_output(launch, output);
}

static void write_nothing(const State *state, int64_t *first, int64_t *inverse, int64_t *counts) {
    if (first) *first = 0;
    for (int64_t i = 0; inverse && i < state->items && !kernel_stop_ends_at(i); i++) inverse[i] = 0;
    if (counts) *counts = state->items;
}

static Error *launch_unique(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    const int64_t room = output_shapes[0].dims[state->axis];
    int64_t *first = wanted(plan, launch, 1), *inverse = wanted(plan, launch, 2),
            *counts = wanted(plan, launch, 3);
    if (state->items == 0) return NULL;
    if (item_length(state) == 0) {
        write_nothing(state, first, inverse, counts);
        return kernel_stop_check();
    }
    Work work = work_of(state, launch);
    const int64_t found = group(&work, cpu_input(launch, 0));
    TRY(kernel_stop_check());
    if (found != room) FAIL(FAILED, "Unique: the input changed while it was read");
    for (int64_t i = 0; counts && i < room && !kernel_stop_ends_at(i); i++) counts[i] = 0;
    TRY(kernel_stop_check());
    for (int64_t item = 0; item < state->items; item++) {
        if (item % KERNEL_STOP_TURNS == 0) TRY(kernel_stop_check());
        const int64_t leader = work.leader[item], number = work.number[leader];
        if (inverse) inverse[item] = number;
        if (counts) counts[number]++;
        if (leader != item) continue;
        if (first) first[number] = item;
        TRY(write_item(state, cpu_input(launch, 0), cpu_output(launch, 0), item, number, room));
    }
    return NULL;
}

static Error *workspace_bytes(const State *state, uint64_t *out) {
    const uint64_t items = (uint64_t)state->items;
    uint64_t keys, rest;
    *out = 0;
    if (item_length(state) == 0) return NULL;
    if (!checked_mul_u64(items * (uint64_t)item_length(state), sizeof(uint64_t), &keys) ||
        !checked_mul_u64(items, 4 * sizeof(int64_t), &rest) || !checked_add_u64(keys, rest, out))
        FAIL(INVALID, "Unique: too many elements");
    return NULL;
}

static Error *plan_unique(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *input = &request->inputs[0].shape;
    const bool flat = !attributes_has(request->attributes, "axis");
    uint32_t axis = 0;
    OWN(Plan, plan) = NULL;
    if (!flat) TRY(arguments_axis(request, &axis));
    TRY(plan_create(device, request, "cpu.unique", sizeof(State), &plan));
    State *state = plan_state(plan);
    state->outer = flat ? 1 : shape_product(input, 0, axis);
    state->items = flat ? shape_count_unchecked(input) : input->dims[axis];
    state->inner = flat ? 1 : shape_product(input, axis + 1, input->rank);
    state->dtype = request->inputs[0].dtype;
    state->size = dtype_bits(state->dtype) / 8;
    state->axis = axis;
    state->sorted = attributes_int(request->attributes, "sorted") != 0;
    TRY(workspace_bytes(state, &plan->workspace_bytes));
    plan->measure = measure;
    plan->launch = launch_unique;
    *out = TAKE(plan);
    return NULL;
}

const Kernel cpu_unique[] = {
    {OPERATOR_UNIQUE, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), plan_unique, "cpu.unique",
        KERNEL_PORTABLE},
    KERNELS_END,
};
