#pragma once
/* The compiled program of a pattern, shared by regex.c (matching), regex_parse.c
 * (compiling) and regex_table.c. Immutable after compiling. */
#include <stdint.h>

#include "base/utf8.h"
typedef struct Regex Regex;

typedef enum RegexOp {
    REGEX_SET,    /* consumes a code point of set x, then continues with the next step */
    REGEX_SPLIT,  /* continues at x and at y */
    REGEX_JUMP,   /* continues at x */
    REGEX_ASSERT, /* continues if RegexPlace x holds */
    REGEX_MATCH,
} RegexOp;

typedef enum RegexPlace {
    REGEX_TEXT_BEGIN,
    REGEX_TEXT_END,
    REGEX_LINE_BEGIN,
    REGEX_LINE_END,
    REGEX_WORD_EDGE,
    REGEX_NO_WORD_EDGE,
} RegexPlace;

/* x and y of splits and jumps are relative to their own step, so that a piece of a program may be
 * moved and copied. */
typedef struct RegexStep {
    RegexOp op;
    int32_t x, y;
} RegexStep;

typedef struct RegexRange {
    uint32_t first, last;
} RegexRange;

typedef struct RegexSet {
    uint32_t begin, end; /* in ranges */
    bool negated, any_case;
} RegexSet;

/* Properties of the position between two characters. */
typedef struct RegexAround {
    bool text_begin, text_end, line_begin, line_end, word_before, word_behind;
} RegexAround;

typedef struct RegexTable RegexTable;

struct Regex {
    RegexTable *table; /* NULL: not made */
    RegexStep *steps;
    RegexRange *ranges;
    RegexSet *sets;
    size_t step_count, step_capacity;
    size_t range_count, range_capacity;
    size_t set_count, set_capacity;
};

/* A letter, digit or underscore of ASCII. */
static inline bool regex_is_word(uint32_t point) {
    return (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') ||
           (point >= 'a' && point <= 'z') || point == '_';
}

static inline bool regex_ranges_hold(const Regex *regex, const RegexSet *set, uint32_t point) {
    for (uint32_t i = set->begin; i < set->end; i++)
        if (point >= regex->ranges[i].first && point <= regex->ranges[i].last) return true;
    return false;
}

/* Whether the code point is in the set. */
static inline bool regex_set_holds(const Regex *regex, const RegexSet *set, uint32_t point) {
    bool holds = regex_ranges_hold(regex, set, point);
    if (!holds && set->any_case)
        holds = regex_ranges_hold(regex, set, utf8_to_lower(point)) ||
                regex_ranges_hold(regex, set, utf8_to_upper(point));
    return holds != set->negated;
}

static inline bool regex_place_holds(RegexPlace wanted, const RegexAround *around) {
    switch (wanted) {
    case REGEX_TEXT_BEGIN:
        return around->text_begin;
    case REGEX_TEXT_END:
        return around->text_end;
    case REGEX_LINE_BEGIN:
        return around->line_begin;
    case REGEX_LINE_END:
        return around->line_end;
    case REGEX_WORD_EDGE:
        return around->word_before != around->word_behind;
    case REGEX_NO_WORD_EDGE:
        break;
    }
    return around->word_before == around->word_behind;
}
