#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/home/home.h"
#include "tests/store/store_fixtures.h"

static void test_home_create_makes_every_folder_private(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    expect_ok(home_create(fixture_path(&home, "a/b/c")));
    expect_ok(home_create(fixture_path(&home, "a/b/c")));
    struct stat status;
    assert_int_equal(stat(fixture_path(&home, "a/b"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(fixture_path(&home, "a/b/c"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_home_create_refuses_a_file_in_the_way(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    FILE *file = fopen(fixture_path(&home, "file"), "w");
    assert_non_null(file);
    (void)fclose(file);
    expect_error(home_create(fixture_path(&home, "file")), ERROR_IO, "no directory");
    expect_error(home_create(fixture_path(&home, "file/home")), ERROR_IO, "file");
    expect_error(home_create(""), ERROR_INVALID, "empty");
}

static void test_home_lock_needs_a_home(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    HomeLock lock;
    expect_error(home_lock(fixture_path(&home, "none"), &lock), ERROR_NOT_FOUND, "no home at");
}

static void test_home_lock_is_for_one_at_a_time(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    HomeLock lock, second;
    char expected[80];
    (void)snprintf(expected, sizeof expected,
        "home is in use by pid %d; use the daemon or another --home", (int)getpid());
    expect_ok(home_lock(home.path, &lock));
    expect_error(home_lock(home.path, &second), ERROR_REFUSED, expected);
    home_unlock(&lock);
    expect_ok(home_lock(home.path, &second));
    home_unlock(&second);
}

/* The owner is between taking the lock and writing its pid. */
static void test_home_lock_does_without_the_owners_pid(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    HomeLock lock, second;
    expect_ok(home_lock(home.path, &lock));
    assert_int_equal(truncate(fixture_path(&home, "lock"), 0), 0);
    expect_error(home_lock(home.path, &second), ERROR_REFUSED, "in use by another process");
    home_unlock(&lock);
}

static void test_home_lock_of_a_killed_process_is_free(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    HomeLock lock;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        Error *error = home_lock(home.path, &lock);
        if (error || write(ready[1], "r", 1) != 1) _exit(1);
        for (;;) (void)pause();
    }
    char letter, expected[40];
    assert_int_equal(read(ready[0], &letter, 1), 1);
    (void)snprintf(expected, sizeof expected, "by pid %d;", (int)child);
    expect_error(home_lock(home.path, &lock), ERROR_REFUSED, expected);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_ok(home_lock(home.path, &lock));
    home_unlock(&lock);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static void test_home_lock_follows_no_link(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    HomeLock lock;
    assert_int_equal(symlink("elsewhere", fixture_path(&home, "lock")), 0);
    expect_error(home_lock(home.path, &lock), ERROR_IO, "lock");
    assert_int_equal(access(fixture_path(&home, "elsewhere"), F_OK), -1);
}

static void test_home_lock_outlives_its_file(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    HomeLock lock, second;
    expect_ok(home_lock(home.path, &lock));
    assert_int_equal(unlink(fixture_path(&home, "lock")), 0);
    expect_error(home_lock(home.path, &second), ERROR_REFUSED, "in use by another process");
    home_unlock(&lock);
    expect_ok(home_lock(home.path, &second));
    home_unlock(&second);
}

TEST_GROUP(home, cmocka_unit_test(test_home_create_makes_every_folder_private),
    cmocka_unit_test(test_home_create_refuses_a_file_in_the_way),
    cmocka_unit_test(test_home_lock_needs_a_home),
    cmocka_unit_test(test_home_lock_is_for_one_at_a_time),
    cmocka_unit_test(test_home_lock_does_without_the_owners_pid),
    cmocka_unit_test(test_home_lock_of_a_killed_process_is_free),
    cmocka_unit_test(test_home_lock_follows_no_link),
    cmocka_unit_test(test_home_lock_outlives_its_file))
