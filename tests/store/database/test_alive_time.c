#include "store/database/alive_time.h"

#include "tests/store/job_fixtures.h"

static void test_alive_time_adds_up_over_processes(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    double seconds = -1;
    for (int process = 0; process < 3; process++) {
        OWN(Store, store) = fixture_open(&home);
        expect_ok(fixture_end(alive_time_add(fixture_begin(store), 0, &seconds)));
        assert_true(seconds == process * 60);
        expect_ok(fixture_end(alive_time_add(fixture_begin(store), 60, &seconds)));
        assert_true(seconds == (process + 1) * 60);
        seconds = -1;
        expect_ok(fixture_end(alive_time_read(fixture_begin(store), &seconds)));
        assert_true(seconds == (process + 1) * 60);
    }
}

static void test_alive_time_needs_the_homes_row(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    double seconds;
    fixture_run_sql(&home, "catalog.db", "DELETE FROM home");
    expect_error(fixture_end(alive_time_add(fixture_begin(store), 1, &seconds)), ERROR_CORRUPT,
        "the home's own row is gone");
}

TEST_GROUP(alive_time, cmocka_unit_test(test_alive_time_adds_up_over_processes),
    cmocka_unit_test(test_alive_time_needs_the_homes_row))
