#include "scheduler/migration/migration_step.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test_support.h"

static void test_migration_steps_have_names_of_their_own(void **state) {
    (void)state;
    for (int i = 0; i < MIGRATION_STEP_COUNT; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(
                migration_step_name((MigrationStep)i), migration_step_name((MigrationStep)k));
    assert_string_equal(migration_step_name(MIGRATION_STEP_BEGUN), "begun");
}

/* What becomes of a process that does all steps with that in its environment. */
static int run_all(const char *last) {
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv("LAYOVER_DIE_AFTER_STEP", last, 1);
        for (int i = 0; i < MIGRATION_STEP_COUNT; i++) migration_step_done((MigrationStep)i);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_migration_step_kills_where_it_is_told(void **state) {
    (void)state;
    static const char *const none[] = {"", "nothing", "begu", "begun "};
    for (int i = 0; i < MIGRATION_STEP_COUNT; i++) {
        int status = run_all(migration_step_name((MigrationStep)i));
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_int_equal(run_all(none[i]), 0);
}

int test_migration_step(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_migration_steps_have_names_of_their_own),
        cmocka_unit_test(test_migration_step_kills_where_it_is_told),
    };
    return cmocka_run_group_tests_name("migration_step", tests, NULL, NULL);
}
