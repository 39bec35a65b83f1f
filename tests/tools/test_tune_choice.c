#include "tools/tuning/tune_choice.h"

#include "tests/support/test_support.h"

/* Below 20 the first way is better, from there on the other; in both passes. */
#define PASS                                                                                       \
    {30, 300, 200}, {10, 100, 200}, {20, 110, 100}, {40, 400, 100}, { 10, 100, 120 }
static const TunePoint points[] = {PASS, PASS};
enum { COUNT = sizeof points / sizeof points[0] };

static bool near(double a, double b) { return a - b < 1e-9 && b - a < 1e-9; }

static void test_tune_chooses_the_value_that_loses_least(void **state) {
    (void)state;
    const TuneChoice choice = tune_choose(points, COUNT, 40, 0.01);
    assert_int_equal(choice.value, 20);
    assert_true(near(choice.regret, 0) && near(choice.regret_most, 0));
    assert_true(choice.standing > 0.05 && near(choice.standing_most, 0.5));
}

/* Any value between two quantities does the same, so the one that stands stays. */
static void test_tune_keeps_what_does_the_same(void **state) {
    (void)state;
    assert_int_equal(tune_choose(points, COUNT, 13, 0.01).value, 13);
    assert_int_equal(tune_choose(points, COUNT, 20, 0.01).value, 20);
}

static void test_tune_keeps_what_loses_less_than_the_margin(void **state) {
    (void)state;
    const TuneChoice choice = tune_choose(points, COUNT, 25, 0.05); /* 10 % in one of five */
    assert_int_equal(choice.value, 25);
    assert_true(near(choice.regret, choice.standing) && near(choice.regret_most, 0.1));
    assert_int_equal(tune_choose(points, COUNT, 25, 0.01).value, 20);
}

static void test_tune_keeps_what_only_one_pass_is_against(void **state) {
    (void)state;
    const TunePoint unlike[] = {{8, 1, 1}, {16, 4, 1}, {8, 1, 1}, {16, 1, 1}};
    assert_true(near(tune_regret(unlike, 2, 17), 1) && near(tune_regret(unlike + 2, 2, 17), 0));
    assert_int_equal(tune_choose(unlike, 4, 17, 0.01).value, 17);
}

static void test_tune_knows_always_and_never(void **state) {
    (void)state;
    static const TunePoint above[] = {{8, 2, 1}, {16, 2, 1}}, below[] = {{8, 1, 2}, {16, 1, 2}};
    assert_int_equal(tune_choose(above, 2, 100, 0.01).value, 8);
    assert_int_equal(tune_choose(below, 2, 8, 0.01).value, 17);
}

int test_tune_choice(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tune_chooses_the_value_that_loses_least),
        cmocka_unit_test(test_tune_keeps_what_does_the_same),
        cmocka_unit_test(test_tune_keeps_what_loses_less_than_the_margin),
        cmocka_unit_test(test_tune_keeps_what_only_one_pass_is_against),
        cmocka_unit_test(test_tune_knows_always_and_never),
    };
    return cmocka_run_group_tests_name("tune_choice", tests, NULL, NULL);
}
