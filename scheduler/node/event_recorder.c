#include "scheduler/node/event_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/text.h"
#include "base/thread.h"
#include "scheduler/policy/event_log.h"

enum {
    WAKE_AFTER_S = 1,
    WAKE_SIZE = 64 << 10, /* bytes that are worth a write */
    ROOM_SIZE = 256,      /* for one more record and the end */
    TEXT_SIZE = 256,
};

struct EventRecorder {
    EventRecorderOptions options; /* path: owned */
    int descriptor;
    uint64_t written_bytes, written_count; /* whole records; the thread's */
    pthread_t thread;
    bool thread_runs;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t wake;
    EventLogWriter log;
    uint64_t total_bytes; /* recorded, whether written or not */
    uint64_t digest;      /* of the newest event */
    bool ended;           /* nothing is recorded any more */
    bool closing;
    char why[TEXT_SIZE]; /* why the log ended early; "": it did not, or the warning was given */
};

/* ---- recording ---- */

/* Under the mutex. */
static void end_early(EventRecorder *recorder, const char *why) {
    if (recorder->ended) return;
    recorder->ended = true;
    (void)snprintf(recorder->why, sizeof recorder->why, "%s", why);
}

static void count(EventRecorder *recorder, MetricId metric, uint64_t value) {
    if (recorder->options.metrics)
        metrics_add(recorder->options.metrics, metric, 0, (int64_t)value);
}

/* Under the mutex. */
static void record(EventRecorder *recorder, const PolicyEvent *event, uint64_t digest) {
    size_t before = recorder->log.bytes.size;
    event_log_write(&recorder->log, event, digest);
    recorder->digest = digest;
    recorder->total_bytes += recorder->log.bytes.size - before;
    if (recorder->log.bytes.failed)
        end_early(recorder, "there is no memory for it");
    else if (recorder->log.bytes.size > EVENT_RECORDER_BUFFER_MAX)
        end_early(recorder, "the disk is too slow for it");
    else if (recorder->total_bytes + ROOM_SIZE > recorder->options.size_max) {
        event_log_end(&recorder->log, digest);
        end_early(recorder, "it has reached its limit");
    }
}

void event_recorder_record(EventRecorder *recorder, const PolicyEvent *event, uint64_t digest) {
    (void)pthread_mutex_lock(&recorder->mutex);
    bool lost = recorder->ended;
    if (!lost) record(recorder, event, digest);
    if (recorder->log.bytes.size >= WAKE_SIZE || recorder->why[0])
        (void)pthread_cond_signal(&recorder->wake);
    (void)pthread_mutex_unlock(&recorder->mutex);
    if (lost) count(recorder, METRIC_EVENT_LOG_LOST, 1);
}

/* ---- the thread that writes ---- */

