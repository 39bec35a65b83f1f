#pragma once
/* What two nodes say to each other of one attempt at moving a job. The steps are those of
 * migration_steps.def (docs/migration.md#the-steps). */
#include "scheduler/http/server/route.h"
#include "store/jobs/jobs.h"
#include "store/accounts/tenants.h"

/* Which attempt: stands in every message. */
typedef struct MigrationKey {
    JobId job;
    int64_t epoch, attempt;
} MigrationKey;

/* OFFERED: before anything is sent. */
typedef struct MigrationOffer {
    MigrationKey key;
    int64_t protocol;
    char tenant[TENANT_NAME_SIZE];
    Digest executable;
    uint64_t bytes; /* stored, of all that the job has; what comes may be a little more */
} MigrationOffer;

typedef struct MigrationOfferAnswer {
    bool has_executable;
} MigrationOfferAnswer;

/* What a target knows of an attempt. */
typedef enum ArrivalAnswer {
    ARRIVAL_UNKNOWN,
    ARRIVAL_OFFERED,
    ARRIVAL_PREPARED,
    ARRIVAL_OWNED, /* it owns the job in a later epoch than the key's, or did */
} ArrivalAnswer;

const char *arrival_answer_name(ArrivalAnswer answer);
bool arrival_answer_find(const char *name, ArrivalAnswer *out);

/* PREPARED: with the manifest of the manifest. */
enum { MIGRATION_MANIFEST_MAX = 256 << 20 };
