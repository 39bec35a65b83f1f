#include "scheduler/service/job_service.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/http/server/http_service.h"
#include "scheduler/node/model_loader.h"
#include "store/database/query.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/scheduler/service_fixtures.h"
#include "tests/serialize/memory_npz.h"
#include "vm/assembly/assembly.h"

static Error *count_job(void *context, const JobsApiJob *job) {
    assert_true(job->job[0] && job->model[0] && job->state[0]);
    ++*(size_t *)context;
    return NULL;
}

static Error *count_event(void *context, const JobsApiEvent *event) {
    int64_t *last = context;
    assert_true(event->sequence > *last); /* of outputs in a row the last one is told */
    *last = event->sequence;
    return NULL;
}

static Error *note_checkpoint(void *context, const JobsApiCheckpoint *checkpoint) {
    *(JobsApiCheckpoint *)context = *checkpoint;
    return NULL;
}

static Error *count_device(void *context, const JobsApiDevice *device) {
    assert_true(device->memory_bytes > 0 && device->determinism_class[0]);
    ++*(size_t *)context;
    return NULL;
}

static Error *count_tenant(void *context, const JobsApiTenant *tenant) {
    assert_int_equal(tenant->weight, 1);
    ++*(size_t *)context;
    return NULL;
}

static void test_job_service_follows_a_job(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job, fork;
    JobsApiCheckpoint checkpoint = {0};
    const JobsApiChangeOptions options = {0};
    int64_t last = 0;
    service_fixture_init(&fixture);
    const JobsApiClass *api = fixture.api.class_;
    assert_ok(service_fixture_submit(&fixture, "slow", 60, true, &job));
    assert_string_equal(job.state, "queued");
    service_fixture_wait(&fixture, "running", &job);
    assert_string_equal(job.tenant, "default");
    assert_int_equal(job.items_total, 60);
    assert_ok(
        api->change(fixture.api.self, &fixture.user, job.job, JOBS_API_SUSPEND, &options, &job));
    assert_string_equal(job.state, "suspended");
    assert_ok(api->checkpoints(
        fixture.api.self, &fixture.user, job.job, 0, SIZE_MAX, note_checkpoint, &checkpoint));
    assert_true(checkpoint.id > 0 && checkpoint.bytes > 0);
    assert_ok(
        api->change(fixture.api.self, &fixture.user, job.job, JOBS_API_FORK, &options, &fork));
    assert_string_not_equal(fork.job, job.job);
    assert_ok(
        api->change(fixture.api.self, &fixture.user, job.job, JOBS_API_RESUME, &options, &job));
    service_fixture_wait(&fixture, "succeeded", &job);
    service_fixture_wait(&fixture, "succeeded", &fork);
    assert_true(job.ended && job.device_seconds > 0 && job.finished >= job.started);
    assert_int_equal(fork.outputs, 60);
    assert_ok(
        api->events(fixture.api.self, &fixture.user, job.job, 0, SIZE_MAX, count_event, &last));
    assert_true(last >= 4);
    assert_ok(
        api->change(fixture.api.self, &fixture.user, job.job, JOBS_API_REMOVE, &options, &job));
    assert_fails(NOT_FOUND, api->get(fixture.api.self, &fixture.user, job.job, &job));
}

/* What belongs to another tenant answers as what does not exist; an admin sees everything. */
static void test_job_service_keeps_tenants_apart(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job, other;
    const JobsApiChangeOptions options = {0};
    int64_t last = 0;
    size_t count = 0;
    service_fixture_init(&fixture);
    const JobsApiClass *api = fixture.api.class_;
    void *self = fixture.api.self;
    assert_ok(service_fixture_submit(&fixture, "four", 1, false, &job));
    service_fixture_wait(&fixture, "succeeded", &job);
    const Caller *stranger = &fixture.stranger;
    assert_fails(NOT_FOUND, api->get(self, stranger, job.job, &other));
    assert_fails(NOT_FOUND, api->events(self, stranger, job.job, 0, SIZE_MAX, count_event, &last));
    for (int change = JOBS_API_SUSPEND; change <= JOBS_API_REMOVE; change++)
        assert_fails(NOT_FOUND,
            api->change(self, stranger, job.job, (JobsApiChange)change, &options, &other));
    assert_ok(api->list(self, stranger, NULL, 0, SIZE_MAX, count_job, &count));
    assert_int_equal(count, 0);
    assert_ok(api->get(self, &fixture.admin, job.job, &other));
    assert_fails(NOT_FOUND, api->get(self, &fixture.admin, "nonsense", &other));
    assert_ok(api->tenants(self, stranger, "", SIZE_MAX, count_tenant, &count));
    assert_int_equal(count, 1);
    assert_ok(api->tenants(self, &fixture.admin, "", SIZE_MAX, count_tenant, &count));
    assert_int_equal(count, 3);
}

