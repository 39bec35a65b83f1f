#pragma once
/* The steps of the migration protocol (migration_steps.def), and a place where tests stop the
 * process at each step. Called by departure_run.c and route_arrivals.c, on any thread. */
typedef enum MigrationStep {
#define MIGRATION_STEP(name, text, side, meaning) MIGRATION_STEP_##name,
#include "scheduler/migration/migration_steps.def"
#undef MIGRATION_STEP
    MIGRATION_STEP_COUNT
} MigrationStep;

const char *migration_step_name(MigrationStep step);
/* Called when the step is done. If the environment variable LAYOVER_DIE_AFTER_STEP names the step,
 * the process kills itself here as kill -9 would, so that tests can stop at every step. Threads:
 * any. */
void migration_step_done(MigrationStep step);
