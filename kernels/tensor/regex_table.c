/* Makes the table of a pattern: each of its states stands for a set of steps of the program. */
#include "kernels/tensor/regex_table.h"

#include <string.h>

#include "base/allocator.h"
#include "base/utf8.h"

enum { ASCII_COUNT = 128, SPANS_MAX = 1024, CLASSES_MAX = 256, WORK_MAX = 1 << 20 };
#define NO_MATCH SIZE_MAX

/* A state while the table is made: its steps are those that consume a code point, match, or must
 * know the next character. */
typedef struct MadeState {
    size_t begin, end; /* in members */
    RegexBefore before;
    uint64_t hash;
} MadeState;

typedef struct Maker {
    const Regex *regex;
    RegexTable *table;
    uint32_t points[CLASSES_MAX]; /* by class: a code point of it */
    bool *holds;                  /* set * class_count + class */
    bool has_asserts, too_large;
    uint64_t work;
    MadeState *states;
    size_t state_capacity, next_capacity;
    uint32_t *members;
    size_t member_count, member_capacity;
    uint32_t *stack, *seen, round;
} Maker;

void regex_table_release(RegexTable *table) {
    if (!table) return;
    memory_free(table->spans);
    memory_free(table->before);
    memory_free(table->next);
    memory_free(table);
}

static void maker_free(Maker *maker) {
    memory_free(maker->holds);
    memory_free(maker->states);
    memory_free(maker->members);
    memory_free(maker->stack);
    memory_free(maker->seen);
}

static bool works_on(Maker *maker, uint64_t units) {
    maker->work += units;
    if (maker->work > WORK_MAX) maker->too_large = true;
    return !maker->too_large;
}

/* ---- classes ---- */

static void add_span(RegexTable *table, uint32_t first) {
    uint32_t at = table->span_count;
    while (at > 0 && table->spans[at - 1].first > first) at--;
    if (at > 0 && table->spans[at - 1].first == first) return;
    memmove(&table->spans[at + 1], &table->spans[at], (table->span_count - at) * sizeof(RegexSpan));
    table->spans[at] = (RegexSpan){first, 0};
    table->span_count++;
}

/* Cuts the code points where a range begins or ends. The other case of a letter beyond ASCII lies
 * anywhere, so such a pattern has no table. */
static void find_spans(Maker *maker) {
    const Regex *regex = maker->regex;
    add_span(maker->table, ASCII_COUNT);
    for (size_t set = 0; set < regex->set_count; set++)
        for (uint32_t i = regex->sets[set].begin; i < regex->sets[set].end; i++) {
            const RegexRange range = regex->ranges[i];
            if (range.last < ASCII_COUNT) continue;
            if (maker->table->span_count + 2 > SPANS_MAX || regex->sets[set].any_case)
                maker->too_large = true;
            if (!works_on(maker, maker->table->span_count)) return;
            add_span(maker->table, range.first < ASCII_COUNT ? ASCII_COUNT : range.first);
            add_span(maker->table, range.last + 1);
        }
}

static uint32_t element_point(const RegexTable *table, uint32_t element) {
    return element < ASCII_COUNT ? element : table->spans[element - ASCII_COUNT].first;
}
static uint32_t element_class(const RegexTable *table, uint32_t element) {
    return element < ASCII_COUNT ? table->classes[element]
                                 : table->spans[element - ASCII_COUNT].class_;
}
static void set_class(RegexTable *table, uint32_t element, uint32_t class_) {
    if (element < ASCII_COUNT)
        table->classes[element] = (uint16_t)class_;
    else
        table->spans[element - ASCII_COUNT].class_ = class_;
}

static RegexBefore behind(uint32_t point) {
    return point == '\n'          ? REGEX_BEFORE_LINE
           : regex_is_word(point) ? REGEX_BEFORE_WORD
                                  : REGEX_BEFORE_OTHER;
}

