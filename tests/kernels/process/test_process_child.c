#include "kernels/process/process_child.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/test_support.h"

typedef struct Bench {
    char *before; /* LAYOVER_WORKER, to be restored */
    char folder[64], program[96];
    int memory;
    atomic_int gone;
} Bench;

static void note_gone(void *context) { atomic_fetch_add(&((Bench *)context)->gone, 1); }

/* A shell script takes the worker's place. */
static void init(Bench *bench, const char *script) {
    const char *before = getenv("LAYOVER_WORKER");
    *bench = (Bench){
        .before = before ? strdup(before) : NULL, .memory = memfd_create("test", MFD_CLOEXEC)};
    assert_true(bench->memory >= 0);
    test_folder_create(bench->folder);
    (void)snprintf(bench->program, sizeof bench->program, "%s/program", bench->folder);
    FILE *file = fopen(bench->program, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\n%s\n", script) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(bench->program, 0700), 0);
    assert_int_equal(setenv("LAYOVER_WORKER", bench->program, 1), 0);
}

static void deinit(Bench *bench) {
    if (bench->before)
        assert_int_equal(setenv("LAYOVER_WORKER", bench->before, 1), 0);
    else
        assert_int_equal(unsetenv("LAYOVER_WORKER"), 0);
    free(bench->before);
    (void)close(bench->memory);
    test_folder_remove(bench->folder);
}

static Error *start(Bench *bench, ProcessChild **out) {
    const ProcessChildOptions options = {.verb = "worker",
        .spec = "sim:7",
        .memory = bench->memory,
        .gone = note_gone,
        .context = bench};
    return process_child_start(&options, out);
}

static void wait_gone(Bench *bench) {
    static const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 10000 && !atomic_load(&bench->gone); i++) (void)nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&bench->gone), 1);
}

static void test_process_child_is_given_what_it_needs_and_no_more(void **state) {
    (void)state;
    Bench bench;
    TextBuilder OWN_TEXT(text) = {0};
    OWN(ProcessChild, child) = NULL;
    init(&bench,
        "[ \"$*\" = 'worker sim:7' ] || exit 1\n" /* the script's name is not among them */
        "[ -S /proc/$$/fd/3 ] && [ -e /proc/$$/fd/4 ] || exit 2\n"
        "for i in 5 6 7 8 9 $(seq 11 99); do [ -e /proc/$$/fd/$i ] && exit 3; done\n" /* 10: sh */
        "exit 42");
    assert_ok(start(&bench, &child));
    wait_gone(&bench);
    process_child_describe(child, &text);
    assert_string_equal(text_builder_get(&text), "ended with exit code 42");
    process_child_end(TAKE(child));
    deinit(&bench);
}

static void test_process_child_can_be_killed(void **state) {
    (void)state;
    Bench bench;
    TextBuilder OWN_TEXT(text) = {0};
    OWN(ProcessChild, child) = NULL;
    init(&bench, "exec sleep 100");
    assert_ok(start(&bench, &child));
    process_child_describe(child, &text);
    assert_string_equal(text_builder_get(&text), "");
    process_child_kill(child);
    assert_true(process_child_wait(child));
    wait_gone(&bench);
    process_child_kill(child); /* nobody else's process */
    process_child_describe(child, &text);
    assert_string_equal(text_builder_get(&text), "was ended by signal 9");
    process_child_end(TAKE(child));
    deinit(&bench);
}

/* One that does not end with its socket has two seconds. */
static void test_process_child_ends_after_a_grace(void **state) {
    (void)state;
    Bench bench;
    ProcessChild *child;
    init(&bench, "exec sleep 100");
    assert_ok(start(&bench, &child));
    uint64_t start_ns = clock_now_ns(clock_real());
    process_child_end(child);
    uint64_t took_ns = clock_now_ns(clock_real()) - start_ns;
    assert_true(took_ns >= 1900000000 && took_ns < 60000000000);
    assert_int_equal(atomic_load(&bench.gone), 1);
    deinit(&bench);
}

static void test_process_child_says_what_cannot_be_started(void **state) {
    (void)state;
    Bench bench;
    ProcessChild *child = NULL;
    init(&bench, "exit 0");
    assert_int_equal(setenv("LAYOVER_WORKER", "/nowhere/at/all", 1), 0);
    assert_fails_saying(
        UNSUPPORTED, "\"/nowhere/at/all\" cannot be started: No such file", start(&bench, &child));
    assert_null(child);
    assert_int_equal(atomic_load(&bench.gone), 0);
    deinit(&bench);
}

int test_process_child(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_child_is_given_what_it_needs_and_no_more),
        cmocka_unit_test(test_process_child_can_be_killed),
        cmocka_unit_test(test_process_child_ends_after_a_grace),
        cmocka_unit_test(test_process_child_says_what_cannot_be_started),
    };
    return cmocka_run_group_tests_name("process_child", tests, NULL, NULL);
}
