/* login and logout, which profile a request goes to, hidden lines, and colours. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "scheduler/http/client/json_body.h"
#include "tests/scheduler/http_fixtures.h"
#include "tests/tools/tools_fixtures.h"
#include "tools/client/colour.h"
#include "tools/client/remote.h"
#include "tools/client/secret_line.h"
#include "tools/remote/profiles.h"
#include "tools/remote/server_choice.h"

enum { TEXT_SIZE = 1024 };

static char config[128];

static int setup(void **state) {
    static TestServer server;
    test_server_open(&server, NULL);
    (void)snprintf(config, sizeof config, "%s/deep/er/config", server.folder);
    (void)setenv("LAYOVER_CONFIG", config, 1);
    (void)setenv("LAYOVER_HOME", server.folder, 1);
    *state = &server;
    return 0;
}

static int teardown(void **state) {
    (void)unsetenv("LAYOVER_CONFIG");
    (void)unsetenv("LAYOVER_HOME");
    test_server_close(*state);
    return 0;
}

/* Makes the text what stdin gives; returns the descriptor to put back. */
static int give(const char *text) {
    int ends[2];
    const int kept = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    (void)close(ends[1]);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    (void)close(ends[0]);
    return kept;
}

static void put_back(int kept) {
    assert_true(dup2(kept, STDIN_FILENO) >= 0);
    (void)close(kept);
}

/* Runs a verb with a stdin; out: what it printed. */
static Error *run(const char *input, const char *const *words, char out[TEXT_SIZE]) {
    Capture capture;
    CommandContext *context = command_context_make(words);
    const int kept = give(input);
    capture_start(&capture, STDOUT_FILENO);
    Error *error = context->command->run(context);
    capture_end(&capture, out, TEXT_SIZE);
    put_back(kept);
    free(context);
    return error;
}
#define RUN(input, out, ...) run(input, (const char *const[]){__VA_ARGS__, NULL}, out)

static mode_t mode_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

static void choice_is(const char *wanted, const char *server, const char *token) {
    ServerChoice OWN_CHOICE(choice) = {0};
    assert_ok(server_choice_find(&(ServerWish){.server = wanted}, &choice));
    assert_string_equal(choice.server ? choice.server : "", server);
    assert_string_equal(choice.token ? choice.token : "", token);
}

static void test_login_keeps_a_server_that_takes_the_token(void **state) {
    TestServer *server = *state;
    char out[TEXT_SIZE], input[TEXT_SIZE], token[192];
    const char *mine = server->tokens[TEST_USER];
    (void)snprintf(input, sizeof input, "%s\n", mine);
    (void)snprintf(token, sizeof token, "%s/deep/er/work.token", server->folder);
    assert_ok(RUN(input, out, "login", server->url, "--profile", "work", "--json"));
    assert_non_null(strstr(out, "{\"profile\":\"work\",\"server\":\"http://"));
    assert_non_null(strstr(out, "\"tenant\":null,\"version\":\""));
    assert_int_equal(mode_of(config), 0600);
    assert_int_equal(mode_of(token), 0600);
    choice_is("work", server->url, mine);
    /* the server's name comes from stdin, too */
    (void)snprintf(input, sizeof input, "%s\n", server->socket);
    assert_ok(RUN(input, out, "login"));
    assert_non_null(strstr(out, "profile default: /"));
    assert_ok(RUN("", out, "models", "--server", "work", "--json"));
    assert_ok(RUN("", out, "logout", "--profile", "work"));
    assert_string_equal(out, "profile work forgotten\n");
    assert_int_not_equal(access(token, F_OK), 0);
    assert_fails_saying(NOT_FOUND, "no profile work", RUN("", out, "logout", "--profile", "work"));
    assert_fails_saying(
        NOT_FOUND, "no profile work; layover login", RUN("", out, "models", "--server", "work"));
}

static void test_login_stores_nothing_where_the_server_refuses(void **state) {
    TestServer *server = *state;
    char out[TEXT_SIZE], input[TEXT_SIZE];
    (void)snprintf(input, sizeof input, "%s\n", server->tokens[TEST_WRONG]);
    Error *error = RUN(input, out, "login", server->url);
    assert_non_null(strstr(error_message(error), "nothing is stored"));
    error_free(error);
    assert_int_not_equal(access(config, F_OK), 0);
    assert_fails(REFUSED, RUN("t\n", out, "login", "http://192.0.2.1:80"));
    assert_fails(INVALID, RUN("t\n", out, "login", "work"));
    assert_fails(INVALID, RUN("a\x01\n", out, "login", server->url));
    assert_fails_saying(USAGE, "the server is missing", RUN("", out, "login"));
    assert_fails_saying(USAGE, "--profile", RUN("", out, "login", "--profile", "a/b"));
    assert_fails_saying(USAGE, "--home", RUN("", out, "login", "--embedded"));
    assert_int_not_equal(access(config, F_OK), 0);
}

static void write_config(const char *text) {
    Profiles OWN_PROFILES(profiles) = {0};
    assert_ok(profiles_parse("", text, strlen(text), &profiles));
    char *slash = strrchr(config, '/');
    *slash = 0;
    slash[-3] = 0;
    (void)mkdir(config, 0700);
    slash[-3] = '/';
    (void)mkdir(config, 0700);
    *slash = '/';
    assert_ok(file_write_atomic(config, text, strlen(text)));
}

