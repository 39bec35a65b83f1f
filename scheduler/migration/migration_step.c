#include "scheduler/migration/migration_step.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[MIGRATION_STEP_COUNT] = {
#define MIGRATION_STEP(name, text, side, meaning) text,
#include "scheduler/migration/migration_steps.def"
#undef MIGRATION_STEP
};

const char *migration_step_name(MigrationStep step) { return names[step]; }

void migration_step_done(MigrationStep step) {
    const char *last = getenv("LAYOVER_DIE_AFTER_STEP");
    if (last && strcmp(last, names[step]) == 0) (void)raise(SIGKILL);
}
