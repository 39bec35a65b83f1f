#include "store/database/log_copier.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/thread.h"
#include "store/database/transaction_lock.h"

enum { COPIER_NICE = 5, WRITE_EVERY_MS = 2 };

struct LogCopier {
    Store *store;
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t wake;
    pthread_t thread;
    bool thread_runs, ending;
    uint64_t log_size; /* bytes that are not copied yet */
    uint64_t last_ns;  /* time of the last commit, or of the last copy's end */
    /* when the log became large, or when the last copy began that did not yield to writers */
    uint64_t since_ns;
};

#define LATE_NS (5 * SECOND_NS)

static uint64_t now_ns(void) { return clock_now_ns(clock_real()); }

/* The end of a pause of a nanosecond for each byte of the log, or of the longest delay. */
static uint64_t due_ns(const LogCopier *copier) {
    uint64_t pause_ns = copier->last_ns + copier->log_size, late_ns = copier->since_ns + LATE_NS;
    return pause_ns < late_ns ? pause_ns : late_ns;
}

static bool is_late(const LogCopier *copier, uint64_t time_ns) {
    return time_ns >= copier->since_ns + LATE_NS;
}

static bool is_large(const LogCopier *copier) {
    return copier->log_size > (uint64_t)database_infos[DATABASE_CHUNKS].log_size_max;
}

/* Checked under the lock: another thread may have written during the wait for it, and the pause
 * would be over. */
static bool is_due(LogCopier *copier, bool *out_late) {
    uint64_t time_ns = now_ns();
    (void)pthread_mutex_lock(&copier->mutex);
    bool due = is_large(copier) && time_ns >= due_ns(copier);
    *out_late = is_late(copier, time_ns);
    (void)pthread_mutex_unlock(&copier->mutex);
    return due;
}

/* ---- writing early ---- */

typedef struct EarlyWriting {
    Connection *connection;
    atomic_bool ending;
    pthread_t thread;
    bool runs;
} EarlyWriting;

static void *write_early(void *argument) {
    EarlyWriting *writing = argument;
    const struct timespec pause = clock_timespec((uint64_t)WRITE_EVERY_MS * MILLISECOND_NS);
    (void)pthread_setname_np(pthread_self(), "log-writer");
    while (!atomic_load(&writing->ending)) {
        connection_write_file(writing->connection);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Without this thread, the sync at the end takes longer, and the writer that waits for the lock
 * waits longer. */
static void begin_writing(EarlyWriting *writing) {
    writing->runs = thread_start(&writing->thread, "write-early", write_early, writing);
}

static void end_writing(EarlyWriting *writing) {
    atomic_store(&writing->ending, true);
    if (writing->runs) (void)pthread_join(writing->thread, NULL);
}

/* ---- copying ---- */

static bool copy_all(Transaction *lock, bool late) {
    EarlyWriting writing = {.connection = lock->connection};
    bool whole;
    if (atomic_load(&lock->store->sync_failed)) return false;
    begin_writing(&writing);
    error_free(transaction_copy_log(lock, !late, &whole)); /* the next pause tries again */
    end_writing(&writing);
    return whole;
}

/* A copy ends early when a reader needs a page of the log or a writer waits; the next pause tries
 * again. */
static void copy(LogCopier *copier) {
    Transaction OWN_TRANSACTION(lock) = transaction_lock(copier->store, DATABASE_CHUNKS);
    bool late;
    if (!is_due(copier, &late)) return;
    bool whole = copy_all(&lock, late);
    (void)pthread_mutex_lock(&copier->mutex);
    copier->last_ns = now_ns();
    if (late) copier->since_ns = copier->last_ns;
    if (whole) copier->log_size = 0;
    (void)pthread_mutex_unlock(&copier->mutex);
}

static void wait_for_pause(LogCopier *copier) {
    struct timespec due = clock_timespec(due_ns(copier));
    (void)pthread_cond_timedwait(&copier->wake, &copier->mutex, &due);
}

static void *thread_main(void *argument) {
    LogCopier *copier = argument;
    (void)pthread_setname_np(pthread_self(), "log");
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), COPIER_NICE); /* for this thread alone */
    (void)pthread_mutex_lock(&copier->mutex);
    while (!copier->ending) {
        if (!is_large(copier)) {
            (void)pthread_cond_wait(&copier->wake, &copier->mutex);
        } else if (now_ns() < due_ns(copier)) {
            wait_for_pause(copier);
        } else {
            (void)pthread_mutex_unlock(&copier->mutex);
            copy(copier);
            (void)pthread_mutex_lock(&copier->mutex);
        }
    }
    (void)pthread_mutex_unlock(&copier->mutex);
    return NULL;
}

/* The thread sleeps while the log is small. Without a thread, the log is copied when it reaches its
 * hard limit or when the database is closed. */
void log_copier_note(LogCopier *copier, uint64_t log_size) {
    uint64_t time_ns = now_ns();
    (void)pthread_mutex_lock(&copier->mutex);
    bool was_large = is_large(copier);
    copier->log_size = log_size;
    copier->last_ns = time_ns;
    if (!was_large) copier->since_ns = time_ns;
    if (is_large(copier) && !copier->thread_runs)
        copier->thread_runs = thread_start(&copier->thread, "log-copier", thread_main, copier);
    if (is_large(copier)) (void)pthread_cond_signal(&copier->wake);
    (void)pthread_mutex_unlock(&copier->mutex);
}

Error *log_copier_open(Store *store, LogCopier **out_copier) {
    LogCopier *copier;
    TRY(memory_alloc(1, sizeof *copier, (void **)&copier));
    copier->store = store;
    (void)pthread_mutex_init(&copier->mutex, NULL);
    thread_condition_init(&copier->wake);
    *out_copier = copier;
    return NULL;
}

void log_copier_close(LogCopier *copier) {
    if (!copier) return;
    (void)pthread_mutex_lock(&copier->mutex);
    copier->ending = true;
    (void)pthread_cond_signal(&copier->wake);
    (void)pthread_mutex_unlock(&copier->mutex);
    if (copier->thread_runs) (void)pthread_join(copier->thread, NULL);
    (void)pthread_cond_destroy(&copier->wake);
    (void)pthread_mutex_destroy(&copier->mutex);
    memory_free(copier);
}
