/* Every write, sync, truncation, deletion and opening of a file is, one after the other, the one at
 * which the process is killed, the power is cut, or the disk fails; afterwards the home has the old
 * state or the new one. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/store/kvfs.h"
#include "tests/store/store_fixtures.h"

enum {
    CHUNK_BYTES = 700,
    LONG_CHUNK_BYTES = 70000, /* beyond a page */
    OPERATIONS_MAX = 2000,
    STATUS_ERROR = 20,
    GOES_ON_EVERY = 4, /* of how many damaged homes one is worked on with */
};

/* Something that a process does with a store between opening and closing it. */
typedef struct Scenario {
    const char *name;
    Error *(*prepare)(Store *store);
    Error *(*run)(Store *store);
} Scenario;

static Error *nothing(Store *store) {
    (void)store;
    return NULL;
}

static Error *two_models(Store *store) {
    TRY(fixture_register(store, TENANT_DEFAULT, "a", 1, 3, CHUNK_BYTES, "prod", NULL));
    TRY(fixture_register(store, TENANT_DEFAULT, "a", 2, 4, CHUNK_BYTES, NULL, NULL));
    return fixture_register(store, TENANT_DEFAULT, "b", 10, 2, CHUNK_BYTES, "prod", NULL);
}

static Error *two_models_and_garbage(Store *store) {
    TRY(two_models(store));
    TRY(fixture_register(store, TENANT_DEFAULT, "c", 20, 4, LONG_CHUNK_BYTES, NULL, NULL));
    return models_remove(store, TENANT_DEFAULT, "c", NULL);
}

static Error *register_version(Store *store) {
    return fixture_register(store, TENANT_DEFAULT, "a", 3, 5, CHUNK_BYTES, "prod", NULL);
}

static Error *register_model(Store *store) {
    return fixture_register(store, TENANT_DEFAULT, "d", 30, 2, LONG_CHUNK_BYTES, "new", NULL);
}

static Error *remove_version(Store *store) {
    return models_remove(store, TENANT_DEFAULT, "a@prod", NULL);
}

static Error *remove_model(Store *store) { return models_remove(store, TENANT_DEFAULT, "a", NULL); }

static Error *set_alias(Store *store) {
    return models_set_alias(store, TENANT_DEFAULT, "a", "prod", 2);
}

static Error *collect(Store *store) {
    GcResult result;
    return gc_run(store, &result);
}

