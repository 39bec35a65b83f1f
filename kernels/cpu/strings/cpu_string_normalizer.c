/* StringNormalizer: removes stop words and changes the case of the others. */
#include <string.h>

#include "base/utf8.h"
#include "kernels/cpu/strings/cpu_strings.h"

typedef enum CaseChange { CASE_KEEP, CASE_LOWER, CASE_UPPER } CaseChange;

typedef struct State {
    int64_t count;
    Attributes *attributes; /* retained: holds the stop words */
    uint32_t stop_count;
    bool any_case;
    CaseChange change;
} State;

static bool is_same(const State *state, StringView a, StringView b) {
    if (!state->any_case) return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
    size_t at = 0, other = 0;
    while (at < a.size && other < b.size)
        if (utf8_to_lower(utf8_next(a.text, &at)) != utf8_to_lower(utf8_next(b.text, &other)))
            return false;
    return at == a.size && other == b.size;
}

static bool is_stop_word(const State *state, StringView text) {
    for (uint32_t i = 0; i < state->stop_count; i++) {
        const char *word = attributes_string_at(state->attributes, "stopwords", i);
        if (is_same(state, text, (StringView){word, strlen(word)})) return true;
    }
    return false;
}

/* Work for the meter. Comparing a text with a stop word ends at the first difference. */
enum { POINT_WORK = 16 };
static uint64_t word_work(const State *state) { return 32 * ((uint64_t)state->stop_count + 1); }

/* Changes the case of one code point. Returns the number of bytes. */
static size_t change_point(CaseChange change, StringView text, size_t *inout_at, char out[4]) {
    uint32_t point = utf8_next(text.text, inout_at);
    return utf8_put(change == CASE_LOWER ? utf8_to_lower(point) : utf8_to_upper(point), out);
}

static uint64_t changed_size(const State *state, StringView text, KernelStopMeter *meter) {
    char bytes[4];
    uint64_t size = 0;
    if (state->change == CASE_KEEP) return text.size;
    for (size_t at = 0; at < text.size && !kernel_stop_ends_after(meter, POINT_WORK);)
        size += change_point(state->change, text, &at, bytes);
    return size;
}

/* The result has at least one element: an empty one if all were stop words. */
static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const State *state = plan_state(plan);
    int64_t kept = 0;
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < state->count; i++) {
        TRY(kernel_stop_count(&meter, word_work(state)));
        kept += !is_stop_word(state, string_tensor_at(cpu_input(launch, 0), state->count, i));
    }
    out_shapes[0].dims[out_shapes[0].rank - 1] = kept ? kept : 1;
    return NULL;
}

static Error *measure_bytes(
    const Plan *plan, const Launch *launch, const Shape *shapes, uint64_t *out_bytes) {
    const State *state = plan_state(plan);
    KernelStopMeter meter = {0};
    out_bytes[0] = string_tensor_head_bytes(shape_count_unchecked(&shapes[0]));
    for (int64_t i = 0; i < state->count; i++) {
        TRY(kernel_stop_count(&meter, word_work(state)));
        StringView text = string_tensor_at(cpu_input(launch, 0), state->count, i);
        if (!is_stop_word(state, text))
            TRY(cpu_strings_add_size(&out_bytes[0], changed_size(state, text, &meter)));
    }
    return kernel_stop_check();
}

MUST_CHECK static Error *write_changed(
    const State *state, StringWriter *writer, StringView text, KernelStopMeter *meter) {
    if (state->change == CASE_KEEP) TRY(cpu_string_write(writer, text, meter));
    for (size_t at = 0; state->change != CASE_KEEP && at < text.size;) {
        char bytes[4];
        TRY(kernel_stop_count(meter, POINT_WORK));
        size_t size = change_point(state->change, text, &at, bytes);
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
        StringView text = string_tensor_at(cpu_input(launch, 0), state->count, i);
        TRY(kernel_stop_count(&meter, word_work(state)));
        if (!is_stop_word(state, text)) TRY(write_changed(state, &writer, text, &meter));
    }
    if (writer.index == 0) string_writer_end(&writer);
    return NULL;
}

static void destroy(Plan *plan) {
    State *state = plan_state(plan);
    attributes_release(state->attributes);
    plan_free(plan);
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
    return NULL;
}

const Kernel cpu_string_normalizer[] = {
    {OPERATOR_STRING_NORMALIZER, DTYPES_STRING, plan_string_normalizer, "cpu.string_normalizer",
        KERNEL_PORTABLE},
    KERNELS_END,
};
