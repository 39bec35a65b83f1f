#include "scheduler/node/event_recorder.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "scheduler/policy/event_log.h"
#include "tests/support/test_support.h"

typedef struct Bench {
    char folder[64], path[96];
    Metrics *metrics;
    EventRecorder *recorder;
    pthread_mutex_t mutex;
    int warnings;
    char warning[512];
} Bench;

static void warn(void *context, const char *text) {
    Bench *bench = context;
    (void)pthread_mutex_lock(&bench->mutex);
    bench->warnings++;
    (void)snprintf(bench->warning, sizeof bench->warning, "%s", text);
    (void)pthread_mutex_unlock(&bench->mutex);
}

static int warnings(Bench *bench) {
    (void)pthread_mutex_lock(&bench->mutex);
    int found = bench->warnings;
    (void)pthread_mutex_unlock(&bench->mutex);
    return found;
}

static void bench_init(Bench *bench) {
    *bench = (Bench){0};
    (void)pthread_mutex_init(&bench->mutex, NULL);
    test_folder_create(bench->folder);
    (void)snprintf(bench->path, sizeof bench->path, "%s/events", bench->folder);
    assert_ok(metrics_create(&bench->metrics));
}

static void bench_deinit(Bench *bench) {
    event_recorder_close(bench->recorder);
    metrics_release(bench->metrics);
    test_folder_remove(bench->folder);
    (void)pthread_mutex_destroy(&bench->mutex);
}
#define OWN_BENCH(name) __attribute__((cleanup(bench_deinit))) name

static Error *try_open(Bench *bench, uint64_t size_max) {
    EventRecorderOptions options = {.path = bench->path,
        .size_max = size_max,
        .metrics = bench->metrics,
        .warn = warn,
        .context = bench};
    return event_recorder_open(&options, &bench->recorder);
}

static void close_log(Bench *bench) {
    event_recorder_close(bench->recorder);
    bench->recorder = NULL;
}

static void record(Bench *bench, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; i++)
        event_recorder_record(bench->recorder,
            &(PolicyEvent){.kind = POLICY_EVENT_CHECKPOINTED, .time_ns = i, .job = 3 * i}, 7 * i);
}

/* How many events there are, each as it was recorded; how the log ends. */
static uint64_t read_back(const char *path, EventLogItem *out_end) {
    uint8_t *data;
    size_t size;
    EventLogReader reader;
    uint64_t count = 0;
    assert_ok(file_read(path, 1 << 30, &data, &size));
    assert_ok(event_log_open(data, size, &reader));
    for (;; count++) {
        PolicyEvent event;
        uint64_t digest;
        assert_ok(event_log_read(&reader, &event, &digest, out_end));
        if (*out_end == EVENT_LOG_END && count > 0) assert_int_equal(digest, 7 * (count - 1));
        if (*out_end != EVENT_LOG_EVENT) break;
        assert_true(event.time_ns == count && event.job == 3 * count && digest == 7 * count);
    }
    memory_unmap(data, size);
    return count;
}

static uint64_t read_lost(const Bench *bench) {
    static const char row[] = "\nlayover_event_log_lost_total ";
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_print(bench->metrics, &text));
    const char *at = strstr(text_builder_get(&text), row);
    assert_non_null(at);
    return (uint64_t)strtoull(at + strlen(row), NULL, 10);
}

/* More than fits its buffer once. */
static void test_event_recorder_writes_everything_and_the_end(void **state) {
    (void)state;
    enum { EVENTS = 200000 };
    Bench OWN_BENCH(bench);
    EventLogItem end;
    bench_init(&bench);
    assert_ok(try_open(&bench, EVENT_RECORDER_SIZE_DEFAULT));
    record(&bench, 0, EVENTS);
    close_log(&bench);
    assert_int_equal(read_back(bench.path, &end), EVENTS);
    assert_int_equal(end, EVENT_LOG_END);
    assert_int_equal(warnings(&bench), 0);
    assert_int_equal(read_lost(&bench), 0);
}

static void wait_for_size(const char *path, off_t size_min) {
    const struct timespec pause = {.tv_nsec = 20000000};
    struct stat status = {0};
    for (int i = 0; i < 1000 && status.st_size < size_min; i++) {
        (void)nanosleep(&pause, NULL);
        assert_int_equal(stat(path, &status), 0);
    }
    assert_true(status.st_size >= size_min);
}

/* A killed process leaves what is at most a second old. */
static void test_event_recorder_writes_while_little_comes(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    EventLogItem end;
    bench_init(&bench);
    assert_ok(try_open(&bench, EVENT_RECORDER_SIZE_DEFAULT));
    record(&bench, 0, 3);
    wait_for_size(bench.path, 16 + 3 * 29);
    assert_int_equal(read_back(bench.path, &end), 3);
    assert_int_equal(end, EVENT_LOG_CUT);
}