/* Cuts each class into those in the set and those that are not. */
static void cut_classes(Maker *maker, const RegexSet *set) {
    RegexTable *table = maker->table;
    uint32_t made[2 * CLASSES_MAX] = {0}, count = 0; /* 1 + the new class */
    for (uint32_t i = 0; i < ASCII_COUNT + table->span_count; i++) {
        const uint32_t point = element_point(table, i);
        uint32_t *class_ =
            &made[element_class(table, i) * 2 + regex_set_holds(maker->regex, set, point)];
        if (!*class_) {
            if (count == CLASSES_MAX - 1) {
                maker->too_large = true;
                return;
            }
            maker->points[count] = point;
            *class_ = ++count;
        }
        set_class(table, i, *class_ - 1);
    }
    table->class_count = count;
}

static Error *find_classes(Maker *maker) {
    const Regex *regex = maker->regex;
    RegexTable *table = maker->table;
    void *memory;
    TRY(memory_alloc(SPANS_MAX, sizeof(RegexSpan), &memory));
    table->spans = memory;
    find_spans(maker);
    static const RegexSet all = {0, 0, true, false};
    for (uint32_t i = 0; i < ASCII_COUNT; i++)
        table->classes[i] = maker->has_asserts ? (uint16_t)behind(i) : 0;
    cut_classes(maker, &all);
    for (size_t i = 0; i < regex->set_count; i++) {
        const uint64_t ranges = regex->sets[i].end - regex->sets[i].begin + UINT64_C(1);
        if (!works_on(maker, ranges * (ASCII_COUNT + table->span_count) / 8)) return NULL;
        cut_classes(maker, &regex->sets[i]);
        if (maker->too_large) return NULL;
    }
    TRY(memory_alloc(table->class_count + 1, 1, &memory));
    table->before = memory;
    for (uint32_t i = 0; i < table->class_count; i++)
        table->before[i] = (uint8_t)behind(maker->points[i]);
    TRY(memory_alloc(regex->set_count * table->class_count + 1, sizeof(bool), &memory));
    maker->holds = memory;
    for (size_t i = 0; i < regex->set_count; i++)
        for (uint32_t j = 0; j < table->class_count; j++)
            maker->holds[i * table->class_count + j] =
                regex_set_holds(regex, &regex->sets[i], maker->points[j]);
    table->class_count++; /* the end of the text */
    return NULL;
}

/* ---- states ---- */

static Error *add_member(Maker *maker, uint32_t step) {
    void *array = maker->members;
    TRY(memory_grow(&array, maker->member_count, &maker->member_capacity, sizeof(uint32_t)));
    maker->members = array;
    maker->members[maker->member_count++] = step;
    return NULL;
}

/* Adds the steps that `first` reaches without a character. around NULL: what depends on the place
 * is added itself. */
static Error *reach(Maker *maker, uint32_t first, const RegexAround *around) {
    uint32_t depth = 0;
    maker->stack[depth++] = first;
    while (depth > 0 && works_on(maker, 1)) {
        const uint32_t at = maker->stack[--depth];
        const RegexStep *step = &maker->regex->steps[at];
        if (maker->seen[at] == maker->round) continue;
        maker->seen[at] = maker->round;
        if (step->op == REGEX_SPLIT) maker->stack[depth++] = at + (uint32_t)step->y;
        if (step->op == REGEX_SPLIT || step->op == REGEX_JUMP)
            maker->stack[depth++] = at + (uint32_t)step->x;
        else if (step->op != REGEX_ASSERT || !around)
            TRY(add_member(maker, at));
        else if (regex_place_holds((RegexPlace)step->x, around))
            maker->stack[depth++] = at + 1;
    }
    return NULL;
}

/* Orders the members from `begin` on; returns whether one depends on the place. */
static bool order_members(Maker *maker, size_t begin) {
    bool has_asserts = false;
    for (size_t i = begin; i < maker->member_count; i++) {
        const uint32_t step = maker->members[i];
        size_t at = i;
        for (; at > begin && maker->members[at - 1] > step; at--)
            maker->members[at] = maker->members[at - 1];
        maker->members[at] = step;
        has_asserts = has_asserts || maker->regex->steps[step].op == REGEX_ASSERT;
        if (!works_on(maker, (i - at) / 8 + 1)) break;
    }
    return has_asserts;
}

