#pragma once
/* The steps of the migration protocol, and a place to stop at each of them in tests. */
typedef enum MigrationStep {
#define MIGRATION_STEP(name, text, side, meaning) MIGRATION_STEP_##name,
#include "scheduler/migration/migration_steps.def"
#undef MIGRATION_STEP
    MIGRATION_STEP_COUNT
} MigrationStep;

const char *migration_step_name(MigrationStep step);
/* The step is done. Where the environment variable LAYOVER_DIE_AFTER_STEP names it, the process
 * kills itself here, as kill -9 would: that is how tests come to every step. Threads: any. */
void migration_step_done(MigrationStep step);
