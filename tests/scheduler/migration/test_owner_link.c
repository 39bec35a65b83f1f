#include <stdio.h>
#include <string.h>

#include "scheduler/service/job_service.h"
#include "scheduler/migration/node_link.h"
#include "scheduler/migration/owner_link.h"
#include "serialize/arrays/npz.h"
#include "tests/scheduler/migration_fixtures.h"
#include "tests/scheduler/stream_fixtures.h"

static HttpClient *open_link(const MigrationNode *node) {
    HttpClient *client;
    Node entry = {.node = node->number};
    (void)snprintf(entry.url, sizeof entry.url, "%s", node->url);
    (void)snprintf(entry.token, sizeof entry.token, "%s", node->token);
    assert_ok(node_link_open(&entry, &client));
    return client;
}

static void test_owner_link_asks_about_jobs_and_fetches_outputs(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    OWN(JobService, service) = NULL;
    OwnedJob there;
    JobId id;
    Job job;
    int64_t next;
    OWN(PassedAnswers, passed) = NULL;
    HttpStream stream = {0};
    ByteWriter OWN_BYTES(bytes) = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    MigrationNode *east = &pair->east;
    assert_ok(passed_answers_create(&passed));
    assert_ok(job_service_create(east->home.settings, east->home.catalog, NULL, &service));
    job_service_set_control(service, east->home.control);
    east->service.jobs = job_service_api(service);
    OWN(HttpClient, link) = open_link(east);
    assert_ok(control_fixture_submit(&east->home, "four", 2, true, NULL, &id));
    control_fixture_wait(&east->home, id, JOB_STATE_SUCCEEDED, &job);
    assert_ok(owner_link_get(link, id, 0, &there));
    assert_string_equal(there.tenant, "default");
    assert_string_equal(there.state, "succeeded");
    assert_int_equal(there.epoch, 0);
    assert_int_equal(there.items_done, 2);
    assert_int_equal(there.outputs, 2);
    assert_ok(
        owner_link_open_outputs(passed, open_link(east), TENANT_DEFAULT, id, 0, 1, &next, &stream));
    assert_int_equal(next, 2);
    assert_ok(stream_pull(&stream, NULL, &bytes));
    assert_ok(npz_read(bytes.data, bytes.size, UINT64_MAX, &arrays));
    assert_int_equal(arrays.items[0].shape.dims[0], 1);
    assert_fails(NOT_FOUND, owner_link_get(link, (JobId){id.node, 99}, 0, &there));
    assert_fails(NOT_FOUND, owner_link_open_outputs(passed, open_link(east), TENANT_DEFAULT,
                                (JobId){id.node, 99}, 0, 0, &next, &stream));
    assert_fails(INVALID, owner_link_open_outputs(passed, open_link(east), TENANT_DEFAULT, id,
                              OWNER_HOPS_MAX, 0, &next, &stream));
    assert_fails(INVALID, owner_link_get(link, id, OWNER_HOPS_MAX, &there));
    migration_node_hide(east);
    assert_fails(UNREACHABLE, owner_link_get(link, id, 0, &there));
    migration_node_show(east);
    migration_pair_check(pair);
}

int test_owner_link(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owner_link_asks_about_jobs_and_fetches_outputs),
    };
    return cmocka_run_group_tests_name("owner_link", tests, NULL, NULL);
}
