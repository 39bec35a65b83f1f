/* StringNormalizer: removes stop words and changes the case of the others. */
#include <string.h>

#include "base/allocator.h"
#include "base/utf8.h"
#include "kernels/cpu/strings/cpu_strings.h"

/* Work for the meter; comparing a text with a stop word ends at the first difference. */
enum { POINT_WORK = 16, WORD_WORK = 64, PIECE_BYTES = 1 << 16, WORD_HASH_POINTS = 32 };

typedef enum CaseChange { CASE_KEEP, CASE_LOWER, CASE_UPPER } CaseChange;

typedef struct State {
    int64_t count;
    Attributes *attributes; /* retained: holds the stop words */
    uint32_t stop_count;
    bool any_case;
    CaseChange change;
    uint32_t *stops; /* by hash: 1 + index of a stop word; 0: the slot is empty */
    size_t stop_mask;
} State;

static bool is_same(const State *state, StringView a, StringView b) {
    if (!state->any_case) return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
    size_t at = 0, other = 0;
    while (at < a.size && other < b.size)
        if (utf8_to_lower(utf8_next(a.text, &at)) != utf8_to_lower(utf8_next(b.text, &other)))
            return false;
    return at == a.size && other == b.size;
}

/* The same for texts that are the same. */
static uint64_t word_hash(const State *state, StringView text) {
    uint64_t hash = (uintptr_t)state->attributes; /* differs from process to process */
    for (size_t at = 0, i = 0; at < text.size && i < WORD_HASH_POINTS; i++) {
        const uint32_t point = utf8_next(text.text, &at);
        hash = (hash ^ (state->any_case ? utf8_to_lower(point) : point)) *
               UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static StringView stop_word(const State *state, uint32_t index) {
    const char *word = attributes_string_at(state->attributes, "stopwords", index);
    return (StringView){word, strlen(word)};
}

/* The slot of the word, or the empty one where it would be. Errors: ABANDONED. */
static Error *find_stop(
    const State *state, StringView text, KernelStopMeter *meter, uint32_t **out) {
    for (size_t at = word_hash(state, text);; at++) {
        *out = &state->stops[at & state->stop_mask];
        if (**out == 0 || is_same(state, text, stop_word(state, **out - 1))) return NULL;
        TRY(kernel_stop_count(meter, WORD_WORK));
    }
}

static Error *is_stop_word(const State *state, StringView text, KernelStopMeter *meter, bool *out) {
    uint32_t *slot;
    *out = false;
    if (state->stop_count == 0) return NULL;
    TRY(kernel_stop_count(meter, WORD_WORK));
    TRY(find_stop(state, text, meter, &slot));
    *out = *slot != 0;
    return NULL;
}

/* ---- the case ---- */

/* The number of bytes below 128 that begin the text. */
static uint64_t ascii_size(StringView text) {
    uint64_t at = 0;
    for (; text.size - at >= 32; at += 32) {
        uint64_t words[4];
        memcpy(words, text.text + at, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3]) & UINT64_C(0x8080808080808080)) break;
    }
    while (at < text.size && (uint8_t)text.text[at] < 0x80) at++;
    return at;
}

static StringView rest_of(StringView text, uint64_t from, uint64_t size_max) {
    const uint64_t size = text.size - from;
    return (StringView){text.text + from, size < size_max ? size : size_max};
}

static void change_ascii(CaseChange change, StringView from, char *to) {
    const uint8_t first = change == CASE_LOWER ? 'A' : 'a';
    for (uint64_t i = 0; i < from.size; i++) {
        const uint8_t byte = (uint8_t)from.text[i];
        to[i] = (char)(byte ^ ((uint8_t)(byte - first) < 26 ? 0x20 : 0));
    }
}

/* Changes the case of one code point. Returns the number of bytes. */
static size_t change_point(CaseChange change, StringView text, size_t *inout_at, char out[4]) {
    uint32_t point = utf8_next(text.text, inout_at);
    return utf8_put(change == CASE_LOWER ? utf8_to_lower(point) : utf8_to_upper(point), out);
}

static uint64_t changed_size(const State *state, StringView text, KernelStopMeter *meter) {
    char bytes[4];
    uint64_t size = 0;
    if (state->change == CASE_KEEP) return text.size;
    for (size_t at = 0; at < text.size;) {
        const uint64_t run = ascii_size(rest_of(text, at, PIECE_BYTES));
        if (kernel_stop_ends_after(meter, POINT_WORK + run)) break;
        at += run;
        size += run;
        if (run == 0) size += change_point(state->change, text, &at, bytes);
    }
    return size;
}

/* The result has at least one element: an empty one if all were stop words. */
static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const State *state = plan_state(plan);
    int64_t kept = state->stop_count == 0 ? state->count : 0;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count && state->stop_count > 0; i++) {
        bool stops;
        const StringView text = string_tensor_at(cpu_input(launch, 0), state->count, i);
        TRY(is_stop_word(state, text, &meter, &stops));
        kept += !stops;
    }
    out_shapes[0].dims[out_shapes[0].rank - 1] = kept ? kept : 1;
    return NULL;
}

