#include "compiler/passes/probe_groups.h"
#include "tests/compiler/compiler_fixtures.h"

static void test_probe_groups_finds_pairs_again(void **state) {
    (void)state;
    ProbeGroups groups = {0};
    ProbeGroup *group;
    bool found;
    for (int64_t i = 0; i < 200; i++) {
        ProbeGroup pair = {.before = {{i, 1, 2}}, .other = {{i, i, i}}};
        assert_ok(probe_groups_find(&groups, &pair, &group, &found));
        assert_false(found);
        group->after.sizes[0] = 1000 + i;
    }
    for (int64_t i = 0; i < 200; i++) {
        ProbeGroup pair = {.before = {{i, 1, 2}}, .other = {{i, i, i}}};
        assert_ok(probe_groups_find(&groups, &pair, &group, &found));
        assert_true(found);
        assert_int_equal(group->after.sizes[0], 1000 + i);
    }
    assert_int_equal(groups.count, 200);
    probe_groups_deinit(&groups);
}

static void test_probe_groups_knows_who_kept_its_symbol(void **state) {
    (void)state;
    ProbeGroups groups = {0};
    ProbeGroup pair = {.before = {{5, 6, 7}}, .other = {{8, 9, 10}}}, *group;
    bool found;
    assert_ok(probe_groups_find(&groups, &pair, &group, &found));
    assert_false(probe_groups_has_kept(&groups, &pair.before));
    group->after = pair.before;
    assert_true(probe_groups_has_kept(&groups, &pair.before));
    assert_false(probe_groups_has_kept(&groups, &pair.other));
    probe_groups_deinit(&groups);
}

int test_probe_groups(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe_groups_finds_pairs_again),
        cmocka_unit_test(test_probe_groups_knows_who_kept_its_symbol),
    };
    return cmocka_run_group_tests_name("probe_groups", tests, NULL, NULL);
}
