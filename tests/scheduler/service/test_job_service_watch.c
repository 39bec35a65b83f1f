#include <semaphore.h>
#include <string.h>

#include "tests/scheduler/service_fixtures.h"
#include "tests/scheduler/stream_fixtures.h"

static void wake(void *self) { (void)sem_post(self); }

/* Reads all of a stream as a text. */
static void pull_all(HttpStream *stream, ByteWriter *out) {
    assert_ok(stream_pull(stream, NULL, out));
    byte_write_u8(out, 0);
    assert_ok(byte_writer_check(out));
}

static void test_job_service_watch_tells_everything_to_the_end(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    ByteWriter OWN_BYTES(text) = {0};
    ByteWriter OWN_BYTES(again) = {0};
    HttpStream stream;
    JobsApiJob job;
    service_fixture_init(&fixture);
    const JobsApiClass *api = fixture.api.class_;
    assert_fails(NOT_FOUND, api->watch(fixture.api.self, &fixture.user, "1-2", 0, &stream));
    assert_ok(service_fixture_submit(&fixture, "slow", 3, true, &job));
    assert_fails(NOT_FOUND, api->watch(fixture.api.self, &fixture.stranger, job.job, 0, &stream));
    assert_ok(api->watch(fixture.api.self, &fixture.user, job.job, 0, &stream));
    pull_all(&stream, &text);
    const char *lines = (const char *)text.data;
    assert_non_null(strstr(lines, "\"state\":\"queued\""));
    assert_non_null(strstr(lines, "\"outputs\":3"));
    assert_non_null(strstr(lines, "\"items_done\":3"));
    assert_non_null(strstr(lines, "\"state\":\"succeeded\""));
    /* from the end on there is only how it is */
    assert_ok(api->watch(fixture.api.self, &fixture.user, job.job, 1000, &stream));
    pull_all(&stream, &again);
    assert_null(strstr((const char *)again.data, "\"time\""));
}

/* A watcher that goes away early leaves nothing behind. */
static void test_job_service_watch_may_be_left(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    HttpStream streams[3];
    JobsApiJob job;
    sem_t news;
    service_fixture_init(&fixture);
    (void)sem_init(&news, 0, 0);
    assert_ok(service_fixture_submit(&fixture, "slow", 3, true, &job));
    for (int i = 0; i < 3; i++) {
        assert_ok(
            fixture.api.class_->watch(fixture.api.self, &fixture.user, job.job, 0, &streams[i]));
        streams[i].start(streams[i].self, (HttpWaker){wake, &news});
    }
    streams[1].close(streams[1].self);
    streams[0].close(streams[0].self);
    service_fixture_wait(&fixture, "succeeded", &job);
    streams[2].close(streams[2].self);
    assert_int_equal(sem_trywait(&news), 0);
    (void)sem_destroy(&news);
}

int test_job_service_watch(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_watch_tells_everything_to_the_end),
        cmocka_unit_test(test_job_service_watch_may_be_left),
    };
    return cmocka_run_group_tests_name("job_service_watch", tests, NULL, NULL);
}
