#include "scheduler/node/compile_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/test_support.h"

static const char program[] = "constant @x = float32[2] {1, -2}\n"
                              "function main() -> (y: float32[2]) exported {\n Ret @x\n}\n";

typedef struct Place {
    char folder[64], source[128];
    CompileChild child;
} Place;

static int setup(void **state) {
    static Place place;
    test_folder_create(place.folder);
    (void)snprintf(place.source, sizeof place.source, "%s/m", place.folder);
    assert_ok(file_write_atomic(place.source, program, sizeof program - 1));
    place.child = (CompileChild){.compiler = getenv("LAYOVER_BIN"),
        .folder = place.folder,
        .source = "m",
        .output = "out.lvx",
        .format = "lva"};
    assert_non_null(place.child.compiler);
    *state = &place;
    return 0;
}

static int teardown(void **state) {
    test_folder_remove(((Place *)*state)->folder);
    return 0;
}

static void test_compile_child_compiles(void **state) {
    Place *place = *state;
    char path[160];
    struct stat status;
    assert_ok(compile_child_run(&place->child));
    (void)snprintf(path, sizeof path, "%s/out.lvx", place->folder);
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_size > 100);
}

/* What the compiler says comes back under its code, without the path of the folder. */
static void test_compile_child_tells_what_was_wrong(void **state) {
    Place *place = *state;
    assert_ok(file_write_atomic(place->source, "function main() {\n Frobnicate\n}\n", 32));
    Error *error = compile_child_run(&place->child);
    assert_non_null(error);
    assert_non_null(strstr(error_message(error), "m:"));
    assert_null(strstr(error_message(error), place->folder));
    assert_int_equal(error_info(error_code(error))->http_status, 400);
    error_free(error);
    place->child.format = "onnx";
    error = compile_child_run(&place->child);
    assert_int_equal(error_info(error_code(error))->http_status, 400);
    error_free(error);
    place->child.format = "cobol";
    assert_fails(INVALID, compile_child_run(&place->child));
    place->child.format = "lva";
    place->child.precision = "int8";
    assert_fails(UNSUPPORTED, compile_child_run(&place->child));
}

static void write_script(Place *place, const char *text, char out_path[160]) {
    (void)snprintf(out_path, 160, "%s/script", place->folder);
    assert_ok(file_write_atomic(out_path, text, strlen(text)));
    assert_int_equal(chmod(out_path, 0700), 0);
    place->child.compiler = out_path;
}

/* Compilers that hang, chatter, break, or say nothing. */
static void test_compile_child_ends_whatever_it_does(void **state) {
    Place *place = *state;
    char path[160];
    place->child.limit_s = 1;
    write_script(place, "#!/bin/sh\nexec sleep 100\n", path);
    assert_fails_saying(FAILED, "1 s", compile_child_run(&place->child));
    place->child.limit_s = 20;
    write_script(place, "#!/bin/sh\nhead -c 1000000 /dev/zero >&2\nexit 1\n", path);
    assert_fails_saying(FAILED, "exit code 1", compile_child_run(&place->child));
    write_script(place, "#!/bin/sh\nkill -SEGV $$\n", path);
    assert_fails_saying(FAILED, "signal 11", compile_child_run(&place->child));
    write_script(place,
        "#!/bin/sh\necho '{\"error\":{\"code\":\"OUT_OF_MEMORY\",\"message\":\"m: none\"}}' "
        ">&2\nexit 1\n",
        path);
    assert_fails_saying(EXHAUSTED, "m: none", compile_child_run(&place->child));
    write_script(place, "#!/bin/sh\necho '{\"error\":1}' >&2\nexit 2\n", path);
    assert_fails_saying(FAILED, "exit code 2", compile_child_run(&place->child));
    place->child.compiler = "/nowhere/layover";
    assert_fails(IO, compile_child_run(&place->child));
}

/* Lines without control characters, few and short ones, whatever the child prints. */
static void test_compile_child_hands_on_warnings(void **state) {
    Place *place = *state;
    char path[160];
    TextBuilder OWN_TEXT(warnings) = {0};
    place->child.warnings = &warnings;
    write_script(place,
        "#!/bin/sh\necho "
        "'{\"executable\":\"x\",\"warnings\":[\"one\",2,\"t\\u001b[1mo\\nthree\"]}'\n",
        path);
    assert_ok(compile_child_run(&place->child));
    assert_string_equal(text_builder_get(&warnings), "one\nt [1mo three\n");
    text_builder_deinit(&warnings);
    write_script(place,
        "#!/bin/sh\nprintf '{\"warnings\":[\"a\"'\n"
        "for i in $(seq 200); do printf ',\"%2000s\"' $i; done\necho ']}'\n",
        path);
    assert_ok(compile_child_run(&place->child));
    size_t lines = 0;
    for (const char *c = text_builder_get(&warnings); *c; c++) lines += *c == '\n';
    assert_int_equal(lines, COMPILE_CHILD_WARNINGS_MAX);
    assert_int_equal(warnings.size, 2 + (lines - 1) * (COMPILE_CHILD_WARNING_SIZE + 1));
    text_builder_deinit(&warnings);
    write_script(place, "#!/bin/sh\nhead -c 20000000 /dev/zero\necho oops >&2\n", path);
    assert_ok(compile_child_run(&place->child));
    assert_string_equal(text_builder_get(&warnings), "");
}

/* A file of its output's size is refused, and data in other files. */
static void test_compile_child_has_limits(void **state) {
    Place *place = *state;
    place->child.file_bytes = 64;
    Error *error = compile_child_run(&place->child);
    assert_true(error_code(error) == ERROR_EXHAUSTED || error_code(error) == ERROR_IO);
    error_free(error);
}

int test_compile_child(void) {
#define WITH_PLACE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_compile_child_compiles),
        WITH_PLACE(test_compile_child_tells_what_was_wrong),
        WITH_PLACE(test_compile_child_ends_whatever_it_does),
        WITH_PLACE(test_compile_child_hands_on_warnings),
        WITH_PLACE(test_compile_child_has_limits),
    };
    return cmocka_run_group_tests_name("compile_child", tests, NULL, NULL);
}
