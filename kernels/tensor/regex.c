/* Matching: after each code point, follows all steps that the text may lead to. */
#include "kernels/tensor/regex.h"

#include <string.h>

#include "base/allocator.h"
#include "base/utf8.h"
#include "kernels/tensor/regex_table.h"

void regex_release(Regex *regex) {
    if (!regex) return;
    regex_table_release(regex->table);
    memory_free(regex->steps);
    memory_free(regex->ranges);
    memory_free(regex->sets);
    memory_free(regex);
}

typedef struct Threads {
    uint32_t *steps;  /* steps that wait for a code point, or that match */
    uint64_t *begins; /* where their matches begin; NULL where that is not asked for */
    uint32_t count;
} Threads;

typedef struct Matcher {
    const Regex *regex;
    Threads now, next;
    uint32_t *stack;
    uint32_t *seen; /* by step: the last round that reached it */
    uint32_t round;
} Matcher;

size_t regex_scratch_size(const Regex *regex) {
    /* now, next, seen; the stack holds two for each step */
    return regex->step_count * 5 * sizeof(uint32_t);
}

/* Adds the step, and all steps that it reaches without a code point, each once in a round. */
static void add_thread(
    Matcher *matcher, Threads *threads, uint32_t first, uint64_t begin, const RegexAround *place) {
    uint32_t depth = 0;
    matcher->stack[depth++] = first;
    while (depth > 0) {
        uint32_t at = matcher->stack[--depth];
        const RegexStep *step = &matcher->regex->steps[at];
        if (matcher->seen[at] == matcher->round) continue;
        matcher->seen[at] = matcher->round;
        switch (step->op) {
        case REGEX_SET:
        case REGEX_MATCH:
            if (threads->begins) threads->begins[threads->count] = begin;
            threads->steps[threads->count++] = at;
            break;
        case REGEX_SPLIT:
            matcher->stack[depth++] = at + (uint32_t)step->y;
            matcher->stack[depth++] = at + (uint32_t)step->x;
            break;
        case REGEX_JUMP:
            matcher->stack[depth++] = at + (uint32_t)step->x;
            break;
        case REGEX_ASSERT:
            if (regex_place_holds((RegexPlace)step->x, place)) matcher->stack[depth++] = at + 1;
            break;
        }
    }
}

static RegexAround look_around(const char *text, size_t size, size_t at, uint32_t before) {
    size_t behind_at = at;
    uint32_t behind = at < size ? utf8_next(text, &behind_at) : 0;
    return (RegexAround){.text_begin = at == 0,
        .text_end = at == size,
        .line_begin = at == 0 || before == '\n',
        .line_end = at == size || behind == '\n',
        .word_before = at > 0 && regex_is_word(before),
        .word_behind = at < size && regex_is_word(behind)};
}

static bool has_match(const Matcher *matcher) {
    for (uint32_t i = 0; i < matcher->now.count; i++)
        if (matcher->regex->steps[matcher->now.steps[i]].op == REGEX_MATCH) return true;
    return false;
}

/* Takes the next code point: the threads behind it are in next. Returns the place behind it. */
static RegexAround take_point(Matcher *matcher, const char *text, size_t size, size_t *inout_at) {
    const Regex *regex = matcher->regex;
    const uint32_t point = utf8_next(text, inout_at);
    const RegexAround place = look_around(text, size, *inout_at, point);
    if (++matcher->round == 0) { /* 2^32 code points */
        memset(matcher->seen, 0, regex->step_count * sizeof(uint32_t));
        matcher->round = 1;
    }
    matcher->next.count = 0;
    for (uint32_t i = 0; i < matcher->now.count; i++) {
        const uint32_t step = matcher->now.steps[i];
        const uint64_t begin = matcher->now.begins ? matcher->now.begins[i] : 0;
        if (regex->steps[step].op == REGEX_SET &&
            regex_set_holds(regex, &regex->sets[regex->steps[step].x], point))
            add_thread(matcher, &matcher->next, step + 1, begin, &place);
    }
    return place;
}

static void swap_threads(Matcher *matcher) {
    const Threads passed = matcher->now;
    matcher->now = matcher->next;
    matcher->next = passed;
}

