#include "base/library/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test_support.h"

typedef struct Functions {
    double (*cos)(double x);
    double (*missing)(double x);
} Functions;

static void test_shared_library_gives_the_functions_of_its_table(void **state) {
    (void)state;
    static const SharedLibraryFunction known[] = {{"cos", offsetof(Functions, cos)}};
    static const SharedLibraryFunction unknown[] = {{"no_such_cos", offsetof(Functions, missing)}};
    Functions functions = {0};
    assert_ok(shared_library_open("libm.so.6", known, 1, &functions));
    assert_true(functions.cos(0) == 1);
    assert_fails_saying(UNSUPPORTED, "the libm.so.6 on this machine has no no_such_cos",
        shared_library_open("libm.so.6", unknown, 1, &functions));
    assert_fails_saying(UNSUPPORTED, "no libnobody.so.1 on this machine",
        shared_library_open("libnobody.so.1", known, 1, &functions));
}

static uint32_t opened, failures_left;

static Error *open_with_failures(void) {
    if (failures_left > 0) {
        failures_left--;
        FAIL(UNSUPPORTED, "not yet");
    }
    opened++;
    return NULL;
}

static void test_shared_library_is_opened_until_it_succeeded_once(void **state) {
    (void)state;
    static SharedLibraryOnce once = SHARED_LIBRARY_CLOSED;
    opened = 0;
    failures_left = 2;
    for (int i = 0; i < 2; i++)
        assert_fails_saying(
            UNSUPPORTED, "not yet", shared_library_open_once(&once, open_with_failures));
    for (int i = 0; i < 3; i++) assert_ok(shared_library_open_once(&once, open_with_failures));
    assert_int_equal(opened, 1);
}

/* A file of one program header, whose segment holds a note of another kind before the one that is
 * asked for; cut at every length it must end without it, or with it. */
static void test_shared_library_reads_the_build_of_a_file(void **state) {
    (void)state;
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        Elf64_Nhdr other;
        char other_name[8], other_content[4];
        Elf64_Nhdr note;
        char name[4];
        uint8_t content[4];
    } file = {.other = {5, 3, 1},
        .other_name = "Abcd",
        .note = {4, 4, NT_GNU_BUILD_ID},
        .name = "GNU",
        .content = {0xc0, 0xff, 0xee, 1}};
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_phentsize = sizeof(Elf64_Phdr);
    file.header.e_phnum = 1;
    file.header.e_phoff = sizeof file.header;
    file.segment.p_type = PT_NOTE;
    file.segment.p_offset = sizeof file.header + sizeof file.segment;
    file.segment.p_filesz = sizeof file - file.segment.p_offset;
    char path[] = "/tmp/layover-library-XXXXXX", found[SHARED_LIBRARY_BUILD_SIZE];
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    for (size_t size = 0; size <= sizeof file; size++) {
        assert_int_equal(ftruncate(descriptor, 0), 0);
        assert_int_equal(pwrite(descriptor, &file, size, 0), (ssize_t)size);
        assert_ok(shared_library_read_build(path, found));
        if (size < offsetof(__typeof__(file), name)) assert_string_equal(found, "");
    }
    assert_string_equal(found, "c0ffee01");
    file.note.n_descsz = 0xfffffffe; /* longer than the file */
    assert_int_equal(pwrite(descriptor, &file, sizeof file, 0), (ssize_t)sizeof file);
    assert_ok(shared_library_read_build(path, found));
    assert_string_equal(found, "");
    (void)close(descriptor);
    (void)unlink(path);
    assert_fails_saying(IO, "No such file", shared_library_read_build(path, found));
}

/* Where a library's call is changed and then comes along is shown by test_http_gate.c. */
static void test_shared_library_redirects_only_what_is_called(void **state) {
    (void)state;
    void *previous = NULL;
    const void *inside = dlsym(RTLD_DEFAULT, "pthread_create");
    assert_non_null(inside);
    assert_fails_saying(UNSUPPORTED, "does not call no_such_function",
        shared_library_redirect(inside, "no_such_function", inside, &previous));
    assert_fails(UNSUPPORTED, shared_library_redirect(&previous, "recv", inside, &previous));
    assert_null(previous);
}

int test_shared_library(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_library_gives_the_functions_of_its_table),
        cmocka_unit_test(test_shared_library_is_opened_until_it_succeeded_once),
        cmocka_unit_test(test_shared_library_reads_the_build_of_a_file),
        cmocka_unit_test(test_shared_library_redirects_only_what_is_called),
    };
    return cmocka_run_group_tests_name("shared_library", tests, NULL, NULL);
}
