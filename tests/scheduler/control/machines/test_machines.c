/* All machines against the rows of their tables, which are read here a second time. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/control/machines/control_life.h"
#include "scheduler/control/machines/device_presence.h"
#include "scheduler/control/machines/job_durable.h"
#include "scheduler/control/machines/job_goal.h"
#include "scheduler/control/machines/job_site.h"
#include "scheduler/control/machines/job_storing.h"
#include "tests/support/test_random.h"
#include "tests/support/test_support.h"

enum { RANDOM_EVENTS = 1000000, RESTART_ONE_IN = 64 };

typedef struct Row {
    uint8_t from, event, to;
} Row;

static const Row job_site_rows[] = {
#define JOB_SITE_STEP(from, event, to) {JOB_SITE_##from, JOB_SITE_EVENT_##event, JOB_SITE_##to},
#include "scheduler/control/machines/job_site.def"
};
static const Row job_storing_rows[] = {
#define JOB_STORING_STEP(from, event, to)                                                          \
    {JOB_STORING_##from, JOB_STORING_EVENT_##event, JOB_STORING_##to},
#include "scheduler/control/machines/job_storing.def"
};
static const Row job_goal_rows[] = {
#define JOB_GOAL_STEP(from, event, to) {JOB_GOAL_##from, JOB_GOAL_EVENT_##event, JOB_GOAL_##to},
#include "scheduler/control/machines/job_goal.def"
};
static const Row job_durable_rows[] = {
#define JOB_DURABLE_STEP(from, event, to)                                                          \
    {JOB_DURABLE_##from, JOB_DURABLE_EVENT_##event, JOB_DURABLE_##to},
#include "scheduler/control/machines/job_durable.def"
};
static const Row device_presence_rows[] = {
#define DEVICE_PRESENCE_STEP(from, event, to)                                                      \
    {DEVICE_PRESENCE_##from, DEVICE_PRESENCE_EVENT_##event, DEVICE_PRESENCE_##to},
#include "scheduler/control/machines/device_presence.def"
};
static const Row control_life_rows[] = {
#define CONTROL_LIFE_STEP(from, event, to)                                                         \
    {CONTROL_LIFE_##from, CONTROL_LIFE_EVENT_##event, CONTROL_LIFE_##to},
#include "scheduler/control/machines/control_life.def"
};

static Error *step_job_site(uint8_t event, uint8_t *inout_state) {
    JobSite site = {.state = *inout_state};
    Error *error = job_site_step(&site, (JobSiteEvent)event);
    *inout_state = site.state;
    return error;
}

static Error *step_job_storing(uint8_t event, uint8_t *inout_state) {
    JobStoring storing = {*inout_state};
    Error *error = job_storing_step(&storing, (JobStoringEvent)event);
    *inout_state = storing.state;
    return error;
}

static Error *step_job_goal(uint8_t event, uint8_t *inout_state) {
    JobGoal goal = {*inout_state};
    Error *error = job_goal_step(&goal, (JobGoalEvent)event);
    *inout_state = goal.state;
    return error;
}

static Error *step_job_durable(uint8_t event, uint8_t *inout_state) {
    JobDurable durable = {*inout_state};
    Error *error = job_durable_step(&durable, (JobDurableEvent)event);
    *inout_state = durable.state;
    return error;
}

static Error *step_device_presence(uint8_t event, uint8_t *inout_state) {
    DevicePresence presence = {*inout_state};
    Error *error = device_presence_step(&presence, (DevicePresenceEvent)event);
    *inout_state = presence.state;
    return error;
}

static Error *step_control_life(uint8_t event, uint8_t *inout_state) {
    ControlLife life = {*inout_state};
    Error *error = control_life_step(&life, (ControlLifeEvent)event);
    *inout_state = life.state;
    return error;
}

static const struct Subject {
    const Machine *machine;
    const Row *rows;
    size_t row_count;
    Error *(*step)(uint8_t event, uint8_t *inout_state);
} subjects[] = {
#define MACHINE(name)                                                                              \
    {&name##_machine, name##_rows, sizeof name##_rows / sizeof *name##_rows, step_##name},
#include "scheduler/control/machines/machines.def"
#undef MACHINE
};

enum { SUBJECT_COUNT = sizeof subjects / sizeof *subjects };

/* SIZE_MAX: there is none. */
static size_t find_row(const struct Subject *subject, uint8_t state, uint8_t event) {
    for (size_t i = 0; i < subject->row_count; i++)
        if (subject->rows[i].from == state && subject->rows[i].event == event) return i;
    return SIZE_MAX;
}

