/* Lookup: finds elements among keys in ascending order by halving. The keys' order is not checked:
 * with another one some place within the keys comes out, or none. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/tensor/string_tensor.h"

enum { STEPS_PER_PART = 65536 };

typedef struct State State;
typedef void Search(const State *state, const void *keys, const void *from, int64_t *to,
    int64_t begin, int64_t end);
struct State {
    int64_t count, keys;
    uint64_t steps; /* of one search */
    Search *search;
};

typedef struct Run {
    const State *state;
    const void *from, *keys;
    int64_t *to;
} Run;

/* The first key that is not below x, then whether x is the key. A NaN is the last key, or none. */
#define DEFINE_SEARCH(T, suffix)                                                                   \
    static void search_##suffix(const State *state, const void *keys, const void *from,            \
        int64_t *to, int64_t begin, int64_t end) {                                                 \
        const T *sorted = keys, *elements = from;                                                  \
        const int64_t count = state->keys;                                                         \
        KERNEL_STOP_EACH (i, begin, end) {                                                         \
            const T x = elements[i];                                                               \
            int64_t first = 0;                                                                     \
            for (int64_t length = count; length > 1;) {                                            \
                const int64_t half = length / 2;                                                   \
                first += sorted[first + half - 1] < x ? half : 0;                                  \
                length -= half;                                                                    \
            }                                                                                      \
            if (x != x) first = count - 1;                                                         \
            const bool found =                                                                     \
                count > 0 && (sorted[first] == x || (x != x && sorted[first] != sorted[first]));   \
            to[i] = found ? first : count;                                                         \
        }                                                                                          \
    }
DEFINE_SEARCH(float, f32)
DEFINE_SEARCH(double, f64)
DEFINE_SEARCH(int32_t, i32)
DEFINE_SEARCH(int64_t, i64)
#undef DEFINE_SEARCH

static Error *run_part(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    run->state->search(run->state, run->keys, run->from, run->to, (int64_t)begin, (int64_t)end);
    return kernel_stop_check();
}

static Error *launch_numbers(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    Run run = {state, cpu_input(launch, 0), cpu_input(launch, 1), cpu_output(launch, 0)};
    (void)output_shapes;
    if (state->count == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->count,
        STEPS_PER_PART / state->steps + 1, run_part, &run);
}

/* ---- texts ---- */

/* Below 0, 0 or above 0, by bytes. */
static Error *compare(StringView a, StringView b, KernelStopMeter *meter, int *out) {
    const uint64_t size = a.size < b.size ? a.size : b.size;
    enum { PIECE = 4 << 20 };
    *out = 0;
    for (uint64_t at = 0; at < size && *out == 0; at += PIECE) {
        const uint64_t length = size - at < PIECE ? size - at : PIECE;
        TRY(kernel_stop_count(meter, 8 + length / 8));
        *out = memcmp(a.text + at, b.text + at, (size_t)length);
    }
    if (*out == 0) *out = (a.size > b.size) - (a.size < b.size);
    return NULL;
}

static Error *launch_texts(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    const void *from = cpu_input(launch, 0), *keys = cpu_input(launch, 1);
    int64_t *to = cpu_output(launch, 0);
    KernelStopMeter meter = {0};
    (void)output_shapes;
    for (int64_t i = 0; i < state->count; i++) {
        const StringView x = string_tensor_at(from, state->count, i);
        int64_t first = 0, end = state->keys;
        to[i] = state->keys;
        TRY(kernel_stop_count(&meter, 8));
        while (first < end) {
            const int64_t middle = first + (end - first) / 2;
            int order;
            TRY(compare(string_tensor_at(keys, state->keys, middle), x, &meter, &order));
            if (order == 0) to[i] = middle;
            first = order < 0 ? middle + 1 : first;
            end = order < 0 ? end : order == 0 ? first : middle;
        }
    }
    return NULL;
}

static Error *plan_lookup(Device *device, const PlanRequest *request, Plan **out) {
    static Search *const searches[DTYPE_COUNT] = {
        [DTYPE_FLOAT32] = search_f32,
        [DTYPE_FLOAT64] = search_f64,
        [DTYPE_INT32] = search_i32,
        [DTYPE_INT64] = search_i64,
    };
    const TensorSpec *input = &request->inputs[0];
    TRY(plan_create(device, request, "cpu.lookup", sizeof(State), out));
    State *state = plan_state(*out);
    state->count = shape_count_unchecked(&input->shape);
    state->keys = request->inputs[1].shape.dims[0];
    state->search = searches[input->dtype];
    for (int64_t left = state->keys; left > 0; left /= 2) state->steps++;
    state->steps += 1;
    (*out)->launch = input->dtype == DTYPE_STRING ? launch_texts : launch_numbers;
    return NULL;
}

const Kernel cpu_lookup[] = {
    {OPERATOR_LOOKUP,
        DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT64) | DTYPE_BIT(DTYPE_INT32) |
            DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_STRING),
        plan_lookup, "cpu.lookup", KERNEL_PORTABLE},
    KERNELS_END,
};
