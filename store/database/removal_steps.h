#pragma once
/* Deleting the rows of something large in steps, each a transaction of a bounded number of rows, so
 * that others write between two steps (removals.h). These run one statement of such a step, in the
 * caller's catalog transaction. */
#include "store/database/statement.h"
#include "store/database/store.h"

enum { REMOVAL_STEP_ROWS = 1024 }; /* deleted in a transaction, about */

/* Runs one whose only parameter is a row's id. */
MUST_CHECK Error *removal_steps_run(Connection *catalog, StatementId id, int64_t row);
/* Runs one that deletes, of what belongs to the row, as many rows of one table as its second
 * parameter says. inout_rows: how many may be deleted; what is left of that. */
MUST_CHECK Error *removal_steps_delete(
    Connection *catalog, StatementId id, int64_t row, uint64_t *inout_rows);
