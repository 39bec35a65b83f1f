/* TopK with a heap of the k best seen so far, in the workspace: one for each lane, so that threads
 * share nothing. Equal elements go by their index. */
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/cpu/core/cpu_order.h"
#include "kernels/cpu/core/cpu_order_keys.h"
#include "kernels/arguments/arguments.h"

enum { ELEMENTS_PER_PART = 16384, BLOCK = 256, FLOAT_BLOCK = 64 };

typedef struct Entry {
    uint64_t key; /* larger is better */
    int64_t index;
} Entry;

/* [outer, dim, inner] to [outer, k, inner]. */
typedef struct State {
    int64_t outer, dim, inner, k;
    DType dtype;
    uint32_t size;
    bool largest;
    CpuOrderKeys *keys; /* of float32 elements beside each other; NULL: of any others */
} State;

typedef struct Run {
    const State *state;
    const char *from;
    char *values;
    int64_t *indices;
    Entry *heaps;
} Run;

static bool is_worse(Entry a, Entry b) {
    return a.key != b.key ? a.key < b.key : a.index > b.index;
}

/* The heap's root is its worst entry; moves the entry at `at` down. */
static void sift(Entry *heap, int64_t count, int64_t at) {
    Entry entry = heap[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_worse(heap[child + 1], heap[child])) child++;
        if (!is_worse(heap[child], entry)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

/* Sorts the best first: the worst entry moves behind the shrinking heap. */
static void sort(Entry *heap, int64_t count) {
    KernelStopMeter meter = {0};
    for (int64_t left = count - 1; left > 0; left--) {
        if (kernel_stop_ends_after(&meter, 256)) return;
        Entry worst = heap[0];
        heap[0] = heap[left];
        heap[left] = worst;
        sift(heap, left, 0);
    }
}

/* Adds the entry if it is better than the worst one of a full heap. */
static inline void offer(const State *state, Entry *heap, Entry entry) {
    int64_t at = entry.index;
    if (at >= state->k) {
        if (!is_worse(heap[0], entry)) return;
        heap[0] = entry;
        sift(heap, state->k, 0);
        return;
    }
    heap[at] = entry;
    if (at + 1 < state->k) return;
    KernelStopMeter meter = {0};
    for (int64_t i = state->k / 2; i-- > 0;) {
        if (kernel_stop_ends_after(&meter, 64)) return;
        sift(heap, state->k, i);
    }
}

/* Fills the heap from the lane that starts at element `base`. */
static void select_lane(const Run *run, int64_t base, Entry *heap) {
    const State *state = run->state;
    uint64_t keys[BLOCK];
    uint64_t flip = state->largest ? 0 : UINT64_MAX;
    KernelStopMeter meter = {0};
    for (int64_t begin = 0; begin < state->dim; begin += BLOCK) {
        if (kernel_stop_ends_after(&meter, BLOCK * 64)) return;
        int64_t count = state->dim - begin < BLOCK ? state->dim - begin : BLOCK;
        const char *from = run->from + (base + begin * state->inner) * state->size;
        cpu_order_keys(state->dtype, from, state->inner, count, keys);
        for (int64_t i = 0; i < count; i++) offer(state, heap, (Entry){keys[i] ^ flip, begin + i});
    }
}

/* select_lane of float32 elements beside each other. Few blocks have an element that is better than
 * the worst entry of a full heap; of equal elements the later is the worse. */
static void select_floats(const State *state, const float *from, Entry *heap) {
    uint32_t keys[FLOAT_BLOCK], best;
    KernelStopMeter meter = {0};
    for (int64_t begin = 0; begin < state->dim; begin += FLOAT_BLOCK) {
        if (kernel_stop_ends_after(&meter, FLOAT_BLOCK * 64)) return;
        const int64_t left = state->dim - begin, count = left < FLOAT_BLOCK ? left : FLOAT_BLOCK;
        state->keys(from + begin, count, state->largest ? 0 : UINT32_MAX, keys, &best);
        if (begin >= state->k && best <= heap[0].key) continue;
        for (int64_t i = 0; i < count; i++) offer(state, heap, (Entry){keys[i], begin + i});
    }
}

static Error *run_lanes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (uint64_t lane = begin; lane < end; lane++) {
        int64_t outer = (int64_t)lane / state->inner, inner = (int64_t)lane % state->inner;
        Entry *heap = run->heaps + (int64_t)lane * state->k;
        int64_t base = outer * state->dim * state->inner + inner;
        int64_t to = outer * state->k * state->inner + inner;
        if (state->keys)
            select_floats(state, (const float *)(const void *)run->from + base, heap);
        else
            select_lane(run, base, heap);
        TRY(kernel_stop_check()); /* a stopped selection leaves entries of the heap unset */
        sort(heap, state->k);
        TRY(kernel_stop_check());
        for (int64_t i = 0; i < state->k; i++, to += state->inner) {
            if (kernel_stop_ends_at(i)) break;
            int64_t from = base + heap[i].index * state->inner;
            cpu_move(run->values + to * state->size, run->from + from * state->size, state->size);
            run->indices[to] = heap[i].index;
        }
    }
    return NULL;
}

static Error *launch_top_k(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_output(launch, 0), cpu_output(launch, 1),
        cpu_workspace(launch)};
    (void)output_shapes;
    uint64_t lanes = (uint64_t)(state->outer * state->inner);
    if (lanes == 0 || state->k == 0) return NULL;
    uint64_t least = ELEMENTS_PER_PART / (uint64_t)state->dim + 1;
    return cpu_for_each(cpu_device(plan->device), launch->threads, lanes, least, run_lanes, &run);
}

static Error *plan_top_k(Device *device, const PlanRequest *request, Plan **out) {
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    const TensorSpec *input = &request->inputs[0];
    TRY(plan_create(device, request, "cpu.top_k", sizeof(State), out));
    State *state = plan_state(*out);
    state->outer = shape_product(&input->shape, 0, axis);
    state->dim = input->shape.dims[axis];
    state->inner = shape_product(&input->shape, axis + 1, input->shape.rank);
    state->k = request->outputs[0].shape.dims[axis];
    state->dtype = input->dtype;
    state->size = dtype_bits(input->dtype) / 8;
    state->largest = attributes_int(request->attributes, "largest") != 0;
    if (state->dtype == DTYPE_FLOAT32 && state->inner == 1)
        state->keys = cpu_order_keys_for(cpu_device(device)->level);
    (*out)->workspace_bytes =
        (uint64_t)shape_count_unchecked(&request->outputs[0].shape) * sizeof(Entry);
    (*out)->launch = launch_top_k;
    return NULL;
}

const Kernel cpu_top_k[] = {
    {OPERATOR_TOP_K, DTYPES_NUMBER, plan_top_k, "cpu.top_k", KERNEL_PORTABLE},
    KERNELS_END,
};
