#pragma once
/* What the files of this folder share: the two writers, idle readers, and what gc must leave alone.
 *
 * Locks, in the order in which they are taken: sweeping, the catalog's writer, the chunks' writer,
 * pins_mutex, readers_mutex. The catalog's writer guards open_executables. An upload looks for
 * chunks and pins them while it holds sweeping shared, gc looks at pins and deletes chunks while it
 * holds it alone: what an upload has found stays. */
#include <pthread.h>
#include <stdatomic.h>

#include "store/database/connection.h"
#include "store/database/home.h"
#include "store/database/in_flight_internal.h"
#include "store/database/store.h"

enum { STORE_IDLE_READERS_MAX = 64 }; /* kept open for each database */

/* The connection is its holder's whose turn it is. A plain mutex goes to whoever asks at the right
 * moment: the catalog's thread, which takes it again at once, would keep it from everybody else. */
typedef struct StoreWriter {
    pthread_mutex_t mutex; /* guards the next four, for a moment */
    pthread_cond_t turn;
    uint64_t last_ticket, serving;
    bool copies_log;        /* whose turn it is only copies the log, and stops when somebody asks */
    Connection *connection; /* NULL: nobody has written yet */
    /* Commits, counted as they begin, and how many of the first ones are durable. */
    _Atomic uint64_t commits, durable_commits;
} StoreWriter;

struct Store {
    char *home; /* as given */
    char *path; /* absolute: readers are opened at any time, in any working directory */
    HomeLock lock;
    atomic_bool sync_failed; /* refuses every further write */
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
    struct ChunkPins *pins; /* guarded by it; read by gc, which holds sweeping alone */
    struct StoredExecutable *open_executables;
    struct JobCopy *job_copies; /* guarded by the catalog's writer */
    InFlightTable in_flight;
};

/* For whose turn it is: the writer has its connection. */
MUST_CHECK Error *store_open_writer(Store *store, DatabaseKind kind);

/* So many bytes are referred to no more: worth a gc when they have become many. */
void store_note_released(Connection *writer, uint64_t bytes);

/* A reading connection for a moment; OWN(Connection, reader) gives it back. Nothing of it may be
 * running then. */
MUST_CHECK Error *store_borrow_reader(Store *store, DatabaseKind kind, Connection **out_reader);
void store_return_reader(Connection *reader);
DEFINE_OWN(Connection, store_return_reader);