/* All texts as one. */
static StringView whole_text(const State *state, const void *data) {
    if (state->count == 0) return (StringView){NULL, 0};
    const StringView first = string_tensor_at(data, state->count, 0);
    const StringView last = string_tensor_at(data, state->count, state->count - 1);
    return (StringView){first.text, (uint64_t)(last.text + last.size - first.text)};
}

static Error *measure_bytes(
    const Plan *plan, const Launch *launch, const Shape *shapes, uint64_t *out_bytes) {
    const State *state = plan_state(plan);
    KernelStopMeter meter = {0};
    out_bytes[0] = string_tensor_head_bytes(shape_count_unchecked(&shapes[0]));
    if (state->stop_count == 0) {
        const StringView whole = whole_text(state, cpu_input(launch, 0));
        TRY(cpu_strings_add_size(&out_bytes[0], changed_size(state, whole, &meter)));
        return kernel_stop_check();
    }
    for (int64_t i = 0; i < state->count; i++) {
        bool stops;
        StringView text = string_tensor_at(cpu_input(launch, 0), state->count, i);
        TRY(is_stop_word(state, text, &meter, &stops));
        if (!stops) TRY(cpu_strings_add_size(&out_bytes[0], changed_size(state, text, &meter)));
    }
    return kernel_stop_check();
}

MUST_CHECK static Error *write_changed(
    const State *state, StringWriter *writer, StringView text, KernelStopMeter *meter) {
    if (state->change == CASE_KEEP) TRY(cpu_string_write(writer, text, meter));
    for (size_t at = 0; state->change != CASE_KEEP && at < text.size;) {
        char bytes[4];
        const uint64_t run = ascii_size(rest_of(text, at, PIECE_BYTES));
        TRY(kernel_stop_count(meter, POINT_WORK + run));
        if (run > 0) {
            change_ascii(state->change, rest_of(text, at, run), string_writer_skip(writer, run));
            at += run;
            continue;
        }
        const size_t size = change_point(state->change, text, &at, bytes);
        string_writer_add(writer, (StringView){bytes, size});
    }
    string_writer_end(writer);
    return NULL;
}

static Error *launch_normalizer(
    const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    StringWriter writer =
        string_writer_open(cpu_output(launch, 0), shape_count_unchecked(&output_shapes[0]));
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count; i++) {
        bool stops;
        StringView text = string_tensor_at(cpu_input(launch, 0), state->count, i);
        TRY(kernel_stop_count(&meter, POINT_WORK));
        TRY(is_stop_word(state, text, &meter, &stops));
        if (!stops) TRY(write_changed(state, &writer, text, &meter));
    }
    if (writer.index == 0) string_writer_end(&writer);
    return NULL;
}

static void destroy(Plan *plan) {
    State *state = plan_state(plan);
    attributes_release(state->attributes);
    memory_free(state->stops);
    plan_free(plan);
}

static Error *make_stops(State *state) {
    KernelStopMeter meter = {0};
    void *memory;
    size_t slots = 8;
    while (slots < 2 * (size_t)state->stop_count) slots *= 2;
    TRY(memory_alloc(slots, sizeof(uint32_t), &memory));
    state->stops = memory;
    state->stop_mask = slots - 1;
    for (uint32_t i = 0; i < state->stop_count; i++) {
        uint32_t *slot;
        TRY(find_stop(state, stop_word(state, i), &meter, &slot));
        if (*slot == 0) *slot = i + 1;
    }
    return NULL;
}

static Error *plan_string_normalizer(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const char *action = attributes_text(attributes, "case_change_action");
    TRY(plan_create(device, request, "cpu.string_normalizer", sizeof(State), out));
    State *state = plan_state(*out);
    state->count = shape_count_unchecked(&request->inputs[0].shape);
    state->attributes = attributes_retain((Attributes *)(uintptr_t)attributes);
    state->stop_count = attributes_text_count(attributes, "stopwords");
    state->any_case = attributes_int(attributes, "is_case_sensitive") == 0;
    state->change = action[0] == 'L' ? CASE_LOWER : action[0] == 'U' ? CASE_UPPER : CASE_KEEP;
    (*out)->destroy = destroy;
    (*out)->measure = measure;
    (*out)->measure_bytes = measure_bytes;
    (*out)->launch = launch_normalizer;
    Error *error = make_stops(state);
    if (error) {
        plan_release(*out);
        *out = NULL;
    }
    return error;
}

const Kernel cpu_string_normalizer[] = {
    {OPERATOR_STRING_NORMALIZER, DTYPES_STRING, plan_string_normalizer, "cpu.string_normalizer",
        KERNEL_PORTABLE},
    KERNELS_END,
};