/* From the first state, again and again: a state that nothing leaves would end the walk. */
static void walk(const struct Subject *subject) {
    const Machine *machine = subject->machine;
    bool reached[256] = {true};
    bool *taken = calloc(subject->row_count, sizeof *taken);
    uint64_t random = 1;
    uint8_t state = 0;
    assert_non_null(taken);
    for (int i = 0; i < RANDOM_EVENTS; i++) {
        const uint64_t drawn = test_random(&random);
        const uint8_t event = (uint8_t)((drawn >> 32) % machine->event_count), before = state;
        const size_t row = find_row(subject, state, event);
        assert_int_equal(machine_has_step(machine, state, event), row != SIZE_MAX);
        Error *error = subject->step(event, &state);
        assert_int_equal(error != NULL, row == SIZE_MAX);
        assert_int_equal(state, error ? before : subject->rows[row].to);
        error_free(error);
        if (row != SIZE_MAX) taken[row] = true;
        reached[state] = true;
        if (drawn % RESTART_ONE_IN == 0) state = 0;
    }
    for (uint8_t i = 0; i < machine->state_count; i++)
        if (!reached[i])
            fail_msg("%s: %s is never reached", machine->name, machine->states[i].name);
    for (size_t i = 0; i < subject->row_count; i++)
        if (!taken[i]) fail_msg("%s: row %zu is never taken", machine->name, i);
    free(taken);
}

static void test_machines_step_exactly_where_their_tables_have_a_row(void **state) {
    (void)state;
    for (int i = 0; i < SUBJECT_COUNT; i++) walk(&subjects[i]);
}

/* The same pair twice does not even compile; here it is seen in the rows themselves. */
static void test_machines_have_one_step_for_a_state_and_an_event(void **state) {
    (void)state;
    for (int s = 0; s < SUBJECT_COUNT; s++)
        for (size_t i = 0; i < subjects[s].row_count; i++) {
            const Row *row = &subjects[s].rows[i];
            assert_int_equal(find_row(&subjects[s], row->from, row->event), i);
        }
}

static uint8_t find_state(const Machine *machine, const char *name) {
    uint8_t state = 0;
    while (state < machine->state_count && strcmp(machine->states[state].name, name) != 0) state++;
    return state;
}

static uint8_t find_event(const Machine *machine, const char *name) {
    uint8_t event = 0;
    while (event < machine->event_count && strcmp(machine->events[event].name, name) != 0) event++;
    return event;
}

/* A sentence, and no line of a table. */
static void check_meaning(const char *meaning) {
    assert_true(strlen(meaning) > 0);
    assert_int_equal(meaning[strlen(meaning) - 1], '.');
    assert_null(strchr(meaning, '|'));
}

static void test_machines_name_each_state_and_event_once(void **state) {
    (void)state;
    for (int s = 0; s < SUBJECT_COUNT; s++) {
        const Machine *machine = subjects[s].machine;
        for (uint8_t i = 0; i < machine->state_count; i++) {
            assert_int_equal(find_state(machine, machine->states[i].name), i);
            check_meaning(machine->states[i].meaning);
        }
        for (uint8_t i = 0; i < machine->event_count; i++) {
            assert_int_equal(find_event(machine, machine->events[i].name), i);
            check_meaning(machine->events[i].meaning);
        }
    }
}

/* An event without a step could never happen. The picture shows every state. */
static void test_machines_use_every_event_and_picture_every_state(void **state) {
    (void)state;
    for (int s = 0; s < SUBJECT_COUNT; s++) {
        const Machine *machine = subjects[s].machine;
        for (uint8_t event = 0; event < machine->event_count; event++) {
            bool used = false;
            for (uint8_t i = 0; i < machine->state_count; i++)
                used |= machine_has_step(machine, i, event);
            if (!used) fail_msg("%s: no step for %s", machine->name, machine->events[event].name);
        }
        for (uint8_t i = 0; i < machine->state_count; i++)
            if (!strstr(machine->picture, machine->states[i].name))
                fail_msg("%s: %s is not in the picture", machine->name, machine->states[i].name);
    }
}

int test_machines(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines_step_exactly_where_their_tables_have_a_row),
        cmocka_unit_test(test_machines_have_one_step_for_a_state_and_an_event),
        cmocka_unit_test(test_machines_name_each_state_and_event_once),
        cmocka_unit_test(test_machines_use_every_event_and_picture_every_state),
    };
    return cmocka_run_group_tests_name("machines", tests, NULL, NULL);
}
