#pragma once
/* The source's side of one migration: an attempt at moving a job, from the offer until the target
 * owns the job or the job continues here. Called by migrations.c, which gives each run a thread.
 *
 * The steps are the rows of migration_steps.def; docs/migration.md#the-steps says for each step
 * what happens when a side dies. */
#include "scheduler/control/control.h"
#include "scheduler/migration/messages.h"
#include "store/accounts/nodes.h"

typedef struct DepartureRun DepartureRun;

typedef enum MigrationPhase {
    MIGRATION_WAITING, /* waits for other migrations */
    MIGRATION_OFFERING,
    MIGRATION_COPYING,  /* copies while the job runs */
    MIGRATION_STOPPING, /* the job does not run any more */
    MIGRATION_MOVING,   /* sends the last changes, then moves the ownership */
    MIGRATION_MOVED,    /* over, as is MIGRATION_ABORTED */
    MIGRATION_ABORTED,
} MigrationPhase;

const char *migration_phase_name(MigrationPhase phase);

typedef struct MigrationStatus {
    JobId job;
    char node[NODE_NAME_SIZE];
    MigrationPhase phase;
    uint32_t round;                   /* of copying, from 1 on */
    uint64_t bytes_sent;              /* in all */
    uint64_t round_bytes, round_sent; /* of the present round; round_bytes 0: not known yet */
    double seconds;
    double downtime_ms; /* from the request to stop until the target said that the job runs; 0:
                         * not yet */
    char error[512];    /* why the attempt was given up; "" */
} MigrationStatus;

typedef struct DepartureRunOptions {
    Control *control;  /* borrowed */
    uint64_t own_node; /* this home's number */
    Node target;
    TenantId tenant;
    char tenant_name[TENANT_NAME_SIZE];
    JobId job;
    uint64_t bytes_per_s; /* upper bound; 0: none */
    /* How long a target may be silent; 0: a minute while the job runs, 15 s while it does not. */
    uint32_t patience_ms;
} DepartureRunOptions;

/* Begins the attempt: durable on return. Errors: as departures_begin. */
MUST_CHECK Error *departure_run_create(const DepartureRunOptions *options, DepartureRun **out_run);
/* Not while departure_run_perform runs. */
void departure_run_release(DepartureRun *departure_run);
DEFINE_OWN(DepartureRun, departure_run_release);
/* Performs the attempt to its end. After an error the job continues here, unless it moved and the
 * target does not know yet, or the outcome is unknown: then migration_settler.h settles it.
 * Threads: one. */
void departure_run_perform(DepartureRun *departure_run);
/* Ends the attempt at the next chance before the job has moved. Threads: any, as
 * departure_run_get_status. */
void departure_run_cancel(DepartureRun *departure_run);
void departure_run_get_status(DepartureRun *departure_run, MigrationStatus *out_status);
bool migration_is_over(MigrationPhase phase);
