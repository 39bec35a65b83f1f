#pragma once
/* The compiled program of a pattern, shared by regex.c (matching), regex_parse.c
 * (compiling) and regex_table.c. Immutable after compiling. */
#include <stdint.h>

#include "kernels/tensor/regex.h"

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

/* Whether the code point is in the set. */
bool regex_set_holds(const Regex *regex, const RegexSet *set, uint32_t point);
/* A letter, digit or underscore of ASCII. */
bool regex_is_word(uint32_t point);
bool regex_place_holds(RegexPlace wanted, const RegexAround *around);
