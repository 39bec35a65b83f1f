#include "kernels/cpu/core/cpu_scan.h"

#include <pthread.h>
#include <stddef.h>

#include "base/spin.h"
#include "kernels/cpu/core/cpu_internal.h"

enum { SCANS_MAX = 32 }; /* more at a time are not shared */

typedef struct Reader {
    struct Reader *next;
    void *context;
    int64_t unclaimed;  /* parts that no thread has begun for this reader */
    int64_t in_flight;  /* parts that a thread computes now */
    bool leaves;        /* no more parts are begun for this reader */
    atomic_bool landed; /* no part is in flight, and none will be begun */
} Reader;

typedef struct Scan {
    const void *weights;
    int64_t parts;
    CpuScanPart *code;
    Reader *readers; /* NULL: the place is unused */
    uint32_t reader_count;
    int64_t next; /* part */
} Scan;

/* guards the variables below, and readers */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t landed = PTHREAD_COND_INITIALIZER; /* some reader has no part in flight */
static Scan scans[SCANS_MAX];

static Error *read_alone(int64_t parts, CpuScanPart *code, void *context) {
    for (int64_t part = 0; part < parts; part++) {
        TRY(kernel_stop_check());
        code(&context, 1, part);
    }
    return NULL;
}

/* Finds the scan that is under way, or begins one. NULL: there is no room. */
static Scan *find_scan(const void *weights, int64_t parts, CpuScanPart *code) {
    Scan *unused = NULL;
    for (Scan *scan = scans; scan < scans + SCANS_MAX; scan++) {
        if (!scan->readers)
            unused = scan;
        else if (scan->weights == weights && scan->parts == parts && scan->code == code &&
                 scan->reader_count < CPU_SCAN_READERS_MAX)
            return scan;
    }
    if (unused) *unused = (Scan){.weights = weights, .parts = parts, .code = code};
    return unused;
}

static void join(Scan *scan, Reader *reader) {
    reader->next = scan->readers;
    scan->readers = reader;
    scan->reader_count++;
}

static void leave(Scan *scan, Reader *reader) {
    Reader **at = &scan->readers;
    while (*at != reader) at = &(*at)->next;
    *at = reader->next;
    scan->reader_count--;
}

/* Reads the next part for all readers that still lack parts. Releases the mutex during the
 * computation. */
static void read_part(Scan *scan) {
    Reader *readers[CPU_SCAN_READERS_MAX];
    void *contexts[CPU_SCAN_READERS_MAX];
    uint32_t count = 0;
    for (Reader *reader = scan->readers; reader; reader = reader->next) {
        if (reader->unclaimed == 0 || reader->leaves) continue;
        reader->unclaimed--;
        reader->in_flight++;
        contexts[count] = reader->context;
        readers[count++] = reader;
    }
    const int64_t part = scan->next;
    scan->next = part + 1 < scan->parts ? part + 1 : 0;
    (void)pthread_mutex_unlock(&mutex);
    scan->code(contexts, count, part);
    (void)pthread_mutex_lock(&mutex);
    bool ended = false;
    for (uint32_t i = 0; i < count; i++) {
        Reader *reader = readers[i];
        if (--reader->in_flight > 0 || (reader->unclaimed > 0 && !reader->leaves)) continue;
        atomic_store_explicit(&reader->landed, true, memory_order_release);
        ended = true;
    }
    if (ended && count > 1) (void)pthread_cond_broadcast(&landed);
}

/* Waits for the parts in flight; no more are begun. A part takes some microseconds. */
static void wait_until_landed(const Reader *reader) {
    if (reader->in_flight == 0) return;
    (void)pthread_mutex_unlock(&mutex);
    (void)spin_until(&reader->landed, spin_limit_ns());
    (void)pthread_mutex_lock(&mutex);
    while (reader->in_flight > 0) (void)pthread_cond_wait(&landed, &mutex);
}

Error *cpu_scan_run(const void *weights, int64_t parts, CpuScanPart *code, void *context) {
    Reader reader = {.context = context, .unclaimed = parts};
    (void)pthread_mutex_lock(&mutex);
    Scan *scan = find_scan(weights, parts, code);
    if (!scan) {
        (void)pthread_mutex_unlock(&mutex);
        return read_alone(parts, code, context);
    }
    join(scan, &reader);
    while (reader.unclaimed > 0 && !reader.leaves) {
        reader.leaves = kernel_stop_leaves();
        if (!reader.leaves) read_part(scan);
    }
    wait_until_landed(&reader);
    leave(scan, &reader);
    const bool whole = reader.unclaimed == 0;
    (void)pthread_mutex_unlock(&mutex);
    return whole ? NULL : error_abandoned();
}
