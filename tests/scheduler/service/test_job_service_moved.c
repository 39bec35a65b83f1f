#include <stdio.h>
#include <string.h>

#include "scheduler/service/job_service_internal.h"
#include "scheduler/migration/owner_link.h"
#include "serialize/arrays/npz.h"
#include "tests/scheduler/job_file_fixtures.h"
#include "tests/scheduler/migration_fixtures.h"
#include "tests/scheduler/stream_fixtures.h"

enum { ROWS = 3 };
static const Caller user = {.tenant = TENANT_DEFAULT, .role = CALLER_USER};

/* The pair's nodes answer with real jobs. */
typedef struct Services {
    MigrationPair *pair;
    JobService *west, *east;
} Services;

static JobService *serve(MigrationNode *node) {
    JobService *service;
    assert_ok(job_service_create(node->home.settings, node->home.catalog, NULL, &service));
    job_service_set_control(service, node->home.control);
    node->service.jobs = job_service_api(service);
    return service;
}

static void services_close(Services *services) {
    job_service_release(services->west);
    job_service_release(services->east);
}
#define OWN_SERVICES(name) __attribute__((cleanup(services_close))) Services name

/* A job that went from west to east and ended there; its name as text. */
static void move_one(Services *services, char name[JOB_ID_TEXT_SIZE], JobId *out_id) {
    MigrationPair *pair = services->pair;
    Job job;
    control_fixture_suspended(
        &pair->west.home, ROWS, true, out_id); /* so that it does not end before */
    MigrationStatus status = migration_move(&pair->west, *out_id, "east");
    if (status.phase != MIGRATION_MOVED) fail_msg("%s", status.error);
    assert_ok(control_resume(pair->east.home.control, TENANT_DEFAULT, *out_id, NULL));
    control_fixture_wait(&pair->east.home, *out_id, JOB_STATE_SUCCEEDED, &job);
    job_id_print(*out_id, name);
}

static void test_job_service_asks_where_a_job_is_now(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    OWN_SERVICES(services) = {pair, serve(&pair->west), serve(&pair->east)};
    JobsApi west = job_service_api(services.west);
    char name[JOB_ID_TEXT_SIZE];
    JobId id;
    JobsApiJob job = {0};
    JobsApiOutputs outputs = {0};
    HttpStream stream = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    ByteWriter OWN_BYTES(bytes) = {0};
    move_one(&services, name, &id);
    assert_ok(west.class_->get(west.self, &user, name, &job));
    assert_string_equal(job.state, "moved");
    assert_string_equal(job.migrating, "east");
    assert_string_equal(job.moved_state, "succeeded");
    assert_int_equal(job.items_done, ROWS);
    assert_ok(west.class_->outputs(west.self, &user, name, 0, &stream, &outputs));
    assert_int_equal(outputs.next, ROWS);
    assert_int_equal(outputs.count, ROWS);
    assert_ok(stream_pull(&stream, NULL, &bytes));
    assert_ok(npz_read(bytes.data, bytes.size, UINT64_MAX, &arrays));
    assert_int_equal(arrays.count, 1);
    assert_string_equal(arrays.items[0].name, "y");
    for (int i = 0; i < ROWS * 2; i++)
        assert_true(((const float *)arrays.items[0].data)[i] == 2 * (float)(i + 1));
    const Caller stranger = {.tenant = 77, .role = CALLER_USER};
    assert_fails(NOT_FOUND, west.class_->get(west.self, &stranger, name, &job));
    assert_fails(NOT_FOUND, west.class_->outputs(west.self, &stranger, name, 0, &stream, &outputs));
    const Caller tired = {.tenant = TENANT_DEFAULT, .role = CALLER_USER, .hops = OWNER_HOPS_MAX};
    assert_fails(INVALID, west.class_->outputs(west.self, &tired, name, 0, &stream, &outputs));
    migration_pair_check(pair);
}

