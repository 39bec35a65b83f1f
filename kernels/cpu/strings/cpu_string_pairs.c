/* Equal and StringConcat. */
#include <string.h>

#include "kernels/cpu/strings/cpu_strings.h"

typedef struct State {
    Shape a, b, out;
} State;

CpuStringPairs cpu_string_pairs_open(const Shape *shape, const Shape *a, const Shape *b) {
    CpuStringPairs pairs = {.shape = *shape};
    pairs.counts[0] = shape_count_unchecked(a);
    pairs.counts[1] = shape_count_unchecked(b);
    shape_broadcast_strides(a, shape, pairs.strides[0]);
    shape_broadcast_strides(b, shape, pairs.strides[1]);
    return pairs;
}

void cpu_string_pairs_next(CpuStringPairs *pairs, StringView *out_a, StringView *out_b) {
    *out_a = string_tensor_at(pairs->data[0], pairs->counts[0], pairs->at[0]);
    *out_b = string_tensor_at(pairs->data[1], pairs->counts[1], pairs->at[1]);
    for (uint32_t d = pairs->shape.rank; d-- > 0;) {
        for (int i = 0; i < 2; i++) pairs->at[i] += pairs->strides[i][d];
        if (++pairs->position[d] < pairs->shape.dims[d]) return;
        for (int i = 0; i < 2; i++) pairs->at[i] -= pairs->strides[i][d] * pairs->shape.dims[d];
        pairs->position[d] = 0;
    }
}

Error *cpu_string_write(StringWriter *writer, StringView text, KernelStopMeter *meter) {
    do {
        StringView piece = text;
        if (piece.size > CPU_STRING_PIECE) piece.size = CPU_STRING_PIECE;
        TRY(kernel_stop_count(meter, 16 + piece.size / 8));
        string_writer_add(writer, piece);
        text.text += piece.size;
        text.size -= piece.size;
    } while (text.size > 0);
    return NULL;
}

Error *cpu_strings_add_size(uint64_t *inout_bytes, uint64_t size) {
    if (!checked_add_u64(*inout_bytes, size, inout_bytes))
        FAIL(INVALID, "strings of more than 2^64 bytes");
    return NULL;
}

static CpuStringPairs open_pairs(const State *state, const Launch *launch) {
    CpuStringPairs pairs = cpu_string_pairs_open(&state->out, &state->a, &state->b);
    pairs.data[0] = cpu_input(launch, 0);
    pairs.data[1] = cpu_input(launch, 1);
    return pairs;
}

static Error *launch_equal(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuStringPairs pairs = open_pairs(state, launch);
    uint8_t *to = cpu_output(launch, 0);
    int64_t count = shape_count_unchecked(&state->out);
    (void)output_shapes;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < count; i++) {
        StringView a, b;
        cpu_string_pairs_next(&pairs, &a, &b);
        to[i] = a.size == b.size;
        for (uint64_t at = 0, end; to[i] && at < a.size; at = end) {
            end = a.size - at < CPU_STRING_PIECE ? a.size : at + CPU_STRING_PIECE;
            TRY(kernel_stop_count(&meter, 16 + (end - at) / 8));
            to[i] = memcmp(a.text + at, b.text + at, end - at) == 0;
        }
        TRY(kernel_stop_count(&meter, 16));
    }
    return NULL;
}

static Error *measure_concat(
    const Plan *plan, const Launch *launch, const Shape *shapes, uint64_t *out_bytes) {
    const State *state = plan_state(plan);
    CpuStringPairs pairs = open_pairs(state, launch);
    int64_t count = shape_count_unchecked(&state->out);
    (void)shapes;
    out_bytes[0] = string_tensor_head_bytes(count);
    for (int64_t i = 0; i < count; i++) {
        StringView a, b;
        if (i % KERNEL_STOP_TURNS == 0) TRY(kernel_stop_check());
        cpu_string_pairs_next(&pairs, &a, &b);
        TRY(cpu_strings_add_size(&out_bytes[0], a.size));
        TRY(cpu_strings_add_size(&out_bytes[0], b.size));
    }
    return NULL;
}

static Error *launch_concat(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuStringPairs pairs = open_pairs(state, launch);
    int64_t count = shape_count_unchecked(&state->out);
    StringWriter writer = string_writer_open(cpu_output(launch, 0), count);
    KernelStopMeter meter = {0};
    (void)output_shapes;
    for (int64_t i = 0; i < count; i++) {
        StringView a, b;
        cpu_string_pairs_next(&pairs, &a, &b);
        TRY(cpu_string_write(&writer, a, &meter));
        TRY(cpu_string_write(&writer, b, &meter));
        string_writer_end(&writer);
    }
    return NULL;
}

static Error *plan_pairs(Device *device, const PlanRequest *request, const char *name, Plan **out) {
    TRY(plan_create(device, request, name, sizeof(State), out));
    State *state = plan_state(*out);
    state->a = request->inputs[0].shape;
    state->b = request->inputs[1].shape;
    state->out = request->outputs[0].shape;
    return NULL;
}

static Error *plan_equal(Device *device, const PlanRequest *request, Plan **out) {
    TRY(plan_pairs(device, request, "cpu.string_equal", out));
    (*out)->launch = launch_equal;
    return NULL;
}

static Error *plan_concat(Device *device, const PlanRequest *request, Plan **out) {
    TRY(plan_pairs(device, request, "cpu.string_concat", out));
    (*out)->measure_bytes = measure_concat;
    (*out)->launch = launch_concat;
    return NULL;
}

const Kernel cpu_string_pairs[] = {
    {OPERATOR_EQUAL, DTYPES_STRING, plan_equal, "cpu.string_equal", KERNEL_PORTABLE},
    {OPERATOR_STRING_CONCAT, DTYPES_STRING, plan_concat, "cpu.string_concat", KERNEL_PORTABLE},
    KERNELS_END,
};
