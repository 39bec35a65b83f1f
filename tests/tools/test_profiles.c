#include "tools/remote/profiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/support/test_support.h"
#include "tools/remote/private_file.h"

static char folder[64], path[96];

static int setup(void **state) {
    (void)state;
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/config", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_folder_remove(folder);
    return 0;
}

static const char two[] = "# servers\n"
                          "\n"
                          "[work] # the big one\n"
                          "server = \"https://gpu1:8443\"\r\n"
                          "token_file=\"work.token\"   # beside this file\n"
                          "\ttenant = \"a \\\"b\\\" \\\\\"\n"
                          "[ home ]\n"
                          "server = \"/run/layover\"";

static void test_profiles_are_read(void **state) {
    (void)state;
    Profiles OWN_PROFILES(profiles) = {0};
    assert_ok(profiles_parse("config", two, strlen(two), &profiles));
    assert_int_equal(profiles.count, 2);
    const Profile *work = profiles_find(&profiles, "work");
    assert_string_equal(work->values[PROFILE_SERVER], "https://gpu1:8443");
    assert_string_equal(work->values[PROFILE_TOKEN_FILE], "work.token");
    assert_string_equal(work->values[PROFILE_TENANT], "a \"b\" \\");
    assert_string_equal(work->values[PROFILE_CA_FILE], "");
    assert_string_equal(profiles_find(&profiles, "home")->values[PROFILE_SERVER], "/run/layover");
    assert_null(profiles_find(&profiles, "wor"));
}

static void test_profiles_name_the_line_of_a_fault(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"server = \"x\"", "config:1: the key server stands in no profile"},
        {"[a]\nserver = x", "config:2: a text in double quotes"},
        {"[a]\nserver = \"x", "config:2: the closing quote is missing"},
        {"[a]\nserver = \"\"", "config:2: the text is empty"},
        {"[a]\nserver = \"x\" y", "config:2: only a comment may stand behind a value"},
        {"[a]\nserver = \"\\n\"", "config:2: only \\\" and \\\\ are escapes"},
        {"[a]\nservr = \"x\"", "config:2: there is no key servr; the nearest is server"},
        {"[a]\nserver = \"x\"\nserver = \"y\"", "config:3: the key server is there twice"},
        {"[a]\nserver = \"x\"\n[a]", "config:3: the profile a is there twice"},
        {"[a", "config:1: [NAME] is wanted"},
        {"[]", "config:1: [NAME] is wanted"},
        {"[a b]", "config:1: [NAME] is wanted"},
        {"[a] b", "config:1: only a comment may stand behind [NAME]"},
        {"[a]\nserver", "config:2: [NAME], or KEY = \"VALUE\", is wanted"},
        {"[a]\n\x01", "config:2: there is a control character"},
        {"[a]\nserver = \"\xff\"", "config:2: the line is not UTF-8"},
        {"[a]\ntenant = \"x\"", "config: the profile a has no server"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Profiles OWN_PROFILES(profiles) = {0};
        Error *error = profiles_parse("config", cases[i][0], strlen(cases[i][0]), &profiles);
        assert_int_equal(error_code(error), ERROR_INVALID);
        if (!strstr(error_message(error), cases[i][1]))
            fail_msg("%s is not in %s", cases[i][1], error_message(error));
        error_free(error);
    }
}

/* One more of each than is taken. */
static void test_profiles_are_limited(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        TextBuilder OWN_TEXT(text) = {0};
        Profiles OWN_PROFILES(profiles) = {0};
        if (kind == 0)
            for (int i = 0; i <= PROFILES_MAX; i++)
                text_appendf(&text, "[p%d]\nserver=\"/s\"\n", i);
        if (kind == 1) text_append(&text, "[a]\nserver = \"");
        const int size = kind == 1 ? PROFILE_VALUE_SIZE : kind == 2 ? PROFILES_SIZE_MAX + 1 : 0;
        for (int i = 0; i < size; i++) text_append(&text, kind == 1 ? "x" : "\n");
        if (kind == 1) text_append(&text, "\"");
        assert_fails_saying(INVALID, "at most",
            profiles_parse("config", text_builder_get(&text), text.size, &profiles));
    }
}

static void file_is(const char *wanted) {
    uint8_t *data;
    size_t size;
    assert_ok(file_read(path, PROFILES_SIZE_MAX, &data, &size));
    assert_int_equal(size, strlen(wanted));
    if (size) assert_memory_equal(data, wanted, size);
    memory_unmap(data, size);
}

static void write_one(const char *name, const Profile *profile) {
    Profiles OWN_PROFILES(profiles) = {0};
    assert_ok(profiles_read(path, &profiles));
    assert_ok(profiles_write(path, &profiles, name, profile));
}

