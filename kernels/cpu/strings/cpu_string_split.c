/* StringSplit: at a delimiter, or at runs of white space. */
#include <string.h>

#include "base/allocator.h"
#include "base/utf8.h"
#include "kernels/cpu/strings/cpu_strings.h"

enum { FIND_BYTES = 1 << 20 };

typedef struct State {
    int64_t count;
    uint64_t splits_max; /* UINT64_MAX: no limit */
    uint64_t delimiter_size;
    char delimiter[]; /* size 0: white space */
} State;

/* The rest of an element, and how often the rest may still be cut. */
typedef struct Rest {
    StringView text;
    uint64_t splits;
    bool ended;
    KernelStopMeter meter;
} Rest;

static void skip_space(StringView *text, KernelStopMeter *meter) {
    size_t at = 0;
    while (at < text->size && !kernel_stop_ends_after(meter, 16)) {
        size_t next = at;
        if (!utf8_is_space(utf8_next(text->text, &next))) break;
        at = next;
    }
    text->text += at;
    text->size -= at;
}

static bool next_word(Rest *rest, StringView *out) {
    skip_space(&rest->text, &rest->meter);
    *out = rest->text;
    if (rest->text.size == 0) return false;
    size_t end = 0;
    while (rest->splits > 0 && end < rest->text.size && !kernel_stop_ends_after(&rest->meter, 16)) {
        size_t next = end;
        if (utf8_is_space(utf8_next(rest->text.text, &next))) break;
        end = next;
    }
    if (rest->splits == 0) end = rest->text.size;
    rest->splits -= rest->splits > 0;
    out->size = end;
    rest->text.text += end;
    rest->text.size -= end;
    return true;
}

/* Searches piece by piece; each piece contains the beginning of the next, so that no delimiter is
 * missed. */
static const char *find_delimiter(const State *state, Rest *rest) {
    const StringView text = rest->text;
    for (uint64_t at = 0; at + state->delimiter_size <= text.size; at += FIND_BYTES) {
        uint64_t size = text.size - at;
        if (size > FIND_BYTES + state->delimiter_size - 1)
            size = FIND_BYTES + state->delimiter_size - 1;
        if (at > 0 && kernel_stop_ends()) return NULL;
        const char *found = memmem(text.text + at, size, state->delimiter, state->delimiter_size);
        if (found) return found;
    }
    return NULL;
}

/* The next piece; false when there is none. */
static bool next_piece(const State *state, Rest *rest, StringView *out) {
    if (kernel_stop_ends_after(&rest->meter, 64)) return false;
    if (state->delimiter_size == 0) return next_word(rest, out);
    if (rest->ended) return false;
    *out = rest->text;
    const char *found = rest->splits == 0 ? NULL : find_delimiter(state, rest);
    if (!found) {
        rest->ended = true;
        return true;
    }
    rest->splits--;
    out->size = (uint64_t)(found - rest->text.text);
    rest->text.text = found + state->delimiter_size;
    rest->text.size -= out->size + state->delimiter_size;
    return true;
}

static Rest open_rest(
    const State *state, const void *from, int64_t index, const KernelStopMeter *meter) {
    return (Rest){string_tensor_at(from, state->count, index), state->splits_max, false, *meter};
}

static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const State *state = plan_state(plan);
    int64_t most = 0;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count; i++) {
        Rest rest = open_rest(state, cpu_input(launch, 0), i, &meter);
        StringView piece;
        int64_t pieces = 0;
        while (next_piece(state, &rest, &piece)) pieces++;
        meter = rest.meter;
        if (pieces > most) most = pieces;
    }
    out_shapes[0].dims[out_shapes[0].rank - 1] = most;
    return kernel_stop_check();
}

static Error *measure_bytes(
    const Plan *plan, const Launch *launch, const Shape *shapes, uint64_t *out_bytes) {
    const State *state = plan_state(plan);
    KernelStopMeter meter = {0};
    out_bytes[0] = string_tensor_head_bytes(shape_count_unchecked(&shapes[0]));
    for (int64_t i = 0; i < state->count; i++) {
        Rest rest = open_rest(state, cpu_input(launch, 0), i, &meter);
        StringView piece;
        while (next_piece(state, &rest, &piece))
            TRY(cpu_strings_add_size(&out_bytes[0], piece.size));
        meter = rest.meter;
    }
    return kernel_stop_check();
}

/* Elements with fewer pieces than the longest are filled up with empty ones. */
static Error *launch_split(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    int64_t most = output_shapes[0].dims[output_shapes[0].rank - 1];
    StringWriter writer =
        string_writer_open(cpu_output(launch, 0), shape_count_unchecked(&output_shapes[0]));
    int64_t *counts = cpu_output(launch, 1);
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count; i++) {
        Rest rest = open_rest(state, cpu_input(launch, 0), i, &meter);
        StringView piece;
        int64_t pieces = 0;
        for (; next_piece(state, &rest, &piece); pieces++) {
            TRY(cpu_string_write(&writer, piece, &rest.meter));
            string_writer_end(&writer);
        }
        TRY(kernel_stop_check());
        meter = rest.meter;
        counts[i] = pieces;
        for (; pieces < most; pieces++) {
            TRY(kernel_stop_count(&meter, 8));
            string_writer_end(&writer);
        }
    }
    return NULL;
}

static Error *plan_string_split(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    bool given = attributes_has(attributes, "delimiter");
    const char *delimiter = given ? attributes_text(attributes, "delimiter") : "";
    size_t size = strlen(delimiter);
    TRY(plan_create(device, request, "cpu.string_split", sizeof(State) + size, out));
    State *state = plan_state(*out);
    state->count = shape_count_unchecked(&request->inputs[0].shape);
    int64_t splits =
        attributes_has(attributes, "maxsplit") ? attributes_int(attributes, "maxsplit") : -1;
    state->splits_max = splits < 0 ? UINT64_MAX : (uint64_t)splits;
    state->delimiter_size = size;
    memcpy(state->delimiter, delimiter, size);
    (*out)->measure = measure;
    (*out)->measure_bytes = measure_bytes;
    (*out)->launch = launch_split;
    return NULL;
}

const Kernel cpu_string_split[] = {
    {OPERATOR_STRING_SPLIT, DTYPES_STRING, plan_string_split, "cpu.string_split", KERNEL_PORTABLE},
    KERNELS_END,
};