static Error *note_place(void *context, const JobsApiJob *job) {
    *(int64_t *)context = job->place;
    return NULL;
}

/* Each page begins behind the one before; what another state hides does not count. */
static void test_job_service_lists_in_pages(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob first, second;
    int64_t places[3] = {0}, event = 0;
    service_fixture_init(&fixture);
    const JobsApiClass *api = fixture.api.class_;
    void *self = fixture.api.self;
    assert_ok(service_fixture_submit(&fixture, "four", 1, false, &first));
    service_fixture_wait(&fixture, "succeeded", &first);
    assert_ok(service_fixture_submit(&fixture, "fails", 1, false, &second));
    service_fixture_wait(&fixture, "failed", &second);
    assert_ok(api->list(self, &fixture.user, NULL, 0, 1, note_place, &places[0]));
    assert_int_equal(places[0], first.place);
    assert_ok(api->list(self, &fixture.user, NULL, places[0], 1, note_place, &places[1]));
    assert_int_equal(places[1], second.place);
    assert_true(places[1] > places[0]);
    assert_ok(api->list(self, &fixture.user, NULL, places[1], 1, note_place, &places[2]));
    assert_int_equal(places[2], 0);
    assert_ok(api->list(self, &fixture.user, "failed", 0, 1, note_place, &places[2]));
    assert_int_equal(places[2], second.place);
    assert_ok(api->events(self, &fixture.user, second.job, 0, 1, count_event, &event));
    assert_int_equal(event, 1);
    assert_ok(api->events(self, &fixture.user, second.job, 1, SIZE_MAX, count_event, &event));
    assert_int_equal(event, second.last_event);
}

static void test_job_service_lists_by_state(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    JobsApiJob job, endless;
    size_t count = 0;
    service_fixture_init(&fixture);
    const JobsApiClass *api = fixture.api.class_;
    assert_ok(service_fixture_submit(&fixture, "fails", 1, false, &job));
    service_fixture_wait(&fixture, "failed", &job);
    assert_non_null(strstr(job.why, "no luck"));
    assert_ok(service_fixture_submit(&fixture, "forever", 1, false, &endless));
    service_fixture_wait(&fixture, "running", &endless);
    assert_ok(
        api->list(fixture.api.self, &fixture.user, "running", 0, SIZE_MAX, count_job, &count));
    assert_int_equal(count, 1);
    assert_ok(api->list(fixture.api.self, &fixture.user, "failed", 0, SIZE_MAX, count_job, &count));
    assert_int_equal(count, 2);
    assert_ok(api->list(fixture.api.self, &fixture.user, "queued", 0, SIZE_MAX, count_job, &count));
    assert_int_equal(count, 2);
    assert_fails(INVALID,
        api->list(fixture.api.self, &fixture.user, "lost", 0, SIZE_MAX, count_job, &count));
    assert_ok(api->devices(fixture.api.self, &fixture.user, count_device, &count));
    assert_int_equal(count, 4);
}

/* A model whose identity no other test changes. */
static void register_sum(ServiceFixture *fixture) {
    static const char text[] = "primitive %add = Add\n"
                               "function sum(a: float32[n, 2], b: float32[n, 2]) -> (y: any) "
                               "exported {\n"
                               "    InvokePacked %add r0, r1 -> r2\n"
                               "    Ret r2\n"
                               "}\n"
                               "function main(a: float32[n, 2]) -> (y: any) exported {\n"
                               "    Ret r0\n"
                               "}\n";
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    assert_ok(assembly_parse(text, sizeof text - 1, &executable));
    assert_ok(model_loader_register(
        fixture->node.store, TENANT_DEFAULT, NULL, "sum", executable, NULL, 0, &version));
}