/* Comments and other profiles stay as they are, and the file is its owner's alone. */
static void test_profiles_are_added_replaced_and_removed(void **state) {
    (void)state;
    struct stat status;
    Profile one = {.name = "one", .values = {[PROFILE_SERVER] = "/a\"\\"}};
    write_one("one", &one);
    file_is("[one]\nserver = \"/a\\\"\\\\\"\n");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0644), 0);
    Profile second = {.name = "two", .values = {[PROFILE_SERVER] = "/b", [PROFILE_TENANT] = "t"}};
    write_one("two", &second);
    file_is("[one]\nserver = \"/a\\\"\\\\\"\n\n[two]\nserver = \"/b\"\ntenant = \"t\"\n");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    (void)snprintf(one.values[PROFILE_SERVER], PROFILE_VALUE_SIZE, "/c");
    write_one("one", &one);
    file_is("[one]\nserver = \"/c\"\n\n[two]\nserver = \"/b\"\ntenant = \"t\"\n");
    write_one("two", NULL);
    file_is("[one]\nserver = \"/c\"\n\n");
    write_one("one", NULL);
    file_is("");
}

static void test_profiles_with_what_no_file_has_are_not_written(void **state) {
    (void)state;
    Profiles OWN_PROFILES(profiles) = {0};
    const Profile bad = {.name = "bad", .values = {[PROFILE_SERVER] = "/a\nb"}};
    assert_ok(profiles_read(path, &profiles));
    assert_fails_saying(INVALID, "closing quote", profiles_write(path, &profiles, "bad", &bad));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_profiles_stand_where_the_environment_says(void **state) {
    (void)state;
    static const struct {
        const char *config, *xdg, *wanted;
    } cases[] = {{"/c", "/x", "/c"}, {"", "/x", "/x/layover/config"},
        {NULL, NULL, "/h/.config/layover/config"}};
    const char *home = getenv("HOME");
    char *kept = home ? strdup(home) : NULL, *found;
    (void)setenv("HOME", "/h", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)unsetenv("LAYOVER_CONFIG");
        (void)unsetenv("XDG_CONFIG_HOME");
        if (cases[i].config) (void)setenv("LAYOVER_CONFIG", cases[i].config, 1);
        if (cases[i].xdg) (void)setenv("XDG_CONFIG_HOME", cases[i].xdg, 1);
        assert_ok(profiles_find_path(&found));
        assert_string_equal(found, cases[i].wanted);
        memory_free(found);
    }
    (void)unsetenv("HOME");
    assert_fails_saying(NOT_FOUND, "are not set", profiles_find_path(&found));
    if (kept) (void)setenv("HOME", kept, 1);
    free(kept);
    assert_ok(profiles_resolve("/a/config", "b.token", &found));
    assert_string_equal(found, "/a/b.token");
    memory_free(found);
    assert_ok(profiles_resolve("/a/config", "/b.token", &found));
    assert_string_equal(found, "/b.token");
    memory_free(found);
}

static void write_text(const char *text, mode_t mode) {
    assert_ok(file_write_atomic(path, text, strlen(text)));
    assert_int_equal(chmod(path, mode), 0);
}

static void test_profiles_take_tokens_of_private_files_alone(void **state) {
    (void)state;
    char *line = NULL;
    struct stat status;
    assert_fails_saying(NOT_FOUND, path, private_file_read_line(path, &line));
    assert_ok(private_file_write_line(path, "secret"));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_ok(private_file_read_line(path, &line));
    assert_string_equal(line, "secret");
    private_file_release(line);
    write_text("  a b \r\n\n", 0400);
    assert_ok(private_file_read_line(path, &line));
    assert_string_equal(line, "a b");
    private_file_release(line);
    static const mode_t modes[] = {0644, 0640, 0604, 0620, 0601};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        write_text("secret\n", modes[i]);
        assert_fails_saying(REFUSED, "run chmod 600", private_file_read_line(path, &line));
    }
    static const char *const bad[] = {"", "\n", "a\nb\n", "a\x01"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(bad[i], 0600);
        assert_fails(INVALID, private_file_read_line(path, &line));
    }
    assert_fails_saying(INVALID, "not a regular", private_file_read_line(folder, &line));
    /* the rights that a replaced file had are gone */
    write_text("old\n", 0666);
    assert_ok(private_file_write_line(path, "new"));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

int test_profiles(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profiles_are_read),
        cmocka_unit_test(test_profiles_name_the_line_of_a_fault),
        cmocka_unit_test(test_profiles_are_limited),
        cmocka_unit_test_setup_teardown(
            test_profiles_are_added_replaced_and_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_profiles_with_what_no_file_has_are_not_written, setup, teardown),
        cmocka_unit_test(test_profiles_stand_where_the_environment_says),
        cmocka_unit_test_setup_teardown(
            test_profiles_take_tokens_of_private_files_alone, setup, teardown),
    };
    return cmocka_run_group_tests_name("profiles", tests, NULL, NULL);
}
