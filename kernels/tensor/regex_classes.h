#pragma once
/* The named sets of patterns, ASCII as in RE2, each in order. Used by regex_parse.c. Pure: a
 * constant table. */
#include "kernels/tensor/regex_program.h"

typedef struct RegexClass {
    const char *name; /* as written in a pattern; NULL: end of the table */
    bool negated;
    uint32_t range_count;
    RegexRange ranges[4];
} RegexClass;

#define BOTH(name, negated_name, count, ...)                                                       \
    {name, false, count, {__VA_ARGS__}}, {                                                         \
        negated_name, true, count, { __VA_ARGS__ }                                                 \
    }
#define POSIX(name, count, ...) BOTH("[:" name ":]", "[:^" name ":]", count, __VA_ARGS__)

static const RegexClass regex_classes[] = {
    BOTH("\\d", "\\D", 1, {'0', '9'}),
    BOTH("\\s", "\\S", 3, {'\t', '\n'}, {'\f', '\r'}, {' ', ' '}),
    BOTH("\\w", "\\W", 4, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}),
    POSIX("alnum", 3, {'0', '9'}, {'A', 'Z'}, {'a', 'z'}),
    POSIX("alpha", 2, {'A', 'Z'}, {'a', 'z'}),
    POSIX("ascii", 1, {0, 0x7F}),
    POSIX("blank", 2, {'\t', '\t'}, {' ', ' '}),
    POSIX("cntrl", 2, {0, 0x1F}, {0x7F, 0x7F}),
    POSIX("digit", 1, {'0', '9'}),
    POSIX("graph", 1, {'!', '~'}),
    POSIX("lower", 1, {'a', 'z'}),
    POSIX("print", 1, {' ', '~'}),
    POSIX("punct", 4, {'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}),
    POSIX("space", 2, {'\t', '\r'}, {' ', ' '}),
    POSIX("upper", 1, {'A', 'Z'}),
    POSIX("word", 4, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}),
    POSIX("xdigit", 3, {'0', '9'}, {'A', 'F'}, {'a', 'f'}),
    {0},
};
#undef POSIX
#undef BOTH