/* The order of server_choice.h; a token of the environment is for a server of the environment. */
static void test_login_profiles_stand_behind_what_is_said(void **state) {
    TestServer *server = *state;
    write_config("[default]\nserver = \"/d\"\n[other]\nserver = \"/o\"\n");
    (void)setenv("LAYOVER_TOKEN", "t", 1);
    choice_is("http://h:1", "http://h:1", "t");
    choice_is("other", "/o", "");
    choice_is("./s", "unix:./s", "t");
    choice_is(NULL, "", ""); /* the home of LAYOVER_HOME has no daemon */
    (void)setenv("LAYOVER_PROFILE", "other", 1);
    choice_is(NULL, "/o", "");
    (void)setenv("LAYOVER_SERVER", "https://s", 1);
    choice_is(NULL, "https://s", "t");
    (void)unsetenv("LAYOVER_SERVER");
    ServerChoice OWN_CHOICE(at_home) = {0};
    assert_ok(server_choice_find(&(ServerWish){.home = server->folder}, &at_home));
    assert_null(at_home.server);
    (void)unsetenv("LAYOVER_PROFILE");
    (void)unsetenv("LAYOVER_HOME");
    choice_is(NULL, "/d", "");
    (void)unsetenv("LAYOVER_TOKEN");
    (void)setenv("LAYOVER_TOKEN_FILE", config, 1); /* others may read it */
    ServerChoice OWN_CHOICE(refused) = {0};
    assert_fails_saying(REFUSED, "LAYOVER_TOKEN_FILE: ",
        server_choice_find(&(ServerWish){.server = "http://h:1"}, &refused));
    (void)unsetenv("LAYOVER_TOKEN_FILE");
    char out[TEXT_SIZE];
    assert_fails_saying(USAGE, "--server names a daemon",
        RUN("", out, "models", "--server", "other", "--embedded"));
    write_config("[default]\nserver = \"/d\"\ntoken_file = \"missing\"\n");
    assert_fails_saying(
        NOT_FOUND, "the profile default: ", server_choice_find(&(ServerWish){0}, &refused));
}

/* Opens a terminal; returns its near end. */
static int open_terminal(int *out_far) {
    const int near = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(near >= 0);
    assert_int_equal(grantpt(near) | unlockpt(near), 0);
    *out_far = open(ptsname(near), O_RDWR | O_NOCTTY);
    assert_true(*out_far >= 0);
    return near;
}

typedef struct Typing {
    int near, far;
    const char *text;
} Typing;

/* Types once the terminal hides it: what was typed before is thrown away. */
static void *type(void *self) {
    const Typing *typing = self;
    struct termios settings = {.c_lflag = ECHO};
    while (settings.c_lflag & ECHO)
        if (tcgetattr(typing->far, &settings) != 0) return NULL;
    (void)!write(typing->near, typing->text, strlen(typing->text));
    return NULL;
}

/* Asks on a terminal; shown: what a person saw there. */
static Error *ask_hidden(const char *typed, char out[SECRET_LINE_SIZE], char shown[TEXT_SIZE]) {
    Typing typing = {.text = typed};
    Capture capture;
    pthread_t thread;
    struct termios settings;
    typing.near = open_terminal(&typing.far);
    const int kept = dup(STDIN_FILENO);
    assert_true(dup2(typing.far, STDIN_FILENO) >= 0);
    assert_int_equal(pthread_create(&thread, NULL, type, &typing), 0);
    capture_start(&capture, STDERR_FILENO);
    Error *error = secret_line_ask("token", true, out);
    capture_end(&capture, shown, TEXT_SIZE);
    (void)pthread_join(thread, NULL);
    assert_int_equal(tcgetattr(typing.far, &settings), 0);
    assert_true(settings.c_lflag & ECHO);
    put_back(kept);
    (void)fcntl(typing.near, F_SETFL, O_NONBLOCK);
    assert_true(read(typing.near, shown + strlen(shown), 1) <= 0); /* no echo */
    (void)close(typing.near);
    (void)close(typing.far);
    return error;
}

static void test_login_hides_a_token_that_is_typed(void **state) {
    (void)state;
    char line[SECRET_LINE_SIZE], shown[TEXT_SIZE];
    assert_ok(ask_hidden("secret\n", line, shown));
    assert_string_equal(line, "secret");
    assert_string_equal(shown, "token: \n");
    assert_fails(INTERRUPTED, ask_hidden("sec\x03", line, shown));
}

static void test_login_colours_are_for_terminals(void **state) {
    (void)state;
    int far;
    const int near = open_terminal(&far);
    (void)setenv("TERM", "xterm", 1);
    (void)unsetenv("NO_COLOR");
    assert_true(colour_is_on(far));
    assert_string_equal(colour_begin(far, COLOUR_RED), "\x1b[31m");
    assert_string_equal(colour_end(far), "\x1b[0m");
    (void)setenv("NO_COLOR", "", 1);
    assert_true(colour_is_on(far));
    (void)setenv("NO_COLOR", "1", 1);
    assert_string_equal(colour_begin(far, COLOUR_RED), "");
    assert_string_equal(colour_end(far), "");
    (void)unsetenv("NO_COLOR");
    (void)setenv("TERM", "dumb", 1);
    assert_false(colour_is_on(far));
    (void)setenv("TERM", "xterm", 1);
    (void)close(far);
    (void)close(near);
    assert_false(colour_is_on(near));
    (void)unsetenv("TERM");
}

int test_login(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_login_keeps_a_server_that_takes_the_token, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_login_stores_nothing_where_the_server_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_login_profiles_stand_behind_what_is_said, setup, teardown),
        cmocka_unit_test(test_login_hides_a_token_that_is_typed),
        cmocka_unit_test(test_login_colours_are_for_terminals),
    };
    return cmocka_run_group_tests_name("login", tests, NULL, NULL);
}
