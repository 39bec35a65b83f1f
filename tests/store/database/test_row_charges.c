#include "store/database/row_charges.h"

#include <string.h>

#include "store/jobs/arrivals.h"
#include "store/jobs/departures.h"
#include "store/models/models.h"
#include "store/database/row_costs.h"
#include "store/jobs/verifications.h"
#include "tests/store/job_fixtures.h"

static uint64_t stored(Store *store, TenantId id) {
    Tenant tenant;
    expect_ok(tenants_get(store, id, &tenant));
    return tenant.bytes_stored;
}

/* The quota is what is stored, and so much more. */
static void leave_room(Store *store, int64_t room) {
    const int64_t quota = (int64_t)stored(store, TENANT_DEFAULT) + room;
    expect_ok(fixture_end(
        tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_STORE_BYTES, quota)));
}

static Error *move(Store *store, JobId id, JobState state) {
    return fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, NULL));
}

static Arrival offer_of(TenantId tenant) {
    return (Arrival){.job = {7, 1}, .tenant = tenant, .source = 7, .epoch = 1, .attempt = 1};
}

static Error *register_version(Store *store, const char *model, uint32_t seed, const char *alias) {
    return fixture_register(store, TENANT_DEFAULT, model, seed, 1, 100, alias, NULL);
}

/* Names of models, versions and aliases are refused beyond the quota; what is there already takes
 * no more room, and what is removed is given back. */
static void test_row_charges_of_models(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(register_version(store, "m", 1, NULL));
    const uint64_t one = stored(store, TENANT_DEFAULT);
    leave_room(store, ROW_COST_MODEL + ROW_COST_VERSION + ROW_COST_ALIAS - 1);
    expect_error(
        register_version(store, "n", 1, "prod"), ERROR_EXHAUSTED, "its quota store_bytes is ");
    assert_int_equal(stored(store, TENANT_DEFAULT), one);
    expect_ok(register_version(store, "n", 1, NULL)); /* the executable is there */
    assert_int_equal(stored(store, TENANT_DEFAULT), one + ROW_COST_MODEL + ROW_COST_VERSION);
    expect_error(models_set_alias(store, TENANT_DEFAULT, "n", "prod", 1), ERROR_EXHAUSTED,
        "its quota store_bytes is ");
    leave_room(store, ROW_COST_ALIAS);
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "n", "prod", 1));
    leave_room(store, -1); /* already beyond it */
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "n", "prod", 1));
    expect_ok(register_version(store, "n", 1, "prod"));
    expect_error(register_version(store, "n", 1, "other"), ERROR_EXHAUSTED, "store_bytes");
    fixture_expect_clean(store);
    expect_ok(models_remove(store, TENANT_DEFAULT, "n", NULL));
    assert_int_equal(stored(store, TENANT_DEFAULT), one);
    expect_ok(models_remove(store, TENANT_DEFAULT, "m", NULL));
    assert_int_equal(stored(store, TENANT_DEFAULT), 0);
    fixture_expect_clean(store);
}

/* One version of several, with its aliases. */
static void test_row_charges_of_a_version_that_goes(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(register_version(store, "m", 1, "a"));
    const uint64_t one = stored(store, TENANT_DEFAULT);
    expect_ok(register_version(store, "m", 2, "b"));
    expect_ok(models_set_alias(store, TENANT_DEFAULT, "m", "c", 2));
    fixture_expect_clean(store);
    expect_ok(models_remove(store, TENANT_DEFAULT, "m@2", NULL));
    assert_int_equal(stored(store, TENANT_DEFAULT), one);
    fixture_expect_clean(store);
}

/* An offer is charged to the tenant that it is for, whoever that was before. */
static void test_row_charges_of_arrivals(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    const TenantId ada = fixture_add_tenant(store, "ada");
    Arrival first = offer_of(TENANT_DEFAULT), second = offer_of(ada);
    leave_room(store, ROW_COST_ARRIVAL - 1);
    expect_error(fixture_end(arrivals_offer(fixture_begin(store), &first)), ERROR_EXHAUSTED,
        "its quota store_bytes is ");
    leave_room(store, ROW_COST_ARRIVAL);
    expect_ok(fixture_end(arrivals_offer(fixture_begin(store), &first)));
    assert_int_equal(stored(store, TENANT_DEFAULT), ROW_COST_ARRIVAL);
    expect_ok(fixture_end(arrivals_offer(fixture_begin(store), &second)));
    assert_int_equal(stored(store, TENANT_DEFAULT), 0);
    assert_int_equal(stored(store, ada), ROW_COST_ARRIVAL);
    fixture_expect_clean(store);
    expect_ok(fixture_end(arrivals_expire(fixture_begin(store), -1e12)));
    assert_int_equal(stored(store, ada), 0);
    fixture_expect_clean(store);
}

/* A job may leave a tenant that is beyond its quota: that makes room. */
static void test_row_charges_of_departures(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Departure departure;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    const uint64_t before = stored(store, TENANT_DEFAULT);
    leave_room(store, 0);
    for (int i = 0; i < 2; i++) { /* the second attempt takes the first one's row */
        expect_ok(fixture_end(
            departures_begin(fixture_begin(store), TENANT_DEFAULT, id, "node", 2, &departure)));
        assert_int_equal(stored(store, TENANT_DEFAULT), before + ROW_COST_DEPARTURE);
        if (i == 0)
            expect_ok(fixture_end(departures_abort(
                fixture_begin(store), TENANT_DEFAULT, id, departure.attempt, "cut off")));
    }
    fixture_expect_clean(store);
    expect_ok(move(store, id, JOB_STATE_CANCELLED));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    expect_ok(models_remove(store, TENANT_DEFAULT, "m", NULL));
    assert_int_equal(stored(store, TENANT_DEFAULT), 0);
    fixture_expect_clean(store);
}

