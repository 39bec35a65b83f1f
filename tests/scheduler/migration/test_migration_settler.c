#include "scheduler/migration/migration_settler.h"

#include "scheduler/migration/target_link.h"
#include "tests/scheduler/job_file_fixtures.h"
#include "tests/scheduler/migration_fixtures.h"

enum { ROWS = 30 };

static JobId submit(MigrationNode *node, const char *function) {
    JobId id;
    assert_ok(control_fixture_submit(&node->home, function, 3, false, NULL, &id));
    return id;
}

/* A job in the middle of its batch goes as far as that step. It rests when it is to be stopped, so
 * that it cannot end before; up to then it is one that runs without end. */
static void go(MigrationHand *hand, MigrationPair *pair, MigrationStep step) {
    JobId id;
    if (step < MIGRATION_STEP_STOPPED)
        id = submit(&pair->west, "forever");
    else
        control_fixture_suspended(&pair->west.home, ROWS, true, &id);
    migration_hand_begin(hand, &pair->west, &pair->east, id);
    migration_hand_go(hand, step);
}

static void assert_ends(MigrationNode *owner, JobId id, MigrationStep step, int64_t epoch) {
    Job job = migration_node_job(owner, id);
    assert_int_equal(job.epoch, epoch);
    if (step < MIGRATION_STEP_STOPPED) {
        assert_int_equal(job.state, JOB_STATE_QUEUED);
        assert_ok(control_cancel(owner->home.control, TENANT_DEFAULT, id));
        return;
    }
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    assert_ok(control_resume(owner->home.control, TENANT_DEFAULT, id, NULL));
    control_fixture_wait(&owner->home, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, ROWS);
    control_fixture_check(&owner->home, id, ROWS, 2);
}

/* One job for each step; those that run on meanwhile come last. */
static void go_everywhere(MigrationPair *pair, JobId ids[MIGRATION_STEP_COUNT]) {
    migration_node_rest(&pair->west);
    for (int step = MIGRATION_STEP_COUNT - 1; step >= 0; step--) {
        MigrationHand OWN_HAND(hand);
        go(&hand, pair, (MigrationStep)step);
        ids[step] = hand.job;
    }
}

/* Each has one owner, which has made all of its outputs. */
static void assert_settled(MigrationPair *pair, const JobId ids[MIGRATION_STEP_COUNT]) {
    migration_pair_settle(pair);
    for (int step = 0; step < MIGRATION_STEP_COUNT; step++) {
        bool moved = step >= MIGRATION_STEP_MOVED;
        MigrationNode *owner = moved ? &pair->east : &pair->west;
        assert_int_equal(migration_node_state(moved ? &pair->west : &pair->east, ids[step]),
            moved ? JOB_STATE_MOVED : JOB_STATE_NONE);
        assert_ends(owner, ids[step], (MigrationStep)step, moved);
    }
    migration_pair_check(pair);
}

static void test_settler_after_the_source_died_at_every_step(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId ids[MIGRATION_STEP_COUNT];
    go_everywhere(pair, ids);
    migration_node_stop(&pair->west);
    migration_node_start(&pair->west);
    assert_settled(pair, ids);
}

static void test_settler_after_both_died_at_every_step(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId ids[MIGRATION_STEP_COUNT];
    go_everywhere(pair, ids);
    migration_node_stop(&pair->west);
    migration_node_stop(&pair->east);
    migration_node_start(&pair->west); /* it runs nothing that may be the other one's */
    for (int step = MIGRATION_STEP_STOPPED; step < MIGRATION_STEP_SETTLED; step++)
        assert_int_equal(migration_node_state(&pair->west, ids[step]),
            step < MIGRATION_STEP_MOVED ? JOB_STATE_HELD : JOB_STATE_MOVED);
    migration_node_start(&pair->east);
    assert_settled(pair, ids);
}

