#pragma once
/* All migrations of a daemon: those that go out, those that come in, and those that an earlier
 * process or a cut connection left unsettled.
 *
 *      begin -> threads (departure_run.h) ----------------------------> the target's arrivals
 *      once in a few seconds: departures that nobody works on, and arrivals whose source has not
 *      been heard of, are settled by asking the other side
 */
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
    /* What an operator should know: a job that nobody can settle. Must not wait; NULL: nobody. */
    void (*warn)(void *context, const char *text);
    uint64_t settle_pause_ns; /* between two looks at what is unsettled; 0: 2 s */
    uint32_t patience_ms;     /* of DepartureRunOptions */
} MigrationsOptions;

/* Before the control thread takes up jobs: those whose migration is unsettled are held. A home is
 * then known to run nothing that may run elsewhere. */
MUST_CHECK Error *migrations_hold(Store *store);

MUST_CHECK Error *migrations_create(const MigrationsOptions *options, Migrations **out);
/* Ends what is under way as after a cut connection. */
void migrations_release(Migrations *migrations);
DEFINE_OWN(Migrations, migrations_release);

/* What peers send. Borrowed. */
ArrivalService *migrations_arrivals(Migrations *migrations);

/* Begins to move a job: its attempt is durable on return. node: what it is called here.
 * Errors: NOT_FOUND no such job, or node; CONFLICT its state; EXHAUSTED too many wait. */
MUST_CHECK Error *migrations_begin(Migrations *migrations, TenantId tenant, JobId job,
    const char *node, uint64_t bytes_per_s, MigrationStatus *out_status);
/* The newest attempt of that job that this process knows. False: there is none. */
bool migrations_find(Migrations *migrations, JobId job, MigrationStatus *out_status);

/* Takes a job in doubt though its source has not said that it gave it up: it gets an epoch that
 * fences the source off. Errors: NOT_FOUND; CONFLICT it is not in doubt, or the source answers. */
MUST_CHECK Error *migrations_adopt(Migrations *migrations, TenantId tenant, JobId job);
/* As the source of an adopted job: node has it since that epoch, so it is not ours any more. */
MUST_CHECK Error *migrations_fence(Migrations *migrations, uint64_t node, JobId job, int64_t epoch);