static void test_job_service_says_when_nobody_answers_there(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    OWN_SERVICES(services) = {pair, serve(&pair->west), serve(&pair->east)};
    JobsApi west = job_service_api(services.west);
    char name[JOB_ID_TEXT_SIZE];
    JobId id;
    JobsApiJob job = {0};
    JobsApiOutputs outputs = {0};
    HttpStream stream = {0};
    move_one(&services, name, &id);
    migration_node_hide(&pair->east);
    assert_ok(west.class_->get(west.self, &user, name, &job));
    assert_string_equal(job.state, "moved");
    assert_string_equal(job.moved_state, "");
    assert_fails_saying(
        UNREACHABLE, "east", west.class_->outputs(west.self, &user, name, 0, &stream, &outputs));
    migration_node_show(&pair->east);
    migration_pair_check(pair);
}

/* A file gives its job once among nodes that know each other. */
static void test_job_service_asks_whether_a_file_was_used_elsewhere(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    OWN_SERVICES(services) = {pair, serve(&pair->west), serve(&pair->east)};
    char name[JOB_ID_TEXT_SIZE];
    JobId id;
    bool vouched = true;
    move_one(&services, name, &id);
    assert_fails_saying(CONFLICT, "at node east already",
        job_service_check_elsewhere(services.west, &user, id, 0, &vouched));
    assert_true(vouched); /* as it was */
    assert_ok(job_service_check_elsewhere(services.west, &user, id, 1, &vouched));
    assert_false(vouched); /* it has ended there */
    assert_ok(
        job_service_check_elsewhere(services.west, &user, (JobId){id.node, 999}, 0, &vouched));
    assert_false(vouched);
    migration_node_hide(&pair->east);
    assert_ok(job_service_check_elsewhere(services.west, &user, id, 0, &vouched));
    assert_false(vouched); /* it cannot say */
    migration_node_show(&pair->east);
    migration_pair_check(pair);
}

static Error *add_tenant(Connection *catalog, void *context) {
    return tenants_add(catalog, "stranger", context);
}

/* Who released a job says whose it is; what is another tenant's there is nothing to a user. */
static void test_job_service_asks_who_released_a_job(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    OWN_SERVICES(services) = {pair, serve(&pair->west), serve(&pair->east)};
    JobsApi east = job_service_api(services.east);
    const Caller admin = {.tenant = TENANT_DEFAULT, .role = CALLER_ADMIN};
    Caller stranger = {.role = CALLER_USER};
    const JobsApiCheckpointOptions options = {.release = true};
    char name[JOB_ID_TEXT_SIZE], path[160];
    bool vouched;
    JobId id;
    control_fixture_suspended(&pair->east.home, ROWS, true, &id);
    job_id_print(id, name);
    assert_ok(catalog_run(pair->west.home.catalog, add_tenant, &stranger.tenant));
    assert_ok(job_service_check_elsewhere(services.west, &user, id, 0, &vouched));
    assert_false(vouched); /* it has it still */
    assert_ok(job_service_check_elsewhere(services.west, &admin, id, 0, &vouched));
    assert_true(vouched);
    (void)snprintf(path, sizeof path, "%s/job.lvc", pair->east.home.folder);
    HttpStream stream = {0};
    assert_ok(east.class_->checkpoint(east.self, &user, name, &options, path, &stream));
    assert_ok(job_file_pull(&stream, path));
    assert_ok(job_service_check_elsewhere(services.west, &user, id, 0, &vouched));
    assert_true(vouched);
    assert_ok(job_service_check_elsewhere(services.west, &user, id, 7, &vouched));
    assert_true(vouched); /* it went on since, and came into another file */
    assert_ok(job_service_check_elsewhere(services.west, &stranger, id, 0, &vouched));
    assert_false(vouched);
    move_one(&services, name, &id);
    assert_ok(job_service_check_elsewhere(services.west, &stranger, id, 0, &vouched));
    assert_false(vouched);
    assert_fails_saying(CONFLICT, "at node east already",
        job_service_check_elsewhere(services.west, &admin, id, 0, &vouched));
    migration_pair_check(pair);
}

int test_job_service_moved(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_service_asks_where_a_job_is_now),
        cmocka_unit_test(test_job_service_says_when_nobody_answers_there),
        cmocka_unit_test(test_job_service_asks_whether_a_file_was_used_elsewhere),
        cmocka_unit_test(test_job_service_asks_who_released_a_job),
    };
    return cmocka_run_group_tests_name("job_service_moved", tests, NULL, NULL);
}
