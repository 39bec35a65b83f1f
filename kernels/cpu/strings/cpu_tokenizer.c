/* Tokenizer of com.microsoft: the characters of texts, the parts that match an expression, or what
 * lies between separators. */
#include <string.h>

#include "base/allocator.h"
#include "base/utf8.h"
#include "kernels/cpu/strings/cpu_strings.h"
#include "kernels/tensor/regex.h"

typedef struct State {
    int64_t count;  /* of texts */
    uint64_t least; /* characters of a token */
    bool mark;      /* a token "\2" before a text's tokens, and "\3" behind them */
    bool characters, expression;
    uint32_t pattern_count;
    Regex **patterns;
    size_t scratch_size; /* of the pattern that needs most */
    uint64_t pad_size;
    char pad[];
} State;

/* The tokens of one text after the other: counted, and written where there is a writer. */
typedef struct Tokens {
    const State *state;
    void *scratch;
    StringWriter *writer;
    int64_t count;
    uint64_t bytes;
    KernelStopMeter meter;
} Tokens;

static const StringView mark_begin = {"\2", 1}, mark_end = {"\3", 1};

static Error *add_token(Tokens *tokens, StringView text) {
    tokens->count++;
    TRY(kernel_stop_count(&tokens->meter, 16));
    TRY(cpu_strings_add_size(&tokens->bytes, text.size));
    if (!tokens->writer) return NULL;
    TRY(cpu_string_write(tokens->writer, text, &tokens->meter));
    string_writer_end(tokens->writer);
    return NULL;
}

/* Whether a text has as many characters as a token must have. */
static bool is_long(const State *state, StringView text) {
    size_t at = 0;
    for (uint64_t i = 0; i < state->least; i++) {
        if (at >= text.size) return false;
        (void)utf8_next(text.text, &at);
    }
    return true;
}

static Error *add_characters(Tokens *tokens, StringView text) {
    for (size_t at = 0; at < text.size;) {
        const size_t begin = at;
        (void)utf8_next(text.text, &at);
        TRY(add_token(tokens, (StringView){text.text + begin, at - begin}));
    }
    return NULL;
}

static bool search(Tokens *tokens, uint32_t pattern, StringView text, size_t from,
    size_t *out_begin, size_t *out_end) {
    return regex_search(tokens->state->patterns[pattern], text.text, text.size, from,
        tokens->scratch, &tokens->meter, out_begin, out_end);
}

/* Behind a match that is too short, the search goes on behind the first character. */
static Error *add_matches(Tokens *tokens, StringView text) {
    size_t from = 0, begin, end;
    if (!is_long(tokens->state, text)) return NULL;
    while (search(tokens, 0, text, from, &begin, &end)) {
        const StringView token = {text.text + begin, end - begin};
        from = end;
        if (is_long(tokens->state, token)) {
            TRY(add_token(tokens, token));
            continue;
        }
        if (begin == text.size) break;
        from = begin;
        (void)utf8_next(text.text, &from);
    }
    return kernel_stop_check();
}

/* What lies between the matches of a separator is split by the next ones. The depth is that of the
 * list of separators. */
static Error *add_parts(Tokens *tokens, uint32_t separator, StringView text) {
    size_t from = 0, begin, end;
    if (separator == tokens->state->pattern_count) return add_token(tokens, text);
    for (bool found = true; found;) {
        found = search(tokens, separator, text, from, &begin, &end);
        const StringView part = {text.text + from, (found ? begin : text.size) - from};
        TRY(kernel_stop_check());
        if (is_long(tokens->state, part)) TRY(add_parts(tokens, separator + 1, part));
        if (!found) break;
        from = end;
        if (end > begin) continue;
        if (begin == text.size) break;
        (void)utf8_next(text.text, &from);
    }
    return NULL;
}

static Error *add_text(Tokens *tokens, StringView text) {
    if (tokens->state->characters) return add_characters(tokens, text);
    return tokens->state->expression ? add_matches(tokens, text) : add_parts(tokens, 0, text);
}

static Error *open_tokens(const State *state, StringWriter *writer, Tokens *out) {
    *out = (Tokens){.state = state, .writer = writer};
    return memory_alloc(state->scratch_size + 1, 1, &out->scratch);
}

/* What `measure` leaves in the workspace for measure_bytes. */
typedef struct Totals {
    uint64_t tokens, bytes; /* of all texts, without marks and filling */
} Totals;

static Error *count_most(const Launch *launch, Tokens *tokens, int64_t *out) {
    Totals *totals = cpu_workspace(launch);
    *totals = (Totals){0};
    *out = 0;
    for (int64_t i = 0; i < tokens->state->count; i++) {
        tokens->count = 0;
        TRY(add_text(tokens, string_tensor_at(cpu_input(launch, 0), tokens->state->count, i)));
        if (tokens->count > *out) *out = tokens->count;
        totals->tokens += (uint64_t)tokens->count;
    }
    totals->bytes = tokens->bytes;
    return NULL;
}