/* The state of the members from `begin` on: found among the states, or a new one. */
static Error *find_state(Maker *maker, size_t begin, RegexBefore before, uint32_t *out) {
    if (!order_members(maker, begin)) before = REGEX_BEFORE_OTHER;
    const size_t count = maker->member_count - begin;
    uint64_t hash = before;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ maker->members[begin + i]) * UINT64_C(0x9e3779b97f4a7c15);
    RegexTable *table = maker->table;
    *out = 0;
    if (!works_on(maker, table->state_count / 16 + 1)) return NULL;
    for (; *out < table->state_count; ++*out) {
        const MadeState *state = &maker->states[*out];
        if (state->hash != hash || state->before != before || state->end - state->begin != count ||
            memcmp(&maker->members[state->begin], &maker->members[begin], count * 4) != 0)
            continue;
        maker->member_count = begin;
        return NULL;
    }
    if ((table->state_count + 1) * table->class_count > REGEX_TABLE_ENTRIES_MAX) {
        maker->too_large = true;
        *out = 0;
        return NULL;
    }
    void *array = maker->states;
    TRY(memory_grow(&array, table->state_count, &maker->state_capacity, sizeof(MadeState)));
    maker->states = array;
    maker->states[table->state_count++] = (MadeState){begin, maker->member_count, before, hash};
    return NULL;
}

static RegexAround around_class(const Maker *maker, RegexBefore before, uint32_t class_) {
    const bool end = class_ == maker->table->class_count - 1;
    const RegexBefore next = end ? REGEX_BEFORE_OTHER : (RegexBefore)maker->table->before[class_];
    return (RegexAround){.text_begin = before == REGEX_BEFORE_TEXT,
        .text_end = end,
        .line_begin = before == REGEX_BEFORE_TEXT || before == REGEX_BEFORE_LINE,
        .line_end = end || next == REGEX_BEFORE_LINE,
        .word_before = before == REGEX_BEFORE_WORD,
        .word_behind = next == REGEX_BEFORE_WORD};
}

/* What happens in a state before and behind a character of the class. */
static Error *make_entry(Maker *maker, uint32_t from, uint32_t class_, uint32_t *out) {
    const Regex *regex = maker->regex;
    const MadeState state = maker->states[from];
    const RegexAround around = around_class(maker, state.before, class_);
    const bool end = class_ == maker->table->class_count - 1;
    const size_t begin = maker->member_count;
    bool accepts = false;
    maker->round++;
    for (size_t i = state.begin; i < state.end; i++) TRY(reach(maker, maker->members[i], &around));
    const size_t middle = maker->member_count;
    maker->round++;
    for (size_t i = begin; i < middle; i++) {
        const uint32_t at = maker->members[i];
        const RegexStep *step = &regex->steps[at];
        accepts = accepts || step->op == REGEX_MATCH;
        if (step->op != REGEX_SET || end ||
            !maker->holds[(size_t)step->x * (maker->table->class_count - 1) + class_])
            continue;
        TRY(reach(maker, at + 1, NULL));
    }
    const size_t count = maker->member_count - middle;
    memmove(&maker->members[begin], &maker->members[middle], count * sizeof(uint32_t));
    maker->member_count = begin + count;
    TRY(find_state(maker, begin, end ? 0 : (RegexBefore)maker->table->before[class_], out));
    *out = *out * maker->table->class_count | (accepts ? REGEX_TABLE_ACCEPTS : 0);
    return NULL;
}

static Error *make_states(Maker *maker) {
    RegexTable *table = maker->table;
    uint32_t state;
    TRY(find_state(maker, 0, REGEX_BEFORE_OTHER, &state)); /* the dead one: no members */
    for (uint32_t before = 0; before < REGEX_BEFORE_COUNT; before++) {
        const size_t begin = maker->member_count;
        maker->round++;
        TRY(reach(maker, 0, NULL));
        TRY(find_state(maker, begin, (RegexBefore)before, &state));
        table->starts[before] = state * table->class_count;
    }
    table->one_start = table->starts[REGEX_BEFORE_OTHER] == table->starts[REGEX_BEFORE_WORD] &&
                       table->starts[REGEX_BEFORE_OTHER] == table->starts[REGEX_BEFORE_LINE] &&
                       table->starts[REGEX_BEFORE_OTHER] == table->starts[REGEX_BEFORE_TEXT];
    for (uint32_t i = 0; i < table->state_count && !maker->too_large; i++) {
        void *array = table->next;
        for (uint32_t j = 0; j < table->class_count; j++) {
            const size_t count = (size_t)i * table->class_count + j;
            TRY(memory_grow(&array, count, &maker->next_capacity, sizeof(uint32_t)));
            table->next = array;
            TRY(make_entry(maker, i, j, &state));
            table->next[count] = state;
        }
    }
    return NULL;
}

