#include "tests/support/test_support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void test_assert_ok(Error *owned_error, const char *what, const char *file, int line) {
    if (!owned_error) return;
    print_error("%s: %s (%s)\n", what, error_message(owned_error), error_where(owned_error));
    error_free(owned_error);
    _fail(file, line);
}

void test_assert_fails(Error *owned_error, ErrorCode code, const char *text, const char *what,
    const char *file, int line) {
    bool as_wanted = owned_error && error_code(owned_error) == code &&
                     (!text || strstr(error_message(owned_error), text));
    if (!as_wanted)
        print_error("%s: gave %s \"%s\" instead of %s \"%s\"\n", what,
            owned_error ? error_info(error_code(owned_error))->name : "no error",
            error_message(owned_error), error_info(code)->name, text ? text : "");
    error_free(owned_error);
    if (!as_wanted) _fail(file, line);
}

void test_folder_create(char out_path[64]) {
    (void)snprintf(out_path, 64, "/tmp/layover_test_XXXXXX");
    if (!mkdtemp(out_path)) fail_msg("cannot make a folder like %s", out_path);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void test_folder_remove(const char *path) {
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