static Error *measure(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const State *state = plan_state(plan);
    Tokens tokens;
    int64_t most;
    TRY(open_tokens(state, NULL, &tokens));
    Error *error = count_most(launch, &tokens, &most);
    memory_free(tokens.scratch);
    TRY(error);
    out_shapes[0].dims[out_shapes[0].rank - 1] = most + (most && state->mark ? 2 : 0);
    return NULL;
}

static Error *measure_bytes(
    const Plan *plan, const Launch *launch, const Shape *shapes, uint64_t *out_bytes) {
    const State *state = plan_state(plan);
    const Totals *totals = cpu_workspace(launch);
    const int64_t count = shape_count_unchecked(&shapes[0]);
    uint64_t fills = (uint64_t)count - totals->tokens, filling;
    out_bytes[0] = string_tensor_head_bytes(count);
    if (count == 0) return NULL;
    if (state->mark) {
        fills -= 2 * (uint64_t)state->count;
        TRY(cpu_strings_add_size(&out_bytes[0], 2 * (uint64_t)state->count));
    }
    TRY(cpu_strings_add_size(&out_bytes[0], totals->bytes));
    if (__builtin_mul_overflow(fills, state->pad_size, &filling))
        FAIL(INVALID, "%llu filling tokens of %llu bytes each; shorten pad_value",
            (unsigned long long)fills, (unsigned long long)state->pad_size);
    return cpu_strings_add_size(&out_bytes[0], filling);
}

/* All texts, each with its marks, filled up to `width` tokens. */
static Error *add_rows(const Launch *launch, Tokens *tokens, int64_t width) {
    const State *state = tokens->state;
    for (int64_t i = 0; i < state->count && width; i++) {
        tokens->count = 0;
        if (state->mark) TRY(add_token(tokens, mark_begin));
        TRY(add_text(tokens, string_tensor_at(cpu_input(launch, 0), state->count, i)));
        if (state->mark) TRY(add_token(tokens, mark_end));
        while (tokens->count < width)
            TRY(add_token(tokens, (StringView){state->pad, state->pad_size}));
    }
    return NULL;
}

static Error *launch_tokenizer(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const Shape *shape = &output_shapes[0];
    StringWriter writer = string_writer_open(cpu_output(launch, 0), shape_count_unchecked(shape));
    Tokens tokens;
    TRY(open_tokens(plan_state(plan), &writer, &tokens));
    Error *error = add_rows(launch, &tokens, shape->dims[shape->rank - 1]);
    memory_free(tokens.scratch);
    return error;
}

static void destroy(Plan *plan) {
    State *state = plan_state(plan);
    for (uint32_t i = 0; i < state->pattern_count; i++) regex_release(state->patterns[i]);
    memory_free(state->patterns);
    plan_free(plan);
}

static Error *make_patterns(const Attributes *attributes, State *state) {
    const uint32_t count = state->expression ? 1 : attributes_text_count(attributes, "separators");
    void *memory;
    TRY(memory_alloc(count, sizeof(Regex *), &memory));
    state->patterns = memory;
    for (uint32_t i = 0; i < count; i++) {
        const char *pattern = state->expression ? attributes_text(attributes, "tokenexp")
                                                : attributes_string_at(attributes, "separators", i);
        TRY(regex_create(pattern, &state->patterns[i]));
        state->pattern_count++;
        TRY(regex_make_table(state->patterns[i]));
        const size_t size = regex_search_scratch_size(state->patterns[i]);
        if (size > state->scratch_size) state->scratch_size = size;
    }
    return NULL;
}

static Error *plan_tokenizer(Device *device, const PlanRequest *request, Plan **out) {
    const Attributes *attributes = request->attributes;
    const char *pad = attributes_text(attributes, "pad_value");
    const size_t size = strlen(pad);
    TRY(plan_create(device, request, "cpu.tokenizer", sizeof(State) + size, out));
    State *state = plan_state(*out);
    (*out)->destroy = destroy;
    (*out)->workspace_bytes = sizeof(Totals);
    (*out)->measure = measure;
    (*out)->measure_bytes = measure_bytes;
    (*out)->launch = launch_tokenizer;
    state->count = shape_count_unchecked(&request->inputs[0].shape);
    state->least = (uint64_t)attributes_int(attributes, "mincharnum");
    state->mark = attributes_int(attributes, "mark") != 0;
    state->expression = attributes_has(attributes, "tokenexp");
    state->characters = !state->expression &&
                        attributes_text_count(attributes, "separators") == 1 &&
                        !attributes_string_at(attributes, "separators", 0)[0];
    state->pad_size = size;
    memcpy(state->pad, pad, size);
    return state->characters ? NULL : make_patterns(attributes, state);
}

const Kernel cpu_tokenizer[] = {
    {OPERATOR_TOKENIZER, DTYPES_STRING, plan_tokenizer, "cpu.tokenizer", KERNEL_PORTABLE},
    KERNELS_END,
};
