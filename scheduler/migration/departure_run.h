#pragma once
/* The source's side of one migration: an attempt at moving a job, from the first word to the
 * target until that one owns it, or the job goes on here.
 *
 * The steps are the rows of migration_steps.def; what happens at each when a side dies is in
 * docs/migration.md#the-steps. */
#include "scheduler/control/control.h"
#include "scheduler/migration/messages.h"
#include "store/accounts/nodes.h"

typedef struct DepartureRun DepartureRun;

typedef enum MigrationPhase {
    MIGRATION_WAITING, /* others go first */
    MIGRATION_OFFERING,
    MIGRATION_COPYING,  /* while the job runs */
    MIGRATION_STOPPING, /* it does not run any more */
    MIGRATION_MOVING,   /* what changed last, and its owner */
    MIGRATION_MOVED,    /* over, as is the next one */
    MIGRATION_ABORTED,
} MigrationPhase;

const char *migration_phase_name(MigrationPhase phase);

typedef struct MigrationStatus {
    JobId job;
    char node[NODE_NAME_SIZE];
    MigrationPhase phase;
    uint32_t round;                   /* of copying, from 1 on */
    uint64_t bytes_sent;              /* all of it */
    uint64_t round_bytes, round_sent; /* of the present round; bytes 0: not known yet */
    double seconds;
    double downtime_ms; /* from the wish to stop until the target said that it runs; 0: not yet */
    char error[512];    /* why it was given up; "" */
} MigrationStatus;

typedef struct DepartureRunOptions {
    Control *control;  /* borrowed */
    uint64_t own_node; /* this home's number */
    Node target;
    TenantId tenant;
    char tenant_name[TENANT_NAME_SIZE];
    JobId job;
    uint64_t bytes_per_s; /* 0: as fast as it goes */
    /* With a target that does not answer; 0: a minute while the job runs, 15 s while it does not */
    uint32_t patience_ms;
} DepartureRunOptions;

/* Begins the attempt: durable on return. Errors: as departures_begin. */
MUST_CHECK Error *departure_run_create(const DepartureRunOptions *options, DepartureRun **out_run);
/* Not while it runs. */
void departure_run_release(DepartureRun *departure_run);
DEFINE_OWN(DepartureRun, departure_run_release);
/* To its end. After an error the job goes on here, unless it moved and the target does not know
 * yet, or nobody knows: migration_settler.h goes on then. Threads: one. */
void departure_run_perform(DepartureRun *departure_run);
/* Ends it at the next chance, before the job has moved. Threads: any, as the next one. */
void departure_run_cancel(DepartureRun *departure_run);
void departure_run_get_status(DepartureRun *departure_run, MigrationStatus *out_status);
bool migration_is_over(MigrationPhase phase);
