#pragma once
/* Marks of removed models, and the steps that delete their versions and aliases: in the caller's
 * catalog transaction. removals_run takes the steps one after the other. */
#include "store/database/store.h"

/* model: its row. From then on its name is free. */
MUST_CHECK Error *model_removals_mark(Connection *catalog, int64_t model);
/* Deletes rows of a marked model; nothing where the budget is used up.
 *
 * inout_rows: how many may be deleted, about, REMOVAL_STEP_ROWS at most; what is left of that. */
MUST_CHECK Error *model_removals_step(Connection *catalog, int64_t model, uint64_t *inout_rows);
