#pragma once
/* Settles migrations that no thread works on any more: after a restart, a cut connection or a lost
 * answer. The source decides; a side that does not know the outcome asks the other. Called by
 * migrations.c, on its settling thread.
 *
 *      departure under way:  the target owns the job -> moved; else the attempt is given up
 *      departure moved:      the target is told until it says that it owns the job
 *      arrival prepared:     the source says moved -> ours; aborted -> gone; pending -> later
 *      arrival adopted:      the source is told that it does not own the job any more
 *
 * A migration whose other node does not answer stays as it is. */
#include "scheduler/migration/arrival_service.h"

typedef struct MigrationSettler MigrationSettler;

typedef struct MigrationSettlerOptions {
    Control *control; /* borrowed, as are all other members */
    ArrivalService *arrivals;
    /* Whether a thread works on a departure of that job; the settler then leaves the job alone. */
    bool (*is_worked_on)(void *context, JobId job);
    void *context;
    void (*warn)(void *context, const char *text); /* NULL: no warnings */
} MigrationSettlerOptions;

MUST_CHECK Error *migration_settler_create(
    const MigrationSettlerOptions *options, MigrationSettler **out_settler);
void migration_settler_release(MigrationSettler *settler);
DEFINE_OWN(MigrationSettler, migration_settler_release);

/* Looks at every unsettled migration once; a migration that cannot be settled is tried again at the
 * next turn. Threads: one. */
void migration_settler_turn(MigrationSettler *settler);
/* As migrations_adopt. Threads: any. */
MUST_CHECK Error *migration_settler_adopt(MigrationSettler *settler, TenantId tenant, JobId job);
/* Called at the source of an adopted job: this home does not own the job since that epoch. node:
 * the number of the node that has the job. Threads: any. */
MUST_CHECK Error *migration_settler_fence(
    Control *control, uint64_t node, JobId job, int64_t epoch);
