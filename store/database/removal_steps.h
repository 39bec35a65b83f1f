#pragma once
/* Statements that delete the rows of a large thing in steps. Each step is a transaction with a
 * bounded number of rows, so that others write between two steps (removals.h). Callers: store/jobs,
 * store/models, store/upkeep, in their catalog transactions. */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "store/database/statement.h"
#include "store/database/store.h"

enum { REMOVAL_STEP_ROWS = 1024 }; /* about how many rows one transaction deletes */

/* Runs a statement whose only parameter is a row's id. */
MUST_CHECK Error *removal_steps_run(Connection *catalog, StatementId id, int64_t row);
/* Runs a statement that deletes rows of one table that belong to the row; its second parameter is
 * the number of rows. inout_rows: how many rows may be deleted; the call subtracts the deleted
 * ones. */
MUST_CHECK Error *removal_steps_delete(
    Connection *catalog, StatementId id, int64_t row, uint64_t *inout_rows);
