#include "store/accounts/in_flight.h"

#include "store/accounts/tenants_internal.h"
#include "tests/store/job_fixtures.h"

enum { QUOTA = 1 << 20, PIECE = 64 << 10 };

static void set_quota(Store *store, TenantId tenant, int64_t value) {
    expect_ok(
        fixture_end(tenants_set_quota(fixture_begin(store), tenant, QUOTA_STORE_BYTES, value)));
}

/* As sixty clients that each send a piece and never end. */
static void test_in_flight_bytes_of_all_requests_stay_within_the_quota(void **state) {
    (void)state;
    enum { REQUESTS = 60 };
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId ada = fixture_add_tenant(store, "ada");
    InFlight flights[REQUESTS];
    size_t taken = 0;
    set_quota(store, ada, QUOTA);
    for (size_t i = 0; i < REQUESTS; i++) flights[i] = in_flight_begin(store, ada);
    for (size_t round = 0; round < 4; round++)
        for (size_t i = 0; i < REQUESTS; i++) {
            Error *error = in_flight_add(&flights[i], PIECE);
            if (!error) taken += PIECE;
            if (error) expect_error(error, ERROR_EXHAUSTED, "its quota store_bytes is 1048576");
        }
    assert_true(taken <= QUOTA && taken >= QUOTA / 2);
    assert_true(in_flight_bytes(store, ada) <= QUOTA);
    for (size_t i = 0; i < REQUESTS; i++) in_flight_end(&flights[i]);
    assert_int_equal(in_flight_bytes(store, ada), 0);
    expect_ok(in_flight_add(&flights[0], QUOTA)); /* to the byte */
    expect_error(in_flight_add(&flights[1], 1), ERROR_EXHAUSTED, "1048576 on their way");
    in_flight_end(&flights[0]);
}

static void test_in_flight_bytes_are_beside_what_is_stored(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId ada = fixture_add_tenant(store, "ada");
    set_quota(store, ada, QUOTA);
    expect_ok(fixture_end(tenants_charge(fixture_begin(store), ada, QUOTA - PIECE)));
    InFlight body = in_flight_begin(store, ada);
    InFlight chunks = in_flight_begin(store, ada);
    expect_error(in_flight_add(&body, PIECE + 1), ERROR_EXHAUSTED, "983040 are stored");
    expect_ok(in_flight_add(&body, PIECE / 2));
    /* what is made of the body counts beside it, to the byte */
    expect_error(in_flight_add(&chunks, PIECE / 2 + 1), ERROR_EXHAUSTED, "32768 on their way");
    expect_ok(in_flight_add(&chunks, PIECE / 2));
    expect_error(in_flight_add(&chunks, 1), ERROR_EXHAUSTED, "65536 on their way");
    set_quota(store, ada, QUOTA_UNLIMITED);
    expect_ok(in_flight_add(&chunks, UINT32_MAX));
    in_flight_end(&body);
    in_flight_end(&chunks);
    in_flight_end(&chunks);
    assert_int_equal(in_flight_bytes(store, ada), 0);
}

static Error *charge(Store *store, TenantId tenant, uint64_t bytes) {
    return fixture_end(tenants_charge(fixture_begin(store), tenant, bytes));
}

/* A row takes the place of what was put for it, and of nothing else that is on its way. */
static void test_in_flight_bytes_are_no_room_for_rows(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId ada = fixture_add_tenant(store, "ada");
    set_quota(store, ada, QUOTA);
    InFlight body = in_flight_begin(store, ada), chunks = in_flight_begin(store, ada);
    expect_ok(in_flight_add(&body, QUOTA / 2));
    expect_ok(in_flight_add(&chunks, QUOTA / 4));
    expect_error(charge(store, ada, QUOTA / 4 + 1), ERROR_EXHAUSTED,
        "its quota store_bytes is 1048576, and this would make it 1048577");
    in_flight_settle(&chunks);
    in_flight_settle(&chunks);
    assert_int_equal(in_flight_unsettled_bytes(store, ada), QUOTA / 2);
    expect_error(charge(store, ada, QUOTA / 2 + 1), ERROR_EXHAUSTED, "would make it 1048577");
    expect_ok(charge(store, ada, QUOTA / 2));
    expect_error(in_flight_add(&body, 1), ERROR_EXHAUSTED, "524288 are stored");
    in_flight_end(&chunks);
    assert_int_equal(in_flight_bytes(store, ada), QUOTA / 2);
    assert_int_equal(in_flight_unsettled_bytes(store, ada), QUOTA / 2);
    in_flight_end(&body);
    expect_ok(charge(store, ada, QUOTA / 2));
    assert_int_equal(in_flight_unsettled_bytes(store, ada), 0);
}

static void test_in_flight_bytes_of_one_tenant_are_not_anothers(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId ada = fixture_add_tenant(store, "ada"), zoe = fixture_add_tenant(store, "zoe");
    set_quota(store, ada, QUOTA);
    set_quota(store, zoe, QUOTA);
    InFlight a = in_flight_begin(store, ada);
    InFlight z = in_flight_begin(store, zoe);
    InFlight nobody = in_flight_begin(store, 99);
    expect_ok(in_flight_add(&a, QUOTA));
    expect_ok(in_flight_add(&z, QUOTA));
    expect_error(in_flight_add(&nobody, 1), ERROR_NOT_FOUND, "no such tenant");
    in_flight_end(&a);
    assert_int_equal(in_flight_bytes(store, zoe), QUOTA);
    in_flight_end(&z);
    in_flight_end(&nobody);
}

TEST_GROUP(in_flight, cmocka_unit_test(test_in_flight_bytes_of_all_requests_stay_within_the_quota),
    cmocka_unit_test(test_in_flight_bytes_are_beside_what_is_stored),
    cmocka_unit_test(test_in_flight_bytes_are_no_room_for_rows),
    cmocka_unit_test(test_in_flight_bytes_of_one_tenant_are_not_anothers))
