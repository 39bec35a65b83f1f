#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/database/transaction.h"
#include "tests/store/store_fixtures.h"

static void expect_default_home(const char *expected) {
    char *home;
    expect_ok(store_default_home(&home));
    assert_string_equal(home, expected);
    memory_free(home);
}

static void test_store_default_home_follows_the_environment(void **state) {
    (void)state;
    const char *old = getenv("HOME");
    (void)setenv("HOME", "/home/ada", 1);
    (void)setenv("XDG_DATA_HOME", "/data", 1);
    (void)setenv("LAYOVER_HOME", "/lay", 1);
    expect_default_home("/lay");
    (void)unsetenv("LAYOVER_HOME");
    expect_default_home("/data/layover");
    (void)setenv("XDG_DATA_HOME", "", 1);
    expect_default_home("/home/ada/.local/share/layover");
    (void)unsetenv("HOME");
    char *home;
    expect_error(store_default_home(&home), ERROR_NOT_FOUND, "give --home DIR");
    if (old) (void)setenv("HOME", old, 1);
}

static void test_store_open_makes_a_private_home_when_asked(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    char path[FIXTURE_PATH_SIZE * 2];
    (void)snprintf(path, sizeof path, "%s", fixture_path(&home, "deep/er"));
    Store *store = NULL;
    expect_error(store_open(path, STORE_EXISTING, &store), ERROR_NOT_FOUND, "no store at");
    assert_int_equal(access(path, F_OK), -1);
    expect_ok(store_open(path, STORE_CREATE, &store));
    assert_string_equal(store_home(store), path);
    store_close(store);
    expect_ok(store_open(path, STORE_EXISTING, &store));
    store_close(store);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_store_open_refuses_a_home_in_use(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Store *second = NULL;
    expect_error(
        store_open(home.path, STORE_CREATE, &second), ERROR_REFUSED, "home is in use by pid");
    store_close(TAKE(store));
    expect_ok(store_open(home.path, STORE_CREATE, &second));
    store_close(second);
}

static void test_store_open_refuses_a_catalog_that_lost_its_chunks(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    store_close(fixture_open(&home));
    assert_int_equal(unlink(fixture_path(&home, "chunks.db")), 0);
    Store *store = NULL;
    expect_error(store_open(home.path, STORE_CREATE, &store), ERROR_CORRUPT, "chunks.db: missing");
}

/* A daemon may change its working directory; readers are opened later. */
static void test_store_of_a_relative_home_does_not_depend_on_the_folder(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    char before[FIXTURE_PATH_SIZE * 4];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(home.path), 0);
    Store *store = NULL;
    expect_ok(store_open("relative", STORE_CREATE, &store));
    assert_int_equal(chdir(before), 0);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 3, 500, NULL, NULL));
    fixture_expect_clean(store);
    store_close(store);
    expect_ok(store_open(fixture_path(&home, "relative"), STORE_EXISTING, &store));
    store_close(store);
}

static void test_store_keeps_what_was_registered(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    TextBuilder OWN_TEXT(before) = {0};
    TextBuilder OWN_TEXT(after) = {0};
    OWN(Store, store) = fixture_open(&home);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 4, 3000, "prod", NULL));
    fixture_print_state(store, &before);
    store_close(TAKE(store));
    store = fixture_open(&home);
    fixture_print_state(store, &after);
    assert_true(after.size > 0);
    assert_string_equal(text_builder_get(&before), text_builder_get(&after));
    fixture_expect_clean(store);
}

/* kill -9 of a process that registers, removes and collects without pause, at moments nobody chose.
 */
static void work_for_ever(const TestHome *home, int acknowledged) {
    Store *store = NULL;
    if (store_open(home->path, STORE_CREATE, &store)) _exit(1);
    for (uint32_t i = 0;; i++) {
        char name[16];
        GcResult result;
        (void)snprintf(name, sizeof name, "m%u", i % 7);
        Error *error = fixture_register(store, TENANT_DEFAULT, name, i, 6, 5000, "latest", NULL);
        if (!error && i % 3 == 2) error = models_remove(store, TENANT_DEFAULT, name, NULL);
        if (!error && i % 5 == 4) error = gc_run(store, &result);
        if (error || write(acknowledged, &i, sizeof i) != sizeof i) _exit(2);
    }
}

static void test_store_survives_kills_at_random_moments(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    for (unsigned round = 0; round < 20; round++) {
        int acknowledged[2];
        assert_int_equal(pipe(acknowledged), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) work_for_ever(&home, acknowledged[1]);
        (void)close(acknowledged[1]);
        (void)usleep(3000 + round * 2777);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        uint32_t last = 0;
        bool any = false;
        while (read(acknowledged[0], &last, sizeof last) == sizeof last) any = true;
        (void)close(acknowledged[0]);
        OWN(Store, store) = fixture_open(&home);
        fixture_expect_clean(store);
        ModelVersion OWN_VERSION(version) = {0};
        char name[24];
        (void)snprintf(name, sizeof name, "m%u@latest", last % 7);
        if (any && last % 3 != 2) expect_ok(models_find(store, TENANT_DEFAULT, name, &version));
    }
}

static void test_store_find_tenant_knows_the_default_one(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId tenant;
    expect_ok(store_find_tenant(store, "default", &tenant));
    assert_int_equal(tenant, TENANT_DEFAULT);
    expect_error(store_find_tenant(store, "nobody", &tenant), ERROR_NOT_FOUND, "no tenant nobody");
}

TEST_GROUP(store, cmocka_unit_test(test_store_default_home_follows_the_environment),
    cmocka_unit_test(test_store_open_makes_a_private_home_when_asked),
    cmocka_unit_test(test_store_open_refuses_a_home_in_use),
    cmocka_unit_test(test_store_open_refuses_a_catalog_that_lost_its_chunks),
    cmocka_unit_test(test_store_of_a_relative_home_does_not_depend_on_the_folder),
    cmocka_unit_test(test_store_keeps_what_was_registered),
    cmocka_unit_test(test_store_survives_kills_at_random_moments),
    cmocka_unit_test(test_store_find_tenant_knows_the_default_one))
