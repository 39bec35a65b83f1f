#include <sys/stat.h>

#include "store/jobs/node_identity.h"
#include "tests/store/job_fixtures.h"

static const Digest here = {{1}}, there = {{2}};

static void test_node_identity_stays_with_its_home(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    NodeIdentity first, second;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(node_identity_claim(store, &here, &first));
    assert_false(first.is_copy);
    assert_int_equal(first.node, id.node);
    store_close(TAKE(store));
    store = fixture_open(&home);
    expect_ok(node_identity_claim(store, &here, &second));
    assert_int_equal(first.node, second.node);
    assert_false(second.is_copy);
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).state, JOB_STATE_QUEUED);
}

/* Two homes that were one before a daemon had it do not give the same names. */
static void test_node_identity_is_made_when_it_is_claimed(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    TestHome OWN_HOME(copy) = fixture_home_make();
    NodeIdentity first, second;
    store_close(fixture_open(&home));
    fixture_home_copy(&home, &copy);
    OWN(Store, one) = fixture_open(&home);
    OWN(Store, other) = fixture_open(&copy);
    expect_ok(node_identity_claim(one, &here, &first));
    expect_ok(node_identity_claim(other, &there, &second));
    assert_false(first.is_copy || second.is_copy);
    assert_true(first.node != second.node);
    assert_int_equal(fixture_submit(one, TENANT_DEFAULT).node, first.node);
    expect_ok(node_identity_claim(one, &here, &second));
    assert_int_equal(first.node, second.node);
}

static void test_node_identity_of_a_copied_home_holds_its_jobs(void **state) {
    (void)state;
    enum { JOBS = 150 }; /* more than a batch */
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    NodeIdentity first, second;
    JobId ids[JOBS];
    for (int i = 0; i < JOBS; i++) ids[i] = fixture_submit(store, TENANT_DEFAULT);
    Connection *catalog = fixture_begin(store);
    expect_ok(jobs_transition(catalog, TENANT_DEFAULT, ids[0], JOB_STATE_SUSPENDED, NULL));
    expect_ok(jobs_transition(catalog, TENANT_DEFAULT, ids[1], JOB_STATE_SUCCEEDED, NULL));
    expect_ok(fixture_end(NULL));
    expect_ok(node_identity_claim(store, &here, &first));
    expect_ok(node_identity_claim(store, &there, &second));
    assert_true(second.is_copy);
    assert_int_equal(second.jobs_held, JOBS - 1);
    assert_true(second.node != first.node && second.node > 0 && second.node <= JOB_ID_NODE_MAX);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(fixture_get(store, TENANT_DEFAULT, ids[i]).state,
            i == 1 ? JOB_STATE_SUCCEEDED : JOB_STATE_HELD);
    /* New jobs have the new node's name and cannot meet the original's. */
    assert_int_equal(fixture_submit(store, TENANT_DEFAULT).node, second.node);
    expect_ok(node_identity_claim(store, &there, &second));
    assert_false(second.is_copy);
    fixture_expect_clean(store);
}

static void test_node_identity_binding_is_one_homes_own(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    TestHome OWN_HOME(copy) = fixture_home_make();
    Digest binding, again, other;
    {
        OWN(Store, store) = fixture_open(&home);
        expect_ok(node_identity_binding(store, &binding));
        expect_ok(node_identity_binding(store, &again));
    }
    fixture_home_copy(&home, &copy);
    OWN(Store, store) = fixture_open(&copy);
    expect_ok(node_identity_binding(store, &other));
    assert_true(digest_equal(&binding, &again));
    assert_false(digest_equal(&binding, &other));
}

TEST_GROUP(node_identity, cmocka_unit_test(test_node_identity_stays_with_its_home),
    cmocka_unit_test(test_node_identity_is_made_when_it_is_claimed),
    cmocka_unit_test(test_node_identity_of_a_copied_home_holds_its_jobs),
    cmocka_unit_test(test_node_identity_binding_is_one_homes_own))
