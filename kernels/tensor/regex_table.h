#pragma once
/* The deterministic form of a pattern: a table with one step for each character, for the kernels
 * that search long texts. Made by regex_make_table, read by regex_search. Immutable after making;
 * any number of threads read it. */
#include "kernels/device/kernel_stop.h"
#include "kernels/tensor/regex_program.h"

/* The code points from `first` on, up to the next span, are of one class. */
typedef struct RegexSpan {
    uint32_t first, class_;
} RegexSpan;

enum {
    REGEX_TABLE_DEAD = 0, /* no match can follow */
    REGEX_TABLE_ENTRIES_MAX = 1 << 16,
};
#define REGEX_TABLE_ACCEPTS (UINT32_C(1) << 31)

/* What stands before the place where a match begins. */
typedef enum RegexBefore {
    REGEX_BEFORE_OTHER,
    REGEX_BEFORE_WORD,
    REGEX_BEFORE_LINE,
    REGEX_BEFORE_TEXT,
} RegexBefore;
enum { REGEX_BEFORE_COUNT = REGEX_BEFORE_TEXT + 1 };

struct RegexTable {
    uint16_t classes[128]; /* of ASCII */
    RegexSpan *spans;      /* of the other code points, in order; the first begins at 128 */
    uint32_t span_count;
    uint32_t class_count; /* the last class stands for the end of the text */
    uint8_t *before;      /* by class: the RegexBefore of the place behind such a character */
    /* state_count rows of class_count entries: where the row of the next state begins, with
     * REGEX_TABLE_ACCEPTS where a match ends before the character. */
    uint32_t *next;
    uint32_t starts[REGEX_BEFORE_COUNT];
    bool one_start; /* whatever stands before */
    uint32_t state_count;
};

/* *out stays NULL where the table would be too large or would take too long to make. */
MUST_CHECK Error *regex_table_create(const Regex *regex, RegexTable **out);
void regex_table_release(RegexTable *table);
DEFINE_OWN(RegexTable, regex_table_release);

typedef enum RegexFound {
    REGEX_FOUND_NONE, /* or the kernel is to stop */
    REGEX_FOUND_MATCH,
    REGEX_FOUND_TOO_SLOW, /* from *out_begin on, the other machine is to search */
} RegexFound;
/* As regex_search. before: the character that ends before `from`, if any. */
RegexFound regex_table_search(const RegexTable *table, const char *text, size_t size, size_t from,
    RegexBefore before, KernelStopMeter *meter, size_t *out_begin, size_t *out_end);
