#include "store/models/model_removals.h"

#include "store/database/removal_steps.h"

Error *model_removals_mark(Connection *catalog, int64_t model) {
    TRY(removal_steps_run(catalog, STATEMENT_MARK_MODEL_REMOVAL, model));
    return removal_steps_run(catalog, STATEMENT_HIDE_MODEL, model);
}

/* A version's aliases go first. */
Error *model_removals_step(Connection *catalog, int64_t model, uint64_t *inout_rows) {
    TRY(removal_steps_delete(catalog, STATEMENT_DELETE_SOME_ALIASES, model, inout_rows));
    TRY(removal_steps_delete(catalog, STATEMENT_DELETE_SOME_VERSIONS, model, inout_rows));
    if (*inout_rows == 0) return NULL; /* rows may be left for the next step */
    --*inout_rows;
    return removal_steps_run(catalog, STATEMENT_DELETE_MODEL, model);
}
