/* Operators on sequences with a length or an index for each item of a batch: ReverseSequence,
 * TensorScatter. */
#include "kernels/cpu/movement/cpu_copy.h"
#include "kernels/cpu/core/cpu_index.h"
#include "kernels/arguments/arguments.h"

enum { BYTES_PER_PART = 65536 };

/* The input is [first, second, row]: one of the two is the time, the other the batch. */
typedef struct ReverseState {
    int64_t first, second;
    uint64_t row_bytes;
    bool time_first;
} ReverseState;

typedef struct ReverseRun {
    const ReverseState *state;
    CpuIndices lengths;
    const char *from;
    char *to;
} ReverseRun;

/* Units are the rows of the output. */
static Error *run_reverse(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const ReverseRun *run = context;
    const ReverseState *state = run->state;
    const int64_t times = state->time_first ? state->first : state->second;
    (void)part;
    for (uint64_t unit = begin; unit < end; unit++) {
        const int64_t first = (int64_t)unit / state->second, second = (int64_t)unit % state->second;
        const int64_t time = state->time_first ? first : second;
        const int64_t item = state->time_first ? second : first;
        const int64_t length = cpu_index_load(&run->lengths, item);
        if (length < 0 || length > times)
            FAIL(FAILED,
                "ReverseSequence: length %" PRId64 " at position %" PRId64
                " is outside [0, %" PRId64 "]",
                length, item, times);
        const int64_t source = time < length ? length - 1 - time : time;
        const int64_t row =
            state->time_first ? source * state->second + item : item * state->second + source;
        cpu_move(run->to + unit * state->row_bytes, run->from + (uint64_t)row * state->row_bytes,
            (size_t)state->row_bytes);
    }
    return NULL;
}

static Error *launch_reverse(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const ReverseState *state = plan_state(plan);
    ReverseRun run = {
        state, {cpu_input(launch, 1), true}, cpu_input(launch, 0), cpu_output(launch, 0)};
    (void)output_shapes;
    const uint64_t rows = (uint64_t)state->first * (uint64_t)state->second;
    if (rows == 0 || state->row_bytes == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads, rows,
        BYTES_PER_PART / state->row_bytes + 1, run_reverse, &run);
}

static Error *plan_reverse(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *input = &request->inputs[0].shape;
    TRY(plan_create(device, request, "cpu.reverse_sequence", sizeof(ReverseState), out));
    ReverseState *state = plan_state(*out);
    state->first = input->dims[0];
    state->second = input->dims[1];
    state->row_bytes =
        (uint64_t)shape_product(input, 2, input->rank) * (dtype_bits(request->inputs[0].dtype) / 8);
    state->time_first = attributes_int(request->attributes, "time_axis") == 0;
    (*out)->launch = launch_reverse;
    return NULL;
}

/* cache [batch, prefixes, room, row], update [batch, prefixes, length, row]. */
typedef struct WriteState {
    int64_t batch, prefixes, room, length;
    uint64_t row_bytes;
    bool circular, has_indices;
} WriteState;

typedef struct WriteRun {
    const WriteState *state;
    CpuIndices indices;
    const char *update;
    char *cache;
} WriteRun;

/* Units are the caches of the batch. */
static Error *run_writes(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const WriteRun *run = context;
    const WriteState *state = run->state;
    (void)part;
    for (int64_t item = (int64_t)begin; item < (int64_t)end; item++) {
        int64_t at = state->has_indices ? cpu_index_load(&run->indices, item) : 0;
        const int64_t most = state->circular ? INT64_MAX : state->room - state->length;
        if (at < 0 || at > most)
            FAIL(FAILED,
                "TensorScatter: index %" PRId64 " at position %" PRId64 " is outside [0, %" PRId64
                "]",
                at, item, most);
        if (state->circular) at %= state->room;
        /* the part beyond the end of a circular cache continues at its start */
        const int64_t left = state->room - at;
        const uint64_t head = (uint64_t)(state->length < left ? state->length : left);
        const uint64_t tail = (uint64_t)state->length - head;
        for (int64_t prefix = item * state->prefixes; prefix < (item + 1) * state->prefixes;
             prefix++) {
            const char *from = run->update + (uint64_t)(prefix * state->length) * state->row_bytes;
            char *to = run->cache + (uint64_t)(prefix * state->room) * state->row_bytes;
            TRY(kernel_stop_copy(
                to + (uint64_t)at * state->row_bytes, from, head * state->row_bytes));
            TRY(kernel_stop_copy(to, from + head * state->row_bytes, tail * state->row_bytes));
        }
    }
    return NULL;
}

static Error *launch_writes(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const WriteState *state = plan_state(plan);
    WriteRun run = {
        state, {cpu_input(launch, 2), true}, cpu_input(launch, 1), cpu_output(launch, 0)};
    (void)output_shapes;
    const uint64_t item_bytes = (uint64_t)(state->prefixes * state->length) * state->row_bytes;
    TRY(cpu_copy_bytes(cpu_device(plan->device), launch->threads, run.cache, cpu_input(launch, 0),
        (uint64_t)(state->batch * state->prefixes * state->room) * state->row_bytes));
    if (item_bytes == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads, (uint64_t)state->batch,
        BYTES_PER_PART / item_bytes + 1, run_writes, &run);
}

static Error *plan_writes(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *cache = &request->inputs[0].shape;
    uint32_t axis;
    TRY(arguments_axis(request, &axis));
    TRY(plan_create(device, request, "cpu.tensor_scatter", sizeof(WriteState), out));
    WriteState *state = plan_state(*out);
    state->batch = cache->dims[0];
    state->prefixes = shape_product(cache, 1, axis);
    state->room = cache->dims[axis];
    state->length = request->inputs[1].shape.dims[axis];
    state->row_bytes = (uint64_t)shape_product(cache, axis + 1, cache->rank) *
                       (dtype_bits(request->inputs[0].dtype) / 8);
    state->circular = strcmp(attributes_text(request->attributes, "mode"), "circular") == 0;
    state->has_indices = plan_request_has(request, 2);
    (*out)->launch = launch_writes;
    return NULL;
}

const Kernel cpu_sequence[] = {
    {OPERATOR_REVERSE_SEQUENCE, DTYPES_ANY, plan_reverse, "cpu.reverse_sequence", KERNEL_PORTABLE},
    {OPERATOR_TENSOR_SCATTER, DTYPES_ANY, plan_writes, "cpu.tensor_scatter", KERNEL_PORTABLE},
    KERNELS_END,
};