static Error *make_table(Maker *maker) {
    const Regex *regex = maker->regex;
    void *memory;
    for (size_t i = 0; i < regex->step_count; i++)
        maker->has_asserts = maker->has_asserts || regex->steps[i].op == REGEX_ASSERT;
    TRY(find_classes(maker));
    if (maker->too_large) return NULL;
    TRY(memory_alloc(2 * regex->step_count + 1, sizeof(uint32_t), &memory));
    maker->stack = memory;
    TRY(memory_alloc(regex->step_count, sizeof(uint32_t), &memory));
    maker->seen = memory;
    return make_states(maker);
}

Error *regex_table_create(const Regex *regex, RegexTable **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(RegexTable), &memory));
    OWN(RegexTable, regex_table) = memory;
    Maker maker = {.regex = regex, .table = regex_table};
    Error *error = make_table(&maker);
    maker_free(&maker);
    TRY(error);
    if (!maker.too_large) *out = TAKE(regex_table);
    return NULL;
}

/* ---- search ---- */

static uint32_t span_class(const RegexTable *table, uint32_t point) {
    uint32_t begin = 0, end = table->span_count;
    while (end - begin > 1) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (table->spans[middle].first <= point)
            begin = middle;
        else
            end = middle;
    }
    return table->spans[begin].class_;
}

static inline uint32_t take_class(const RegexTable *table, const char *text, size_t *inout_at) {
    const uint8_t byte = (uint8_t)text[*inout_at];
    if (__builtin_expect(byte >= ASCII_COUNT, 0))
        return span_class(table, utf8_next(text, inout_at));
    *inout_at += 1;
    return table->classes[byte];
}

enum { PIECE_BYTES = 1 << 15, BYTE_WORK = 8 };

/* Follows the matches that begin at *inout_at, up to the place where none is left. Returns false
 * when the kernel is to stop. */
static bool follow(const RegexTable *table, const char *text, size_t size, uint32_t state,
    KernelStopMeter *meter, size_t *inout_at, size_t *out_end) {
    const uint32_t *next = table->next;
    size_t at = *inout_at, end = NO_MATCH;
    for (size_t begin = at; state != REGEX_TABLE_DEAD; begin = at) {
        const size_t piece = size - at < PIECE_BYTES ? size : at + PIECE_BYTES;
        while (at < piece && state != REGEX_TABLE_DEAD) {
            const size_t here = at;
            const uint32_t entry = next[state + take_class(table, text, &at)];
            end = entry & REGEX_TABLE_ACCEPTS ? here : end;
            state = entry & ~(uint32_t)REGEX_TABLE_ACCEPTS;
        }
        if (at == size && state != REGEX_TABLE_DEAD) {
            if (next[state + table->class_count - 1] & REGEX_TABLE_ACCEPTS) end = at;
            state = REGEX_TABLE_DEAD;
        }
        if (kernel_stop_ends_after(meter, (at - begin) * BYTE_WORK)) return false;
    }
    *inout_at = at;
    *out_end = end;
    return true;
}

RegexFound regex_table_search(const RegexTable *table, const char *text, size_t size, size_t from,
    RegexBefore before, KernelStopMeter *meter, size_t *out_begin, size_t *out_end) {
    size_t wasted = 0;
    for (size_t at = from;;) {
        size_t seen = at;
        *out_begin = at;
        if (wasted > size - from + 256) return REGEX_FOUND_TOO_SLOW;
        if (!follow(table, text, size, table->starts[before], meter, &seen, out_end))
            return REGEX_FOUND_NONE;
        if (*out_end != NO_MATCH) return REGEX_FOUND_MATCH;
        if (at == size) return REGEX_FOUND_NONE;
        before = (RegexBefore)table->before[take_class(table, text, &at)];
        if (seen > at) wasted += seen - at;
    }
}