/* As a client sends it. */
static Error *post(ServiceFixture *fixture, const char *policy, const ByteWriter *inputs) {
    static const char boundary[] = "multipart/form-data; boundary=cut";
    HttpService service = {.jobs = fixture->api};
    HttpResponse OWN_RESPONSE(response);
    ByteWriter OWN_BYTES(body) = {0};
    HttpRequest OWN_REQUEST(request) = {.caller = fixture->user};
    char head[256];
    int size = snprintf(
        head, sizeof head, "--cut\r\ncontent-disposition: form-data; name=\"policy\"\r\n\r\n");
    byte_write_bytes(&body, head, (size_t)size);
    byte_write_bytes(&body, policy, strlen(policy));
    size = snprintf(
        head, sizeof head, "\r\n--cut\r\ncontent-disposition: form-data; name=\"inputs\"\r\n\r\n");
    byte_write_bytes(&body, head, (size_t)size);
    byte_write_bytes(&body, inputs->data, inputs->size);
    byte_write_bytes(&body, "\r\n--cut--\r\n", 11);
    request.body = body.data;
    request.body_size = body.size;
    memcpy(request.content_type, boundary, sizeof boundary);
    http_response_init(&response);
    return route_job_submit(&service, &request, &response);
}

typedef struct KeyedRequest {
    const char *key;
    Digest digest;
} KeyedRequest;

static Error *read_request(Connection *catalog, void *context) {
    KeyedRequest *request = context;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_JOB_BY_KEY);
    bool found;
    query_bind_i64(&query, 1, TENANT_DEFAULT);
    query_bind_text(&query, 2, request->key);
    TRY(query_next(&query, &found));
    assert_true(found);
    return query_digest(&query, 2, &request->digest);
}

static void expect_digest(ServiceFixture *fixture, const char *key, const char *digest) {
    KeyedRequest request = {.key = key};
    char text[DIGEST_TEXT_SIZE];
    assert_ok(catalog_run(fixture->node.catalog, read_request, &request));
    digest_print(&request.digest, text);
    assert_string_equal(text, digest);
}

/* A client may send the same request with its key to a newer version: the digest must be the one
 * that an older version stored. A golden value changes only with the executable's format. */
static void test_job_service_digests_requests_as_before(void **state) {
    (void)state;
    ServiceFixture OWN_SERVICE(fixture);
    ArrayList OWN_ARRAYS(both) = {0};
    ByteWriter OWN_BYTES(two) = {0};
    ByteWriter OWN_BYTES(one) = {0};
    service_fixture_init(&fixture);
    register_sum(&fixture);
    fixture_add_floats(&both, "a", &(Shape){2, {3, 2}}, 1);
    fixture_add_floats(&both, "b", &(Shape){2, {1, 2}}, 7);
    stored_npz(&both, &two);
    service_fixture_inputs(3, &one);
    assert_ok(post(&fixture,
        "{\"model\":\"sum@1\",\"function\":\"sum\",\"items\":true,\"batch\":1,"
        "\"shared\":[\"b\"],\"priority\":\"low\",\"weight\":3,\"deadline\":1000,"
        "\"checkpoint_every\":60.5,\"checkpoint_keep\":2,\"release\":\"checkpoint\","
        "\"device\":\"cpu\",\"key\":\"batch\",\"threads\":2,\"check_finite\":true}",
        &two));
    assert_ok(post(&fixture,
        "{\"model\":\"sum\",\"key\":\"single\",\"suspend_after\":7,\"suspend_after_ms\":50000}",
        &one));
    assert_ok(post(&fixture, "{\"model\":\"sum\",\"key\":\"plain\",\"priority\":\"high\"}", &one));
    expect_digest(
        &fixture, "batch", "d6bf24ae17fc730067f10af13d67fc6de1c756269eda6f94e2ccd339ade64dc0");
    expect_digest(
        &fixture, "single", "b3c10f6b80342f3ab091700737dee891a0bdc1d0541365efafc934cf7dc8c24c");
    expect_digest(
        &fixture, "plain", "7981901d2e8cd90ed0e7a8c728c6c373d367eafe997f91096e79d32fefd572ae");
    /* the same again is the same; the deadline is no part of it, all else is */
    assert_ok(post(&fixture,
        "{\"model\":\"sum@1\",\"key\":\"plain\",\"priority\":\"high\",\"deadline\":5}", &one));
    assert_fails(CONFLICT, post(&fixture, "{\"model\":\"sum\",\"key\":\"plain\"}", &one));
    assert_fails(CONFLICT,
        post(&fixture, "{\"model\":\"sum\",\"key\":\"plain\",\"priority\":\"high\",\"threads\":1}",
            &one));
}

int test_job_service(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_follows_a_job),
        cmocka_unit_test(test_job_service_keeps_tenants_apart),
        cmocka_unit_test(test_job_service_lists_in_pages),
        cmocka_unit_test(test_job_service_lists_by_state),
        cmocka_unit_test(test_job_service_digests_requests_as_before),
    };
    return cmocka_run_group_tests_name("job_service", tests, NULL, NULL);
}
