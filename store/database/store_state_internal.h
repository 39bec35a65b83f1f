#pragma once
/* The inside of the store for the files of store/: the two writers, idle readers, and the lists of
 * things that gc must keep. Threads: any, under these locks.
 *
 * Locks, in the order in which they are taken: sweeping, the catalog's writer, the chunks' writer,
 * pins_mutex, readers_mutex. The catalog's writer guards open_executables. An upload looks up
 * and pins chunks while it holds `sweeping` shared; gc looks at pins and deletes chunks while it
 * holds `sweeping` alone. So gc never deletes a chunk that an upload has found. */
#include <pthread.h>
#include <stdatomic.h>

#include "store/database/connection.h"
#include "store/database/in_flight_internal.h"
#include "store/database/store_types.h"
#include "store/home/home.h"

enum { STORE_IDLE_READERS_MAX = 64 }; /* open idle readers of each database */

/* A writer's lock with tickets: the connection belongs to the thread whose ticket is served. A
 * plain mutex would starve others, since the catalog's thread takes it again at once. */
typedef struct StoreWriter {
    pthread_mutex_t mutex; /* guards the next four fields, briefly */
    pthread_cond_t turn;
    uint64_t last_ticket, serving;
    /* the present holder only copies the log, and stops when another thread asks */
    bool copies_log;
    Connection *connection; /* NULL: there was no write yet */
    /* Commits, counted when they begin, and the number of the last durable one. */
    _Atomic uint64_t commits, durable_commits;
} StoreWriter;

struct Store {
    char *home; /* as given */
    char *path; /* absolute: readers are opened at any time, in any working directory */
    HomeLock lock;
    atomic_bool sync_failed; /* set: every further write is refused */
    _Atomic uint64_t settings_generation;
    StoreWriter writers[DATABASE_COUNT];
    struct LogCopier *log_copier;
    struct RecentChunks *recent_chunks;
    pthread_mutex_t readers_mutex;
    Connection *idle_readers[DATABASE_COUNT];
    int idle_reader_counts[DATABASE_COUNT];
    _Atomic uint64_t released_bytes; /* see gc_estimate_bytes */
    pthread_rwlock_t sweeping;
    pthread_mutex_t pins_mutex;
    struct ChunkPins *pins; /* guarded by pins_mutex; gc reads it while it holds sweeping alone */
    struct StoredExecutable *open_executables;
    struct JobCopy *job_copies; /* guarded by the catalog's writer */
    InFlightTable in_flight;
};
