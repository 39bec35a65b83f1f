#pragma once
/* The sessions of arriving jobs: attempts at a migration in memory, found by source and attempt.
 * Called by arrival_service.c alone. A session that ends while a thread uses it is freed when that
 * thread calls arrival_sessions_let_go. Threads: any. */
#include <pthread.h>

#include "scheduler/control/control.h"
#include "scheduler/migration/messages.h"
#include "store/chunks/chunk_upload.h"
#include "base/digest_set.h"

enum { ARRIVAL_SESSIONS_MAX = 64 }; /* at once */

typedef struct ArrivalSession {
    struct ArrivalSession *next;
    uint32_t users; /* guarded by the list's mutex, as are is_over and heard_ns */
    bool is_over;   /* the session is not in the list any more */
    uint64_t heard_ns;
    MigrationKey key;
    uint64_t source;
    TenantId tenant;
    /* Guards the members below: one message at a time. Chunks are verified before they take the
     * mutex. */
    pthread_mutex_t mutex;
    ChunkUpload *upload;
    uint64_t bytes;      /* bytes received */
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
/* No thread uses a session any more. */
void arrival_sessions_deinit(ArrivalSessions *sessions);

/* Errors: EXHAUSTED: there are ARRIVAL_SESSIONS_MAX sessions. */
MUST_CHECK Error *arrival_sessions_add(ArrivalSessions *sessions, Store *store, uint64_t source,
    const MigrationKey *key, TenantId tenant);
/* Checks whether a session may be added for that job. A session that replaces an older attempt at
 * the same job needs no more room. Errors: EXHAUSTED. */
MUST_CHECK Error *arrival_sessions_check_room(
    ArrivalSessions *sessions, uint64_t source, const MigrationKey *key);
/* The caller uses the session until arrival_sessions_let_go. NULL: there is none. */
ArrivalSession *arrival_sessions_find(
    ArrivalSessions *sessions, uint64_t source, const MigrationKey *key);
/* As arrival_sessions_find. Errors: NOT_FOUND. */
MUST_CHECK Error *arrival_sessions_need(ArrivalSessions *sessions, uint64_t source,
    const MigrationKey *key, ArrivalSession **out_session);
void arrival_sessions_let_go(ArrivalSessions *sessions, ArrivalSession *session);
/* Ends that attempt's session. */
void arrival_sessions_end(ArrivalSessions *sessions, uint64_t source, const MigrationKey *key);
/* Ends the sessions of all other attempts at the same job by the same source. */
void arrival_sessions_end_others(
    ArrivalSessions *sessions, uint64_t source, const MigrationKey *key);
/* Ends the sessions that no thread uses and whose source has been silent for so long. */
void arrival_sessions_expire(ArrivalSessions *sessions, uint64_t silence_ns);
/* Whether no thread uses the session and its source has been silent for so long; true when there is
 * no session. */
bool arrival_sessions_is_quiet(
    ArrivalSessions *sessions, uint64_t source, const MigrationKey *key, uint64_t silence_ns);
