#include "tests/store/fault_scenarios.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPERATIONS_MAX = 2000,
    STATUS_ERROR = 20,
    GOES_ON_EVERY = 4, /* of how many damaged homes one is worked on with */
    ERROR_STEP = 3,    /* a process that lives ends in the same few ways wherever a call failed */
};

static const FaultScenario only_open = {.name = "open"};

static Error *open_and_run(const TestHome *home, const FaultScenario *scenario) {
    OWN(Store, store) = NULL;
    TRY(store_open(home->path, STORE_CREATE, &store));
    return scenario->run ? scenario->run(store) : NULL;
}

static void print_home(const TestHome *home, FaultPrinter *print, TextBuilder *out) {
    OWN(Store, store) = fixture_open(home);
    print(store, out);
    fixture_expect_clean(store);
}

/* The exit status of a process that runs the scenario with the fault armed. */
static int run_in_child(const TestHome *home, const FaultScenario *scenario, KvfsFault fault,
    uint64_t at, bool forever) {
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
    FaultPrinter *print;
    const char *old, *new;
} States;

static void check_after(const TestHome *home, const FaultScenario *scenario, KvfsFault fault,
    uint64_t at, int status, const States *states) {
    TextBuilder OWN_TEXT(state) = {0};
    print_home(home, states->print, &state);
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
    expect_ok(open_and_run(home, status <= 1 || is_new ? &only_open : scenario));
    text_builder_deinit(&state);
    print_home(home, states->print, &state);
    assert_string_equal(text_builder_get(&state), states->new);
}

static void run_fault(const TestHome *template_home, const TestHome *home,
    const FaultScenario *scenario, KvfsFault fault, bool forever, const States *states) {
    const bool ends = fault == KVFS_KILL || fault == KVFS_POWER;
    const uint64_t step = ends || FAULT_STEP > ERROR_STEP ? FAULT_STEP : ERROR_STEP;
    for (uint64_t at = 1 + (uint64_t)fault % step; at < OPERATIONS_MAX; at += step) {
        fixture_home_copy(template_home, home);
        int status = run_in_child(home, scenario, fault, at, forever);
        check_after(home, scenario, fault, at, status, states);
        if (status == 0) return; /* ended before the at-th operation */
    }
    fail_msg("%s never ends", scenario->name);
}

static void prepare(const TestHome *home, const FaultScenario *scenario) {
    if (scenario->prepare_home) scenario->prepare_home(home);
    if (!scenario->prepare) return;
    OWN(Store, store) = fixture_open(home);
    expect_ok(scenario->prepare(store));
}

void fault_scenario_run(
    const FaultScenario *scenario, FaultPrinter *print, KvfsFault fault, bool forever) {
    kvfs_install();
    kvfs_allocate_ahead(false);
    TestHome OWN_HOME(template_home) = fixture_home_make();
    TestHome OWN_HOME(home) = fixture_home_make();
    TextBuilder OWN_TEXT(old_state) = {0};
    TextBuilder OWN_TEXT(new_state) = {0};
    prepare(&template_home, scenario);
    fixture_home_copy(&template_home, &home);
    print_home(&home, print, &old_state);
    expect_ok(open_and_run(&home, scenario));
    print_home(&home, print, &new_state);
    States states = {print, text_builder_get(&old_state), text_builder_get(&new_state)};
    run_fault(&template_home, &home, scenario, fault, forever, &states);
    kvfs_allocate_ahead(true);
}
