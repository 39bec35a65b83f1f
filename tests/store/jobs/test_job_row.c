#include "store/jobs/job_row.h"

#include <string.h>

#include "tests/store/job_fixtures.h"

static void test_job_row_refuses_damage(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    static const char *const damage[] = {"UPDATE jobs SET state = 99",
        "UPDATE jobs SET release = 0", "UPDATE jobs SET priority = -1",
        "UPDATE jobs SET origin = 7", "UPDATE jobs SET bytes_stored = -1",
        "UPDATE jobs SET identity = x'00'"};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        char sql[200];
        Job job;
        store_close(TAKE(store));
        (void)snprintf(sql, sizeof sql, "PRAGMA ignore_check_constraints = 1; %s", damage[i]);
        fixture_run_sql(&home, "catalog.db", sql);
        store = fixture_open(&home);
        expect_error(jobs_get(store, TENANT_DEFAULT, id, &job), ERROR_CORRUPT, "run fsck");
        store_close(TAKE(store));
        fixture_run_sql(&home, "catalog.db",
            "UPDATE jobs SET state = 1, release = 1, priority = 1, origin = 0, bytes_stored = "
            "(SELECT sum(bytes_stored) FROM contents WHERE job = jobs.id)");
        store = fixture_open(&home);
    }
}

TEST_GROUP(job_row, cmocka_unit_test(test_job_row_refuses_damage))
