#pragma once
/* The text of kernels/cpu/core/cpu_rules.def with other values in it: nothing else of it changes.
 */
#include "base/text.h"
#include "kernels/cpu/core/cpu_rules.h"

typedef struct TuneTable {
    int64_t version;
    int64_t values[CPU_RULE_COUNT][CPU_RULE_LEVELS];
} TuneTable;

/* The one that this program was built with. */
void tune_table_of_program(TuneTable *out);
/* Appends the text with the table's values in the place of its own, the version raised by one if
 * any is new; the table's version is not looked at. Errors: INVALID not exactly the rows that this
 * program was built with. */
MUST_CHECK Error *tune_table_write(const char *text, const TuneTable *table, TextBuilder *out);
