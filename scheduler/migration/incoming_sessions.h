#pragma once
/* The sessions of incomings.h: attempts in memory, found by who speaks and of which attempt. What
 * is in use when it ends stays until it is let go. Threads: any. */
#include <pthread.h>

#include "scheduler/control/control.h"
#include "scheduler/migration/incomings.h"
#include "store/chunks/chunk_upload.h"
#include "store/database/digest_set.h"

typedef struct IncomingSession {
    struct IncomingSession *next;
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
} IncomingSession;

typedef struct IncomingSessions {
    pthread_mutex_t mutex;
    IncomingSession *first;
    size_t count;
} IncomingSessions;

void incoming_sessions_init(IncomingSessions *sessions);
/* Nobody uses one any more. */
void incoming_sessions_deinit(IncomingSessions *sessions);

/* Errors: EXHAUSTED INCOMINGS_MAX are there. */
MUST_CHECK Error *incoming_sessions_add(IncomingSessions *sessions, Store *store, uint64_t source,
    const MigrationKey *key, TenantId tenant);
/* Whether one more may be added for that job. One that takes the place of an older attempt needs no
 * more room. Errors: EXHAUSTED. */
MUST_CHECK Error *incoming_sessions_check_room(
    IncomingSessions *sessions, uint64_t source, JobId job);
/* Until it is let go. NULL: there is none. */
IncomingSession *incoming_sessions_find(
    IncomingSessions *sessions, uint64_t source, const MigrationKey *key);
/* Errors: NOT_FOUND. */
MUST_CHECK Error *incoming_sessions_need(IncomingSessions *sessions, uint64_t source,
    const MigrationKey *key, IncomingSession **out_session);
void incoming_sessions_let_go(IncomingSessions *sessions, IncomingSession *session);
/* Ends all attempts at the job by that source, or (key not NULL) this one alone. */
void incoming_sessions_end(
    IncomingSessions *sessions, uint64_t source, JobId job, const MigrationKey *key);
/* Ends those that nobody uses and that were not heard of for so long. */
void incoming_sessions_expire(IncomingSessions *sessions, uint64_t silence_ns);
/* Whether nobody uses it and it was not heard of for so long; also when there is none. */
bool incoming_sessions_is_quiet(
    IncomingSessions *sessions, uint64_t source, const MigrationKey *key, uint64_t silence_ns);