static void test_row_charges_of_verifications(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    int64_t number;
    JobId replay, id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_add_checkpoint(store, id, "first", 1, 0, 5, &number));
    expect_ok(fixture_add_output(store, id, 0, "zero"));
    const VerificationRequest request = {
        .job = id, .checkpoint = number, .priority = 2, .policy = "p", .policy_size = 1};
    JobCopy copy = {0}, second = {0}; /* one step */
    const uint64_t before = stored(store, TENANT_DEFAULT);
    expect_ok(
        fixture_end(verifications_begin(fixture_begin(store), TENANT_DEFAULT, &request, &copy)));
    replay = copy.id;
    const uint64_t both = stored(store, TENANT_DEFAULT);
    assert_int_equal(both - before,
        fixture_get(store, TENANT_DEFAULT, replay).bytes_stored + ROW_COST_VERIFICATION);
    fixture_expect_clean(store);
    expect_ok(move(store, replay, JOB_STATE_CANCELLED));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, replay)));
    assert_int_equal(stored(store, TENANT_DEFAULT), before);
    leave_room(store, (int64_t)(both - before) - 1);
    expect_error(
        fixture_end(verifications_begin(fixture_begin(store), TENANT_DEFAULT, &request, &second)),
        ERROR_EXHAUSTED, "its quota store_bytes is ");
    fixture_expect_clean(store);
}

/* ---- true sizes ---- */

enum { ROWS = 1000, VERSIONS = 3, PAGE = 4096 };

static const char longest[] = "a123456789012345678901234567890123456789012345678901234567890";

static Error *add_aliases(Store *store) {
    char name[MODEL_NAME_SIZE];
    for (int i = 0; i < ROWS; i++) {
        (void)snprintf(
            name, sizeof name, "%.*s%04d", (int)sizeof longest - 2, longest, (i * 37) % ROWS);
        TRY(models_set_alias(store, TENANT_DEFAULT, "m", name, 1 + i % VERSIONS));
    }
    return NULL;
}

static Error *add_models(Store *store) {
    char name[MODEL_NAME_SIZE];
    for (int i = 0; i < ROWS; i++) {
        (void)snprintf(
            name, sizeof name, "%.*s%04d", (int)sizeof longest - 2, longest, (i * 37) % ROWS);
        TRY(fixture_register(store, TENANT_DEFAULT, name, 7, 2, 300, NULL, NULL));
    }
    return NULL;
}

static Error *add_arrivals(Store *store) {
    Connection *catalog = fixture_begin(store);
    Arrival arrival = offer_of(TENANT_DEFAULT);
    Error *error = NULL;
    for (int i = 0; i < ROWS && !error; i++) {
        arrival.job = (JobId){(1ull << 47) + (uint64_t)i % 7, (uint64_t)i + 1};
        arrival.source = (1ull << 47) + 5;
        error = arrivals_offer(catalog, &arrival);
    }
    return fixture_end(error);
}

/* What each row takes on the disk is what is charged for it, at most, and half of it at least. */
static void expect_true_cost(const char *what, Error *(*add)(Store *store), int64_t charged) {
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    (void)fixture_submit(store, TENANT_DEFAULT);
    for (uint32_t i = 1; i < VERSIONS; i++) expect_ok(register_version(store, "m", 100 + i, NULL));
    store_close(TAKE(store));
    const int64_t before = fixture_read_sql(&home, "catalog.db", "PRAGMA page_count");
    store = fixture_open(&home);
    const uint64_t stored_before = stored(store, TENANT_DEFAULT);
    expect_ok(add(store));
    assert_int_equal(stored(store, TENANT_DEFAULT) - stored_before, (uint64_t)(charged * ROWS));
    fixture_expect_clean(store);
    store_close(TAKE(store));
    const int64_t pages = fixture_read_sql(&home, "catalog.db", "PRAGMA page_count") - before;
    const int64_t each = pages * PAGE / ROWS;
    if (each > charged || each < charged / 3)
        fail_msg("%s: a row takes %lld bytes, %lld are charged", what, (long long)each,
            (long long)charged);
}

static void test_row_charges_are_what_rows_take(void **state) {
    (void)state;
    expect_true_cost("aliases", add_aliases, ROW_COST_ALIAS);
    expect_true_cost("models", add_models, ROW_COST_MODEL + ROW_COST_VERSION);
    expect_true_cost("arrivals", add_arrivals, ROW_COST_ARRIVAL);
}

TEST_GROUP(row_charges, cmocka_unit_test(test_row_charges_of_models),
    cmocka_unit_test(test_row_charges_of_a_version_that_goes),
    cmocka_unit_test(test_row_charges_of_arrivals),
    cmocka_unit_test(test_row_charges_of_departures),
    cmocka_unit_test(test_row_charges_of_verifications),
    cmocka_unit_test(test_row_charges_are_what_rows_take))
