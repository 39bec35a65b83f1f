#pragma once
/* All migrations of a daemon: departures, arrivals, and those that an earlier process or a cut
 * connection left unsettled. Made by daemon.c; called by the routes of migrations and arrivals
 * (handler threads) and by node_drain.c. Threads: any.
 *
 *      begin -> threads (departure_run.h) ----------------------------> the target's arrivals
 *      every few seconds: departures that no thread works on, and arrivals whose source is silent,
 *      are settled by asking the other side (migration_settler.h) */
#include "scheduler/migration/arrival_service.h"
#include "scheduler/migration/departure_run.h"

typedef struct Migrations Migrations;

enum {
    MIGRATIONS_AT_ONCE = 4,
    MIGRATIONS_WAITING_MAX = 4096,
    MIGRATIONS_REMEMBERED_MAX = 1024, /* that are over */
};

typedef struct MigrationsOptions {
    Control *control;  /* borrowed */
    uint64_t own_node; /* this home's number */
    /* Receives a warning for the operator, for instance of a job that cannot be settled. Must not
     * wait; NULL: no warnings. */
    void (*warn)(void *context, const char *text);
    uint64_t settle_pause_ns; /* between two turns of the settler; 0: 2 s */
    uint32_t patience_ms;     /* of DepartureRunOptions */
} MigrationsOptions;

/* Holds all jobs whose migration is unsettled. Called before the control thread takes up jobs, so
 * that this home runs no job that may run elsewhere. */
MUST_CHECK Error *migrations_hold(Store *store);

MUST_CHECK Error *migrations_create(const MigrationsOptions *options, Migrations **out);
/* Ends running departures as a cut connection would. */
void migrations_release(Migrations *migrations);
DEFINE_OWN(Migrations, migrations_release);

/* The service for messages of peers. Borrowed. */
ArrivalService *migrations_arrivals(Migrations *migrations);

/* Begins to move a job: the attempt is durable on return. node: the target's name in this home.
 * Errors: NOT_FOUND no such job, or node; CONFLICT the job's state; EXHAUSTED too many migrations
 * wait. */
MUST_CHECK Error *migrations_begin(Migrations *migrations, TenantId tenant, JobId job,
    const char *node, uint64_t bytes_per_s, MigrationStatus *out_status);
/* Finds the newest attempt at that job in this process. False: there is none. */
bool migrations_find(Migrations *migrations, JobId job, MigrationStatus *out_status);

/* Takes a job in doubt though its source has not said that it gave the job up: the job gets an
 * epoch that fences the source off. Errors: NOT_FOUND; CONFLICT the job is not in doubt, or the
 * source answers. */
MUST_CHECK Error *migrations_adopt(Migrations *migrations, TenantId tenant, JobId job);
/* Called at the source of an adopted job: node owns the job since that epoch, so this home does not
 * any more. */
MUST_CHECK Error *migrations_fence(Migrations *migrations, uint64_t node, JobId job, int64_t epoch);
