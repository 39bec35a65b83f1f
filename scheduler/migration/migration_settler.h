#pragma once
/* Settles migrations that nobody works on any more: after a restart, a cut connection, a lost
 * answer. The source decides; whoever does not know asks.
 *
 *      departure under way:  the target owns the job -> moved; else the attempt is given up
 *      departure moved:      the target is told until it says that it owns the job
 *      arrival prepared:     the source says moved -> ours; aborted -> gone; pending -> later
 *      arrival adopted:      the source is told that it does not own the job any more
 *
 * What cannot be settled because the other node does not answer stays as it is. */
#include "scheduler/migration/arrival_service.h"

typedef struct MigrationSettler MigrationSettler;

typedef struct MigrationSettlerOptions {
    Control *control; /* borrowed, as are all others */
    ArrivalService *arrivals;
    /* Whether a thread works on a departure of that job: it is left alone. */
    bool (*is_worked_on)(void *context, JobId job);
    void *context;
    void (*warn)(void *context, const char *text); /* NULL: nobody is told */
} MigrationSettlerOptions;

MUST_CHECK Error *migration_settler_create(
    const MigrationSettlerOptions *options, MigrationSettler **out_settler);
void migration_settler_release(MigrationSettler *settler);
DEFINE_OWN(MigrationSettler, migration_settler_release);

/* One look at everything. Threads: one, as the others. What fails is tried again the next time. */
void migration_settler_turn(MigrationSettler *settler);
/* As migrations_adopt. Threads: any. */
MUST_CHECK Error *migration_settler_adopt(MigrationSettler *settler, TenantId tenant, JobId job);
/* As the source of an adopted job: it is not ours since that epoch. name: of the node that has it.
 * Threads: any. */
MUST_CHECK Error *migration_settler_fence(
    Control *control, uint64_t node, JobId job, int64_t epoch);
