#pragma once
/* Marks of removed models, and the steps that delete their versions and aliases, in the caller's
 * catalog transaction. models.c sets the marks; removals_run in store/upkeep runs the steps. */
#include "store/database/store.h"

/* Marks a model, which frees its name. model: the model's row. */
MUST_CHECK Error *model_removals_mark(Connection *catalog, int64_t model);
/* Deletes rows of a marked model. Deletes nothing when the budget is used up.
 *
 * inout_rows: about how many rows may be deleted, at most REMOVAL_STEP_ROWS; the call subtracts the
 *             deleted ones. */
MUST_CHECK Error *model_removals_step(Connection *catalog, int64_t model, uint64_t *inout_rows);
