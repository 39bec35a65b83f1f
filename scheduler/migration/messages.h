#pragma once
/* The messages of two nodes about one attempt at moving a job, as plain data. Included by both
 * sides (departure_run.h, arrival_service.h, target_link.h). The steps are those of
 * migration_steps.def (docs/migration.md#the-steps). Pure: no state. */
#include "scheduler/http/server/route.h"
#include "store/jobs/jobs.h"
#include "store/accounts/tenants.h"

/* The attempt that a message is about; stands in every message. */
typedef struct MigrationKey {
    JobId job;
    int64_t epoch, attempt;
} MigrationKey;

/* Step OFFERED: comes before any chunk. */
typedef struct MigrationOffer {
    MigrationKey key;
    int64_t protocol;
    char tenant[TENANT_NAME_SIZE];
    Digest executable;
    uint64_t bytes; /* stored bytes of the whole job; the bytes that are sent may be a little
                     * more */
} MigrationOffer;

typedef struct MigrationOfferAnswer {
    bool has_executable;
} MigrationOfferAnswer;

/* What a target knows of an attempt. */
typedef enum ArrivalAnswer {
    ARRIVAL_UNKNOWN,
    ARRIVAL_OFFERED,
    ARRIVAL_PREPARED,
    ARRIVAL_OWNED, /* the target owns, or owned, the job in a later epoch than the key's */
} ArrivalAnswer;

const char *arrival_answer_name(ArrivalAnswer answer);
bool arrival_answer_find(const char *name, ArrivalAnswer *out);

/* Step PREPARED: upper bound on the manifest's bytes. */
enum { MIGRATION_MANIFEST_MAX = 256 << 20 };
