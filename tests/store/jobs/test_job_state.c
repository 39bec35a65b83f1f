#include <string.h>

#include "store/jobs/job_state.h"
#include "tests/store/store_fixtures.h"

static JobStateClass class_of(int number) { return job_state_info((JobState)number)->class_; }

static void test_job_state_has_the_names_that_are_shown(void **state) {
    (void)state;
    static const char *const shown[] = {"queued", "suspended", "succeeded", "failed", "cancelled",
        "moved", "released", "held", "in_doubt"};
    JobState found;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        assert_true(job_state_find(shown[i], &found));
        assert_int_equal(found, i + 1);
        assert_string_equal(job_state_info(found)->name, shown[i]);
    }
    assert_false(job_state_find("running", &found)); /* never stored */
    assert_true(job_state_find_shown("running", &found));
    assert_int_equal(found, JOB_STATE_QUEUED);
    assert_true(job_state_find_shown("suspended", &found));
    assert_int_equal(found, JOB_STATE_SUSPENDED);
    assert_false(job_state_find_shown("", &found));
    assert_false(job_state_find("", &found));
    assert_false(job_state_exists(0));
    assert_false(job_state_exists(JOB_STATE_COUNT));
    assert_false(job_state_exists(-1));
}

/* What has ended has ended; everything else gets to an end. */
static void test_job_state_lets_nothing_out_of_an_end(void **state) {
    (void)state;
    for (int from = 1; from < JOB_STATE_COUNT; from++) {
        bool any = false;
        for (int to = 1; to < JOB_STATE_COUNT; to++)
            any = any || job_state_allows((JobState)from, (JobState)to);
        assert_int_equal(any, class_of(from) == JOB_STATE_CLASS_UNFINISHED);
        assert_false(job_state_allows((JobState)from, (JobState)from));
    }
    assert_true(job_state_allows(JOB_STATE_QUEUED, JOB_STATE_SUCCEEDED));
    assert_false(job_state_allows(JOB_STATE_SUSPENDED, JOB_STATE_SUCCEEDED));
    assert_false(job_state_allows(JOB_STATE_IN_DOUBT, JOB_STATE_CANCELLED));
}

/* The partial indices of the catalog name the states by number. */
static void test_job_state_classes_are_those_of_the_indices(void **state) {
    (void)state;
    for (int i = 1; i < JOB_STATE_COUNT; i++) {
        bool unfinished = i == 1 || i == 2 || i == 8 || i == 9;
        bool finished = i == 3 || i == 4 || i == 5;
        assert_int_equal(class_of(i) == JOB_STATE_CLASS_UNFINISHED, unfinished);
        assert_int_equal(class_of(i) == JOB_STATE_CLASS_FINISHED, finished);
    }
}

TEST_GROUP(job_state, cmocka_unit_test(test_job_state_has_the_names_that_are_shown),
    cmocka_unit_test(test_job_state_lets_nothing_out_of_an_end),
    cmocka_unit_test(test_job_state_classes_are_those_of_the_indices))
