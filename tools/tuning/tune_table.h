#pragma once
/* Rewrites the text of kernels/cpu/core/cpu_rules.def with other values; the rest stays unchanged.
 * Caller: layover_tune.c. Pure: no state, any thread. */
#include "base/text.h"
#include "kernels/cpu/core/cpu_rules.h"

typedef struct TuneTable {
    int64_t version;
    int64_t values[CPU_RULE_COUNT][CPU_LEVEL_COUNT];
} TuneTable;

/* Returns the table that this program was built with. */
void tune_table_of_program(TuneTable *out);
/* Appends the text with the table's values, and a version raised by one if a value is new; the
 * table's own version is ignored. Errors: INVALID the rows differ from those that this program was
 * built with. */
MUST_CHECK Error *tune_table_write(const char *text, const TuneTable *table, TextBuilder *out);
