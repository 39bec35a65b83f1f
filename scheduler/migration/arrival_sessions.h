#pragma once
/* The sessions of arrivals.h: attempts in memory, found by who speaks and of which attempt. What
 * is in use when it ends stays until it is let go. Threads: any. */
#include <pthread.h>

#include "scheduler/control/control.h"
#include "scheduler/migration/arrival_service.h"
#include "store/chunks/chunk_upload.h"
#include "store/database/digest_set.h"

typedef struct ArrivalSession {
    struct ArrivalSession *next;
    uint32_t users; /* guarded by the list's mutex, as are the next two */
    bool is_over;   /* not in the list any more */
    uint64_t heard_ns;
    MigrationKey key;
    uint64_t source;
    TenantId tenant;
    /* Guards what follows: one message at a time, but that chunks are verified before. */
    pthread_mutex_t mutex;
    ChunkUpload *upload;
    uint64_t bytes;      /* that came */
    ControlArrival *run; /* opened and warm; NULL: not yet, or not any more */
    Digest run_name;
    DigestSet checked; /* inputs and outputs that were decoded */
} ArrivalSession;

typedef struct ArrivalSessions {
    pthread_mutex_t mutex;
    ArrivalSession *first;
    size_t count;
} ArrivalSessions;

void arrival_sessions_init(ArrivalSessions *sessions);
/* Nobody uses one any more. */
void arrival_sessions_deinit(ArrivalSessions *sessions);

/* Errors: EXHAUSTED ARRIVALS_MAX are there. */
MUST_CHECK Error *arrival_sessions_add(ArrivalSessions *sessions, Store *store, uint64_t source,
    const MigrationKey *key, TenantId tenant);
/* Whether one more may be added for that job. One that takes the place of an older attempt needs no
 * more room. Errors: EXHAUSTED. */
MUST_CHECK Error *arrival_sessions_check_room(
    ArrivalSessions *sessions, uint64_t source, JobId job);
/* Until it is let go. NULL: there is none. */
ArrivalSession *arrival_sessions_find(
    ArrivalSessions *sessions, uint64_t source, const MigrationKey *key);
/* Errors: NOT_FOUND. */
MUST_CHECK Error *arrival_sessions_need(ArrivalSessions *sessions, uint64_t source,
    const MigrationKey *key, ArrivalSession **out_session);
void arrival_sessions_let_go(ArrivalSessions *sessions, ArrivalSession *session);
/* Ends all attempts at the job by that source, or (key not NULL) this one alone. */
void arrival_sessions_end(
    ArrivalSessions *sessions, uint64_t source, JobId job, const MigrationKey *key);
/* Ends those that nobody uses and that were not heard of for so long. */
void arrival_sessions_expire(ArrivalSessions *sessions, uint64_t silence_ns);
/* Whether nobody uses it and it was not heard of for so long; also when there is none. */
bool arrival_sessions_is_quiet(
    ArrivalSessions *sessions, uint64_t source, const MigrationKey *key, uint64_t silence_ns);
