#include <string.h>

#include "store/database/job_id.h"
#include "tests/store/store_fixtures.h"

static void expect_round_trip(JobId id, const char *expected) {
    char text[JOB_ID_TEXT_SIZE];
    JobId back;
    job_id_print(id, text);
    assert_string_equal(text, expected);
    assert_true(job_id_parse(text, &back));
    assert_true(job_id_equal(id, back));
}

static void test_job_id_survives_print_and_parse(void **state) {
    (void)state;
    expect_round_trip((JobId){0x3f9a0c72d1e4, 17}, "3f9a0c72d1e4-17");
    expect_round_trip((JobId){1, 1}, "000000000001-1");
    expect_round_trip((JobId){JOB_ID_NODE_MAX, INT64_MAX}, "ffffffffffff-9223372036854775807");
    assert_false(job_id_equal((JobId){1, 2}, (JobId){2, 2}));
    assert_false(job_id_equal((JobId){1, 2}, (JobId){1, 3}));
}

/* One id has one text: what is printed otherwise is no id. */
static void test_job_id_parse_takes_only_what_print_makes(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "17", "3f9a0c72d1e4", "3f9a0c72d1e4-", "3f9a0c72d1e4-0",
        "3f9a0c72d1e4-017", "3f9a0c72d1e4-+7", "3f9a0c72d1e4-17 ", " 3f9a0c72d1e4-17",
        "3F9A0C72D1E4-17", "3f9a0c72d1e-17", "3f9a0c72d1e44-17", "000000000000-17",
        "3f9a0c72d1e4-9223372036854775808", "3f9a0c72d1e4-99999999999999999999999",
        "3f9a0c72d1e4_17", "3f9a0c72d1e4-0x11", "3f9a0c72d1e4--1", "3f9a0c72d1g4-17"};
    JobId id = {5, 5};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (job_id_parse(wrong[i], &id)) fail_msg("%s was taken", wrong[i]);
        assert_true(job_id_equal(id, (JobId){5, 5}));
    }
}

static void test_job_id_of_a_node_alone(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "3f9a0c72d1e4-1", "3f9a0c72d1e", "3f9a0c72d1e44",
        "3F9A0C72D1E4", "000000000000", " 3f9a0c72d1e", "3f9a0c72d1g4"};
    char text[JOB_ID_NODE_TEXT_SIZE];
    uint64_t node;
    job_id_print_node(0x3f9a0c72d1e4, text);
    assert_string_equal(text, "3f9a0c72d1e4");
    assert_true(job_id_parse_node(text, &node));
    assert_int_equal(node, 0x3f9a0c72d1e4);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (job_id_parse_node(wrong[i], &node)) fail_msg("%s was taken", wrong[i]);
}

TEST_GROUP(job_id, cmocka_unit_test(test_job_id_survives_print_and_parse),
    cmocka_unit_test(test_job_id_parse_takes_only_what_print_makes),
    cmocka_unit_test(test_job_id_of_a_node_alone))