static Error *upload_only(Store *store) {
    OWN(ChunkUpload, upload) = NULL;
    TRY(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    TRY(fixture_upload(upload, 40, 6, CHUNK_BYTES));
    return chunk_upload_flush(upload);
}

static const Scenario scenarios[] = {
    {"create", NULL, nothing},
    {"open", two_models, nothing},
    {"register a version", two_models, register_version},
    {"register a model", two_models, register_model},
    {"remove a version", two_models, remove_version},
    {"remove a model", two_models, remove_model},
    {"set an alias", two_models, set_alias},
    {"gc", two_models_and_garbage, collect},
    {"upload", two_models, upload_only},
};

static Error *open_and_run(const TestHome *home, const Scenario *scenario) {
    OWN(Store, store) = NULL;
    TRY(store_open(home->path, STORE_CREATE, &store));
    return scenario->run(store);
}

static void print_home(const TestHome *home, TextBuilder *out) {
    OWN(Store, store) = fixture_open(home);
    fixture_print_state(store, out);
    fixture_expect_clean(store);
}

/* The exit status of a process that runs the scenario with the fault armed. */
static int run_in_child(
    const TestHome *home, const Scenario *scenario, KvfsFault fault, uint64_t at, bool forever) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kvfs_arm(fault, at, forever, at);
        Error *error = open_and_run(home, scenario);
        bool reached = kvfs_count() >= at;
        int status = error ? STATUS_ERROR + (int)error_code(error) : reached;
        error_free(error);
        _exit(status);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool is_expected_error(KvfsFault fault, int status) {
    int code = status - STATUS_ERROR;
    switch (fault) {
    case KVFS_FULL:
    case KVFS_SHORT:
        return code == ERROR_EXHAUSTED;
    case KVFS_IO:
    case KVFS_SYNC:
    case KVFS_READ:
        return code == ERROR_IO;
    case KVFS_NONE:
    case KVFS_KILL:
    case KVFS_POWER:
    case KVFS_FAULT_COUNT:
        break;
    }
    return false;
}

typedef struct States {
    const char *old, *new;
} States;

static void check_after(const TestHome *home, const Scenario *scenario, KvfsFault fault,
    uint64_t at, int status, const States *states) {
    TextBuilder OWN_TEXT(state) = {0};
    print_home(home, &state);
    bool is_old = strcmp(text_builder_get(&state), states->old) == 0;
    bool is_new = strcmp(text_builder_get(&state), states->new) == 0;
    bool failed = status >= STATUS_ERROR && status != KVFS_KILLED;
    bool right = is_old || is_new;
    if (status <= 1) right = is_new; /* what was acknowledged is there */
    if (failed) right = right && is_expected_error(fault, status);
    /* A full disk changes nothing. After a failed sync the commit may or may not be in the log. */
    if (failed && (fault == KVFS_FULL || fault == KVFS_SHORT)) right = right && is_old;
    if (!right)
        fail_msg("%s, %s at operation %llu: status %d, then\n%s", scenario->name,
            kvfs_fault_name(fault), (unsigned long long)at, status, text_builder_get(&state));
    if (at % GOES_ON_EVERY) return;
    expect_ok(open_and_run(home, status <= 1 || is_new ? &scenarios[1] : scenario));
    text_builder_deinit(&state);
    print_home(home, &state);
    assert_string_equal(text_builder_get(&state), states->new);
}

static void run_fault(const TestHome *template_home, const TestHome *home, const Scenario *scenario,
    KvfsFault fault, bool forever, const States *states) {
    for (uint64_t at = 1; at < OPERATIONS_MAX; at++) {
        fixture_home_copy(template_home, home);
        int status = run_in_child(home, scenario, fault, at, forever);
        check_after(home, scenario, fault, at, status, states);
        if (status == 0) return; /* ended before the at-th operation */
    }
    fail_msg("%s never ends", scenario->name);
}

static void prepare(const TestHome *home, const Scenario *scenario) {
    if (!scenario->prepare) return;
    OWN(Store, store) = fixture_open(home);
    expect_ok(scenario->prepare(store));
}

static void run_scenario(const Scenario *scenario, KvfsFault fault, bool forever) {
    TestHome OWN_HOME(template_home) = fixture_home_make();
    TestHome OWN_HOME(home) = fixture_home_make();
    TextBuilder OWN_TEXT(old_state) = {0};
    TextBuilder OWN_TEXT(new_state) = {0};
    prepare(&template_home, scenario);
    fixture_home_copy(&template_home, &home);
    print_home(&home, &old_state);
    expect_ok(open_and_run(&home, scenario));
    print_home(&home, &new_state);
    States states = {text_builder_get(&old_state), text_builder_get(&new_state)};
    run_fault(&template_home, &home, scenario, fault, forever, &states);
}

static void run_scenarios(KvfsFault fault, bool forever) {
    kvfs_install();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        run_scenario(&scenarios[i], fault, forever);
}

static void test_store_survives_a_kill_at_every_operation(void **state) {
    (void)state;
    run_scenarios(KVFS_KILL, false);
}

static void test_store_survives_a_power_cut_at_every_operation(void **state) {
    (void)state;
    run_scenarios(KVFS_POWER, false);
}

static void test_store_is_unchanged_by_a_full_disk(void **state) {
    (void)state;
    run_scenarios(KVFS_FULL, true);
}

static void test_store_is_unchanged_by_short_writes(void **state) {
    (void)state;
    run_scenarios(KVFS_SHORT, false);
}

static void test_store_survives_failing_writes(void **state) {
    (void)state;
    run_scenarios(KVFS_IO, false);
}

static void test_store_survives_failing_syncs(void **state) {
    (void)state;
    run_scenarios(KVFS_SYNC, false);
}

static void test_store_survives_failing_reads(void **state) {
    (void)state;
    run_scenarios(KVFS_READ, false);
}

/* A sync that works again proves nothing: the kernel may have dropped what it could not write. */
static void test_store_writes_nothing_more_after_a_failed_sync(void **state) {
    (void)state;
    kvfs_install();
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    expect_ok(two_models(store));
    kvfs_arm(KVFS_SYNC, 1, false, 0);
    expect_error(set_alias(store), ERROR_IO, "failed to sync");
    kvfs_arm(KVFS_NONE, 0, false, 0);
    expect_error(set_alias(store), ERROR_IO, "failed to sync before");
    expect_error(upload_only(store), ERROR_IO, "failed to sync before");
    GcResult result;
    expect_error(gc_run(store, &result), ERROR_IO, "failed to sync before");
    ModelVersion OWN_VERSION(version) = {0};
    expect_ok(models_find(store, TENANT_DEFAULT, "a@prod", &version));
    assert_int_equal(version.version, 1);
    store_close(TAKE(store));
    store = fixture_open(&home);
    expect_ok(set_alias(store));
    fixture_expect_clean(store);
}

static void test_store_says_when_the_disk_is_full(void **state) {
    (void)state;
    kvfs_install();
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    kvfs_arm(KVFS_FULL, 1, true, 0);
    expect_error(two_models(store), ERROR_EXHAUSTED, "chunks.db: no space left on the disk");
    kvfs_arm(KVFS_NONE, 0, false, 0);
    expect_ok(two_models(store)); /* somebody made room */
}

TEST_GROUP(store_faults, cmocka_unit_test(test_store_survives_a_kill_at_every_operation),
    cmocka_unit_test(test_store_survives_a_power_cut_at_every_operation),
    cmocka_unit_test(test_store_is_unchanged_by_a_full_disk),
    cmocka_unit_test(test_store_is_unchanged_by_short_writes),
    cmocka_unit_test(test_store_survives_failing_writes),
    cmocka_unit_test(test_store_survives_failing_syncs),
    cmocka_unit_test(test_store_survives_failing_reads),
    cmocka_unit_test(test_store_writes_nothing_more_after_a_failed_sync),
    cmocka_unit_test(test_store_says_when_the_disk_is_full))