static void test_event_recorder_ends_at_its_limit(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    EventLogItem end;
    struct stat status;
    bench_init(&bench);
    assert_ok(try_open(&bench, EVENT_RECORDER_SIZE_MIN));
    record(&bench, 0, 10000);
    close_log(&bench);
    assert_int_equal(stat(bench.path, &status), 0);
    assert_true((uint64_t)status.st_size <= EVENT_RECORDER_SIZE_MIN);
    uint64_t kept = read_back(bench.path, &end);
    assert_int_equal(end, EVENT_LOG_END);
    assert_true(kept > 500 && kept < 700);
    assert_int_equal(read_lost(&bench), 10000 - kept);
    assert_int_equal(warnings(&bench), 1);
    assert_non_null(strstr(bench.warning, "limit"));
}

/* Files may have no more bytes: as on a full disk, what is half written goes again. */
static void test_event_recorder_survives_a_full_disk(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    EventLogItem end;
    struct rlimit before, tight;
    bench_init(&bench);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    tight = before;
    tight.rlim_cur = 100000;
    assert_ok(try_open(&bench, EVENT_RECORDER_SIZE_DEFAULT));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    record(&bench, 0, 2500); /* some 70,000 bytes */
    wait_for_size(bench.path, 60000);
    const struct timespec pause = {.tv_nsec = 20000000};
    uint64_t total = 2500;
    for (int i = 0; i < 1000 && warnings(&bench) == 0; i++) {
        record(&bench, total, 500);
        total += 500;
        (void)nanosleep(&pause, NULL);
    }
    record(&bench, total, 10);
    total += 10;
    close_log(&bench);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    uint64_t kept = read_back(bench.path, &end);
    assert_int_equal(end, EVENT_LOG_CUT);
    assert_true(kept > 0 && kept < total);
    assert_int_equal(read_lost(&bench), total - kept);
    assert_int_equal(warnings(&bench), 1);
    assert_non_null(strstr(bench.warning, "File too large"));
}

static void test_event_recorder_keeps_logs_of_runs_before(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    EventLogItem end;
    bench_init(&bench);
    for (uint64_t run = 1; run <= EVENT_RECORDER_KEPT + 3; run++) {
        assert_ok(try_open(&bench, EVENT_RECORDER_SIZE_DEFAULT));
        record(&bench, 0, run);
        close_log(&bench);
    }
    for (uint64_t age = 0; age <= EVENT_RECORDER_KEPT + 1; age++) {
        char path[128];
        (void)snprintf(path, sizeof path, age ? "%s.%d" : "%s", bench.path, (int)age);
        if (age > EVENT_RECORDER_KEPT)
            assert_int_equal(access(path, F_OK), -1);
        else
            assert_int_equal(read_back(path, &end), EVENT_RECORDER_KEPT + 3 - age);
    }
}

/* A name that was mistyped costs nobody his file. */
static void test_event_recorder_leaves_other_files_alone(void **state) {
    (void)state;
    Bench OWN_BENCH(bench);
    uint8_t *data;
    size_t size;
    bench_init(&bench);
    assert_ok(file_write_atomic(bench.path, "precious", 8));
    assert_fails_saying(REFUSED, "no event log", try_open(&bench, EVENT_RECORDER_SIZE_DEFAULT));
    assert_ok(file_read(bench.path, 100, &data, &size));
    assert_true(size == 8 && memcmp(data, "precious", 8) == 0);
    memory_unmap(data, size);
    assert_int_equal(unlink(bench.path), 0);
    assert_int_equal(symlink("elsewhere", bench.path), 0);
    assert_fails_saying(REFUSED, "no plain file", try_open(&bench, EVENT_RECORDER_SIZE_DEFAULT));
    (void)snprintf(bench.path, sizeof bench.path, "%s/nowhere/events", bench.folder);
    assert_fails_saying(IO, "nowhere", try_open(&bench, EVENT_RECORDER_SIZE_DEFAULT));
    assert_null(bench.recorder);
}

int test_event_recorder(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_recorder_writes_everything_and_the_end),
        cmocka_unit_test(test_event_recorder_writes_while_little_comes),
        cmocka_unit_test(test_event_recorder_ends_at_its_limit),
        cmocka_unit_test(test_event_recorder_survives_a_full_disk),
        cmocka_unit_test(test_event_recorder_keeps_logs_of_runs_before),
        cmocka_unit_test(test_event_recorder_leaves_other_files_alone),
    };
    return cmocka_run_group_tests_name("event_recorder", tests, NULL, NULL);
}
