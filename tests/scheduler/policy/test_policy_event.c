#include "scheduler/policy/policy_event.h"

#include "tests/support/test_support.h"

static void test_every_letter_of_every_event_is_a_field(void **state) {
    (void)state;
    PolicyEvent event;
    for (int i = 1; i < POLICY_EVENT_KIND_COUNT; i++) {
        assert_non_null(policy_event_infos[i].name);
        for (const char *letter = policy_event_infos[i].fields; *letter; letter++) {
            uint64_t *field = policy_event_field(&event, *letter);
            assert_true(
                (char *)field > (char *)&event && (char *)(field + 1) <= (char *)(&event + 1));
        }
    }
    for (int i = 1; i < POLICY_ACTION_KIND_COUNT; i++) assert_non_null(policy_action_names[i]);
    for (int i = 0; i < POLICY_OUTCOME_COUNT; i++) assert_non_null(policy_outcome_names[i]);
    for (int i = 0; i < POLICY_QUOTA_COUNT; i++) assert_non_null(policy_quota_names[i]);
}

static void test_policy_classes_are_found_by_name(void **state) {
    (void)state;
    PolicyClass class_;
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) {
        assert_true(policy_class_find(policy_class_names[i], &class_));
        assert_int_equal(class_, i);
    }
    assert_false(policy_class_find("urgent", &class_));
}

static void test_policy_event_check_names_the_field(void **state) {
    (void)state;
    PolicyEvent event = {.kind = POLICY_EVENT_DEVICE_ADDED, .memory_bytes = 1, .speed = 0};
    assert_fails_saying(INVALID, "speed is 0", policy_event_check(&event));
    event.speed = 1;
    assert_ok(policy_event_check(&event));
    event.outcome = 99; /* not a field of this kind */
    assert_ok(policy_event_check(&event));
    event.kind = (PolicyEventKind)0;
    assert_fails(INVALID, policy_event_check(&event));
    event.kind = POLICY_EVENT_KIND_COUNT;
    assert_fails(INVALID, policy_event_check(&event));
}

static void test_every_member_of_an_action_is_in_its_digest(void **state) {
    (void)state;
    const PolicyAction plain = {.kind = POLICY_ACTION_RUN};
    const PolicyAction others[] = {{.kind = POLICY_ACTION_RUN, .job = 1},
        {.kind = POLICY_ACTION_RUN, .model = 1}, {.kind = POLICY_ACTION_RUN, .device = 1},
        {.kind = POLICY_ACTION_RUN, .bytes = 1}, {.kind = POLICY_ACTION_RUN, .ns = 1},
        {.kind = POLICY_ACTION_RUN, .place = 1}, {.kind = POLICY_ACTION_RUN, .reason = 1},
        {.kind = POLICY_ACTION_RUN, .quota = 1}, {.kind = POLICY_ACTION_RUN, .limit = 1},
        {.kind = POLICY_ACTION_RUN, .used = 1}, {.kind = POLICY_ACTION_PREEMPT}};
    uint64_t digest = policy_action_digest(&plain, 0);
    assert_true(digest != policy_action_digest(&plain, digest));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(digest != policy_action_digest(&others[i], 0));
}

int test_policy_event(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_letter_of_every_event_is_a_field),
        cmocka_unit_test(test_policy_classes_are_found_by_name),
        cmocka_unit_test(test_policy_event_check_names_the_field),
        cmocka_unit_test(test_every_member_of_an_action_is_in_its_digest),
    };
    return cmocka_run_group_tests_name("policy_event", tests, NULL, NULL);
}
