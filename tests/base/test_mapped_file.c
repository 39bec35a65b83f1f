#include "base/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "tests/support/test_support.h"

enum { PAGE = 4096, PAGES = 64 };

/* Open, and without a name. */
static int make_file(void) {
    char folder[64], path[128];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(descriptor >= 0);
    test_folder_remove(folder);
    char page[PAGE];
    for (int i = 0; i < PAGES; i++) {
        memset(page, 'a' + i % 26, sizeof page);
        assert_int_equal(write(descriptor, page, sizeof page), sizeof page);
    }
    return descriptor;
}

static void test_mapped_file_shows_the_file(void **state) {
    (void)state;
    int descriptor = make_file();
    OWN(MappedFile, file) = NULL;
    assert_ok(mapped_file_open(descriptor, PAGE * PAGES, &file));
    (void)close(descriptor);
    assert_int_equal(mapped_file_size(file), PAGE * PAGES);
    for (int i = 0; i < PAGES; i++)
        assert_int_equal(mapped_file_data(file)[i * PAGE + 7], 'a' + i % 26);
    assert_false(mapped_file_is_damaged(file));
    MappedFile *again = mapped_file_retain(file);
    mapped_file_release(again);
    assert_int_equal(mapped_file_data(file)[0], 'a');
}

static void test_mapped_file_refuses_what_is_not_there(void **state) {
    (void)state;
    int descriptor = make_file();
    MappedFile *file = NULL;
    assert_fails(INVALID, mapped_file_open(descriptor, PAGE * PAGES + 1, &file));
    assert_fails(INVALID, mapped_file_open(descriptor, 0, &file));
    assert_fails(INVALID, mapped_file_open(descriptor, UINT64_MAX, &file));
    assert_null(file);
    (void)close(descriptor);
}

/* Every page behind the new end raises SIGBUS: the reader goes on, and only that file is damaged.
 */
static void test_mapped_file_survives_truncation(void **state) {
    (void)state;
    int descriptor = make_file(), other = make_file();
    OWN(MappedFile, file) = NULL;
    OWN(MappedFile, whole) = NULL;
    assert_ok(mapped_file_open(descriptor, PAGE * PAGES, &file));
    assert_ok(mapped_file_open(other, PAGE * PAGES, &whole));
    assert_int_equal(ftruncate(descriptor, PAGE * 3), 0);
    assert_int_equal(mapped_file_data(file)[PAGE * 2], 'c');
    assert_false(mapped_file_is_damaged(file));
    for (int i = 3; i < PAGES; i++) assert_int_equal(mapped_file_data(file)[i * PAGE + 1], 0);
    assert_true(mapped_file_is_damaged(file));
    assert_int_equal(mapped_file_data(file)[PAGE * 2], 'c');
    assert_int_equal(mapped_file_data(whole)[PAGE * 5], 'f');
    assert_false(mapped_file_is_damaged(whole));
    (void)close(descriptor);
    (void)close(other);
    mapped_file_release(TAKE(file)); /* its place is taken anew, undamaged */
    descriptor = make_file();
    assert_ok(mapped_file_open(descriptor, PAGE * PAGES, &file));
    assert_false(mapped_file_is_damaged(file));
    (void)close(descriptor);
}

static void *read_last_page(void *argument) {
    const uint8_t *data = argument;
    return data[PAGE * (PAGES - 1)] == 0 ? argument : NULL;
}

/* Kernels read weights from theirs. */
static void test_mapped_file_survives_in_threads(void **state) {
    (void)state;
    int descriptor = make_file();
    pthread_t thread;
    void *result;
    OWN(MappedFile, file) = NULL;
    assert_ok(mapped_file_open(descriptor, PAGE * PAGES, &file));
    assert_int_equal(ftruncate(descriptor, PAGE * 3), 0);
    void *data = (void *)(uintptr_t)mapped_file_data(file);
    assert_true(thread_start(&thread, "reader", read_last_page, data));
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, data);
    assert_true(mapped_file_is_damaged(file));
    (void)close(descriptor);
}

enum { EXIT_HANDLED = 42 };
static void exit_handled(int number) {
    (void)number;
    _exit(EXIT_HANDLED);
}

/* In a child: the handler that was there before gets it. */
static void test_mapped_file_leaves_other_faults_alone(void **state) {
    (void)state;
    int descriptor = make_file(), status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        MappedFile *file;
        struct sigaction before = {.sa_handler = exit_handled};
        (void)sigaction(SIGBUS, &before, NULL);
        Error *error = mapped_file_open(descriptor, PAGE, &file);
        volatile char *data = mmap(NULL, PAGE * 2, PROT_READ, MAP_SHARED, descriptor, 0);
        if (error || ftruncate(descriptor, PAGE) != 0) _exit(1);
        _exit(data[PAGE] == 0 ? 2 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_HANDLED);
    (void)close(descriptor);
}

int test_mapped_file(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mapped_file_shows_the_file),
        cmocka_unit_test(test_mapped_file_refuses_what_is_not_there),
        cmocka_unit_test(test_mapped_file_survives_truncation),
        cmocka_unit_test(test_mapped_file_survives_in_threads),
        cmocka_unit_test(test_mapped_file_leaves_other_faults_alone),
    };
    return cmocka_run_group_tests_name("mapped_file", tests, NULL, NULL);
}