/* The source goes on where it was; what it had sent and not prepared may be sent again. */
static void test_settler_after_the_target_died_at_every_step(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationHand hands[MIGRATION_STEP_COUNT];
    ArrivalAnswer known;
    migration_node_rest(&pair->west);
    for (int step = 0; step < MIGRATION_STEP_COUNT; step++) {
        JobId id;
        control_fixture_suspended(&pair->west.home, ROWS, true, &id);
        migration_hand_begin(&hands[step], &pair->west, &pair->east, id);
        migration_hand_go(&hands[step], (MigrationStep)step);
    }
    migration_node_stop(&pair->east);
    migration_node_start(&pair->east);
    for (int step = 0; step < MIGRATION_STEP_COUNT; step++) {
        MigrationHand *hand = &hands[step];
        assert_ok(target_link_find(hand->link, &hand->key, &known));
        assert_int_equal(known, step < MIGRATION_STEP_OFFERED    ? ARRIVAL_UNKNOWN
                                : step < MIGRATION_STEP_PREPARED ? ARRIVAL_OFFERED
                                : step < MIGRATION_STEP_OWNED    ? ARRIVAL_PREPARED
                                                                 : ARRIVAL_OWNED);
        if (step > MIGRATION_STEP_OFFERED && step < MIGRATION_STEP_PREPARED) {
            chunk_sender_forget(&hand->sender);
            hand->done = MIGRATION_STEP_BEGUN;
            migration_hand_go(hand, MIGRATION_STEP_OFFERED);
            hand->done =
                step < MIGRATION_STEP_STOPPED ? MIGRATION_STEP_OFFERED : MIGRATION_STEP_STOPPED;
        } else if (step == MIGRATION_STEP_OFFERED) {
            hand->done = MIGRATION_STEP_BEGUN;
        }
        migration_hand_go(hand, MIGRATION_STEP_SETTLED);
        assert_int_equal(migration_node_state(&pair->west, hand->job), JOB_STATE_MOVED);
    }
    for (int step = 0; step < MIGRATION_STEP_COUNT; step++) {
        assert_ends(&pair->east, hands[step].job, MIGRATION_STEP_SETTLED, 1);
        migration_hand_end(&hands[step]);
    }
    migration_pair_check(pair);
}

/* A person says that the source is dead; when it comes back, it gives the job up. */
static void test_settler_adopts_and_fences(void **state) {
    (void)state;
    static const MigrationStep steps[] = {
        MIGRATION_STEP_PREPARED, MIGRATION_STEP_ANSWERED, MIGRATION_STEP_MOVED};
    OWN_PAIR(pair) = migration_pair_open();
    JobId ids[3];
    MigrationNode *west = &pair->west, *east = &pair->east;
    migration_node_rest(west);
    for (int i = 0; i < 3; i++) {
        MigrationHand OWN_HAND(hand);
        go(&hand, pair, steps[i]);
        ids[i] = hand.job;
    }
    assert_int_equal(migration_node_state(east, ids[0]), JOB_STATE_IN_DOUBT);
    migration_node_stop(west);
    for (int i = 0; i < 3; i++) {
        assert_ok(migrations_adopt(east->migrations, TENANT_DEFAULT, ids[i]));
        assert_fails(CONFLICT, migrations_adopt(east->migrations, TENANT_DEFAULT, ids[i]));
    }
    migration_node_start(west);
    migration_pair_settle(pair);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(migration_node_state(west, ids[i]), JOB_STATE_MOVED);
        assert_ends(east, ids[i], steps[i], 2);
    }
    migration_pair_check(pair);
}

static Error *adopt(Connection *catalog, void *context) {
    return arrivals_adopt(catalog, *(const JobId *)context);
}

/* The target died when that it was adopted was durable, and nothing else. */
static void test_settler_goes_on_with_an_adoption(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationHand OWN_HAND(hand);
    migration_node_rest(&pair->west);
    go(&hand, pair, MIGRATION_STEP_PREPARED);
    migration_node_stop(&pair->west);
    migration_node_rest(&pair->east);
    assert_ok(catalog_run(pair->east.home.catalog, adopt, &hand.job));
    migration_node_stop(&pair->east);
    migration_node_start(&pair->east);
    migration_node_start(&pair->west);
    migration_pair_settle(pair);
    assert_int_equal(migration_node_state(&pair->west, hand.job), JOB_STATE_MOVED);
    assert_ends(&pair->east, hand.job, MIGRATION_STEP_PREPARED, 2);
    migration_pair_check(pair);
}

/* Its attempt was given up, the target could not be told, and a person was wrong: the source has
 * run on, and stops when it hears of it. */