static bool write_all(const EventRecorder *recorder, const ByteWriter *bytes) {
    for (size_t done = 0; done < bytes->size;) {
        ssize_t got = write(recorder->descriptor, bytes->data + done, bytes->size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

/* Removes a half written record, so that the file ends with a whole one. */
static void write_some(EventRecorder *recorder, const ByteWriter *bytes, uint64_t count_after) {
    char text[TEXT_SIZE];
    if (bytes->failed || bytes->size == 0) return;
    if (write_all(recorder, bytes)) {
        recorder->written_bytes += bytes->size;
        recorder->written_count = count_after;
        count(recorder, METRIC_EVENT_LOG_BYTES, bytes->size);
        return;
    }
    (void)snprintf(text, sizeof text, "%s", strerror(errno));
    (void)!ftruncate(recorder->descriptor, (off_t)recorder->written_bytes);
    (void)pthread_mutex_lock(&recorder->mutex);
    end_early(recorder, text);
    recorder->log.bytes.size = 0; /* the record would not follow the file's last one */
    uint64_t lost = recorder->log.count - recorder->written_count;
    (void)pthread_mutex_unlock(&recorder->mutex);
    count(recorder, METRIC_EVENT_LOG_LOST, lost);
}

static void say_why(const EventRecorder *recorder, const char *why) {
    char text[TEXT_SIZE + 128];
    (void)snprintf(text, sizeof text, "the event log %.100s ends here: %s; jobs go on unrecorded",
        recorder->options.path, why);
    if (recorder->options.warn) recorder->options.warn(recorder->options.context, text);
}

/* Under the mutex: until there is something to do. */
static void wait_for_work(EventRecorder *recorder) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAKE_AFTER_S;
    while (!recorder->closing && !recorder->why[0] && recorder->log.bytes.size < WAKE_SIZE)
        if (pthread_cond_timedwait(&recorder->wake, &recorder->mutex, &until) == ETIMEDOUT) return;
}

static void *thread_main(void *argument) {
    EventRecorder *recorder = argument;
    ByteWriter OWN_BYTES(taken) = {0};
    bool closing;
    do {
        char why[TEXT_SIZE];
        (void)pthread_mutex_lock(&recorder->mutex);
        wait_for_work(recorder);
        closing = recorder->closing;
        ByteWriter empty = taken;
        empty.size = 0;
        taken = recorder->log.bytes;
        recorder->log.bytes = empty;
        uint64_t count_after = recorder->log.count;
        memcpy(why, recorder->why, sizeof why);
        recorder->why[0] = 0;
        (void)pthread_mutex_unlock(&recorder->mutex);
        write_some(recorder, &taken, count_after);
        if (why[0]) say_why(recorder, why);
    } while (!closing);
    return NULL;
}

/* ---- the file ---- */

static Error *check_old(const char *path, bool *out_there) {
    static const char magic[] = {'L', 'V', 'E', 'V', 'E', 'N', 'T', 'S'};
    char found[sizeof magic];
    struct stat status;
    *out_there = false;
    if (lstat(path, &status) != 0) {
        if (errno == ENOENT) return NULL;
        FAIL(IO, "look at %s: %s", path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) FAIL(REFUSED, "%s is there and no plain file", path);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = descriptor < 0 ? -1 : read(descriptor, found, sizeof found);
    if (descriptor >= 0) (void)close(descriptor);
    if (got < 0) FAIL(IO, "read %s: %s", path, strerror(errno));
    if (got > 0 && (got < (ssize_t)sizeof found || memcmp(found, magic, sizeof magic) != 0))
        FAIL(REFUSED, "%s is there and no event log; name another file", path);
    *out_there = true;
    return NULL;
}

/* FILE becomes FILE.1, that one FILE.2, …; the oldest goes. */
static Error *rotate(const char *path) {
    for (int i = EVENT_RECORDER_KEPT; i >= 1; i--) {
        TextBuilder OWN_TEXT(from) = {0};
        TextBuilder OWN_TEXT(to) = {0};
        text_append(&from, path);
        if (i > 1) text_appendf(&from, ".%d", i - 1);
        text_appendf(&to, "%s.%d", path, i);
        TRY(text_builder_check(&from));
        TRY(text_builder_check(&to));
        if (rename(text_builder_get(&from), text_builder_get(&to)) != 0 && errno != ENOENT)
            FAIL(IO, "rename %s: %s", text_builder_get(&from), strerror(errno));
    }
    return NULL;
}

static Error *open_file(const char *path, int *out_descriptor) {
    bool there;
    TRY(check_old(path, &there));
    if (there) TRY(rotate(path));
    *out_descriptor =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*out_descriptor < 0) FAIL(IO, "make %s: %s", path, strerror(errno));
    return NULL;
}

/* Writes the header at once, so that even the log of a process that dies soon is valid. */
static Error *write_header(EventRecorder *recorder) {
    ByteWriter *bytes = &recorder->log.bytes;
    event_log_begin(&recorder->log);
    TRY(byte_writer_check(bytes));
    if (!write_all(recorder, bytes))
        FAIL(IO, "write %s: %s", recorder->options.path, strerror(errno));
    recorder->total_bytes = recorder->written_bytes = bytes->size;
    bytes->size = 0;
    return NULL;
}

/* ---- life ---- */

static Error *start(EventRecorder *recorder, const EventRecorderOptions *options) {
    char *path;
    recorder->descriptor = -1;
    recorder->options = *options;
    recorder->options.path = NULL;
    (void)pthread_mutex_init(&recorder->mutex, NULL);
    thread_condition_init(&recorder->wake);
    TRY(memory_copy_text(options->path, &path));
    recorder->options.path = path;
    TRY(open_file(path, &recorder->descriptor));
    TRY(write_header(recorder));
    if (!thread_start(&recorder->thread, "event-log", thread_main, recorder))
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    recorder->thread_runs = true;
    return NULL;
}

Error *event_recorder_open(const EventRecorderOptions *options, EventRecorder **out_recorder) {
    void *memory;
    TRY(memory_alloc(1, sizeof(EventRecorder), &memory));
    OWN(EventRecorder, recorder) = memory;
    TRY_WRAP(start(recorder, options), "event log");
    *out_recorder = TAKE(recorder);
    return NULL;
}

void event_recorder_close(EventRecorder *recorder) {
    if (!recorder) return;
    (void)pthread_mutex_lock(&recorder->mutex);
    if (!recorder->ended && recorder->thread_runs) event_log_end(&recorder->log, recorder->digest);
    recorder->ended = recorder->closing = true;
    (void)pthread_cond_signal(&recorder->wake);
    (void)pthread_mutex_unlock(&recorder->mutex);
    if (recorder->thread_runs) (void)pthread_join(recorder->thread, NULL);
    if (recorder->descriptor >= 0) (void)close(recorder->descriptor);
    byte_writer_deinit(&recorder->log.bytes);
    (void)pthread_cond_destroy(&recorder->wake);
    (void)pthread_mutex_destroy(&recorder->mutex);
    memory_free((void *)(uintptr_t)recorder->options.path);
    memory_free(recorder);
}