bool regex_matches(const Regex *regex, const char *text, size_t size, void *scratch) {
    uint32_t *memory = scratch;
    size_t steps = regex->step_count, at = 0;
    Matcher matcher = {.regex = regex,
        .now = {memory, NULL, 0},
        .next = {memory + steps, NULL, 0},
        .seen = memory + 2 * steps,
        .stack = memory + 3 * steps,
        .round = 1};
    memset(matcher.seen, 0, steps * sizeof(uint32_t));
    RegexAround place = look_around(text, size, 0, 0);
    add_thread(&matcher, &matcher.now, 0, 0, &place);
    KernelStopMeter meter = {0};
    while (at < size && matcher.now.count > 0) {
        if (kernel_stop_ends_after(&meter, 32 + matcher.now.count * (uint64_t)16)) return false;
        place = take_point(&matcher, text, size, &at);
        swap_threads(&matcher);
    }
    return at == size && has_match(&matcher);
}

size_t regex_search_scratch_size(const Regex *regex) {
    /* begins of now and next come first */
    return regex->step_count * 2 * sizeof(uint64_t) + regex_scratch_size(regex);
}

/* Notes the match that begins first among those that end here, and ends the threads that begin
 * later. Threads that begin first come first. */
static bool find_match(Matcher *matcher, size_t at, size_t *out_begin, size_t *out_end) {
    Threads *now = &matcher->now;
    uint32_t i = 0;
    while (i < now->count && matcher->regex->steps[now->steps[i]].op != REGEX_MATCH) i++;
    if (i == now->count) return false;
    *out_begin = (size_t)now->begins[i];
    *out_end = at;
    while (i < now->count && now->begins[i] == *out_begin) i++;
    now->count = i;
    return true;
}

/* The code point that ends before `at`. */
static uint32_t point_before(const char *text, size_t at) {
    size_t begin = at;
    while (begin > 0 && at - begin < 4 && (text[begin - 1] & 0xc0) == 0x80) begin--;
    if (begin > 0) begin--;
    return utf8_next(text, &begin);
}

/* Follows all matches at once. */
static bool search_threads(const Regex *regex, const char *text, size_t size, size_t from,
    void *scratch, KernelStopMeter *meter, size_t *out_begin, size_t *out_end) {
    const size_t steps = regex->step_count;
    uint64_t *begins = scratch;
    uint32_t *memory = (uint32_t *)(begins + 2 * steps);
    size_t at = from;
    bool found = false;
    Matcher matcher = {.regex = regex,
        .now = {memory, begins, 0},
        .next = {memory + steps, begins + steps, 0},
        .seen = memory + 2 * steps,
        .stack = memory + 3 * steps,
        .round = 1};
    memset(matcher.seen, 0, steps * sizeof(uint32_t));
    RegexAround place = look_around(text, size, at, from > 0 ? point_before(text, from) : 0);
    for (;;) {
        if (kernel_stop_ends_after(meter, 32 + matcher.now.count * (uint64_t)16)) return false;
        if (!found) add_thread(&matcher, &matcher.now, 0, at, &place);
        found = find_match(&matcher, at, out_begin, out_end) || found;
        if (at == size || (found && matcher.now.count == 0)) return found;
        place = take_point(&matcher, text, size, &at);
        swap_threads(&matcher);
    }
}

static RegexBefore before_place(const char *text, size_t at) {
    if (at == 0) return REGEX_BEFORE_TEXT;
    const uint32_t point = point_before(text, at);
    if (point == '\n') return REGEX_BEFORE_LINE;
    return regex_is_word(point) ? REGEX_BEFORE_WORD : REGEX_BEFORE_OTHER;
}

Error *regex_make_table(Regex *regex) {
    if (regex->table) return NULL;
    return regex_table_create(regex, &regex->table);
}

bool regex_search(const Regex *regex, const char *text, size_t size, size_t from, void *scratch,
    KernelStopMeter *meter, size_t *out_begin, size_t *out_end) {
    if (!regex->table)
        return search_threads(regex, text, size, from, scratch, meter, out_begin, out_end);
    const RegexBefore before =
        regex->table->one_start ? REGEX_BEFORE_OTHER : before_place(text, from);
    const RegexFound found =
        regex_table_search(regex->table, text, size, from, before, meter, out_begin, out_end);
    if (found != REGEX_FOUND_TOO_SLOW) return found == REGEX_FOUND_MATCH;
    return search_threads(regex, text, size, *out_begin, scratch, meter, out_begin, out_end);
}