static void test_settler_fences_a_source_that_runs_on(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    Job job;
    MigrationNode *west = &pair->west, *east = &pair->east;
    migration_node_rest(west);
    JobId id = submit(west, "forever");
    MigrationHand OWN_HAND(hand);
    migration_hand_begin(&hand, west, east, id);
    migration_hand_go(&hand, MIGRATION_STEP_PREPARED);
    migration_node_hide(west);
    assert_ok(
        control_migration_revert(west->home.control, TENANT_DEFAULT, id, false, "east is away"));
    assert_ok(migrations_adopt(east->migrations, TENANT_DEFAULT, id));
    migration_node_stop(west);
    migration_node_start(west);
    migration_pair_settle(pair);
    assert_int_equal(migration_node_state(west, id), JOB_STATE_MOVED);
    job = migration_node_job(east, id);
    assert_int_equal(job.state, JOB_STATE_QUEUED);
    assert_int_equal(job.epoch, 2);
    assert_ok(control_cancel(east->home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

static void test_settler_adopts_nothing_from_a_source_that_answers(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    Job job;
    MigrationNode *west = &pair->west, *east = &pair->east;
    migration_node_rest(west);
    JobId other = submit(east, "four");
    MigrationHand OWN_HAND(hand);
    go(&hand, pair, MIGRATION_STEP_PREPARED);
    JobId id = hand.job;
    migration_node_stop(west);
    assert_fails_saying(
        CONFLICT, "in doubt", migrations_adopt(east->migrations, TENANT_DEFAULT, other));
    assert_fails(NOT_FOUND, migrations_adopt(east->migrations, TENANT_DEFAULT, (JobId){5, 5}));
    migration_node_hide(east); /* so that the source does not settle it */
    migration_node_start(west);
    assert_fails_saying(
        CONFLICT, "it is not dead", migrations_adopt(east->migrations, TENANT_DEFAULT, id));
    assert_int_equal(migration_node_state(west, id), JOB_STATE_HELD);
    migration_node_show(east);
    migration_pair_settle(pair);
    assert_ends(west, id, MIGRATION_STEP_PREPARED, 0);
    control_fixture_wait(&east->home, other, JOB_STATE_SUCCEEDED, &job);
    migration_pair_check(pair);
}

/* A person may say that a held job is this home's: then the target, which has it prepared, drops it
 * as soon as it asks. So it is with one that is cancelled. */
static void test_settler_drops_what_a_person_took_back(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationNode *west = &pair->west, *east = &pair->east;
    JobId ids[2];
    migration_node_rest(west);
    for (int i = 0; i < 2; i++) {
        MigrationHand OWN_HAND(hand);
        go(&hand, pair, MIGRATION_STEP_ANSWERED);
        ids[i] = hand.job;
    }
    migration_node_stop(west);
    migration_node_hide(east); /* so that the source can't ask */
    migration_node_start(west);
    assert_ok(control_resume(west->home.control, TENANT_DEFAULT, ids[0], NULL));
    assert_ok(control_cancel(west->home.control, TENANT_DEFAULT, ids[1]));
    for (int i = 0; i < 2; i++)
        assert_int_equal(migration_node_state(east, ids[i]), JOB_STATE_IN_DOUBT);
    migration_node_show(east);
    migration_pair_settle(pair);
    for (int i = 0; i < 2; i++)
        assert_int_equal(migration_node_state(east, ids[i]), JOB_STATE_NONE);
    assert_int_equal(migration_node_state(west, ids[1]), JOB_STATE_CANCELLED);
    Job job;
    control_fixture_wait(&west->home, ids[0], JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&west->home, ids[0], ROWS, 2);
    migration_pair_check(pair);
}

/* A peer cannot take what was never on its way to anybody. */
static void test_settler_fences_no_job_that_never_left(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationNode *west = &pair->west;
    JobId id = submit(west, "forever");
    assert_fails(REFUSED, migrations_fence(west->migrations, pair->east.number, id, 5));
    assert_fails(REFUSED, migrations_fence(west->migrations, 77, id, 5)); /* no node */
    assert_fails(
        NOT_FOUND, migrations_fence(west->migrations, pair->east.number, (JobId){id.node, 99}, 5));
    assert_ok(migrations_fence(west->migrations, pair->east.number, id, 0)); /* nothing newer */
    assert_int_equal(migration_node_state(west, id), JOB_STATE_QUEUED);
    assert_ok(control_cancel(west->home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

int test_migration_settler(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settler_after_the_source_died_at_every_step),
        cmocka_unit_test(test_settler_after_both_died_at_every_step),
        cmocka_unit_test(test_settler_after_the_target_died_at_every_step),
        cmocka_unit_test(test_settler_adopts_and_fences),
        cmocka_unit_test(test_settler_goes_on_with_an_adoption),
        cmocka_unit_test(test_settler_fences_a_source_that_runs_on),
        cmocka_unit_test(test_settler_drops_what_a_person_took_back),
        cmocka_unit_test(test_settler_fences_no_job_that_never_left),
        cmocka_unit_test(test_settler_adopts_nothing_from_a_source_that_answers),
    };
    return cmocka_run_group_tests_name("migration_settler", tests, NULL, NULL);
}
