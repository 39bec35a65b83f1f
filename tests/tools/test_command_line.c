#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "include/layover.h"
#include "scheduler/http/client/json_fields.h"
#include "tests/tools/tools_fixtures.h"

enum { WORDS_MAX = 16, HELP_SIZE = 1 << 14 };

/* Splits a command line, words separated by blanks. */
static Error *parse(const char *line, CommandContext **out, CommandWanted *out_wanted) {
    static char words[512];
    char *argv[WORDS_MAX], *rest = words;
    int argc = 0;
    (void)snprintf(words, sizeof words, "layover %s", line);
    for (char *word; (word = strtok_r(rest, " ", &rest));) argv[argc++] = word;
    CommandContext *context = calloc(1, sizeof *context);
    assert_non_null(context);
    Error *error = command_line_parse(argc, argv, context, out_wanted);
    *out = context;
    return error;
}

static void refused(const char *line, const char *message) {
    CommandContext *context;
    CommandWanted wanted;
    assert_fails_saying(USAGE, message, parse(line, &context, &wanted));
    free(context);
}

static CommandContext *parsed(const char *line) {
    CommandContext *context;
    CommandWanted wanted;
    assert_ok(parse(line, &context, &wanted));
    assert_int_equal(wanted, COMMAND_WANTED_RUN);
    return context;
}

static void test_command_line_gives_a_verb_its_arguments_and_options(void **state) {
    (void)state;
    CommandContext *context =
        parsed("run --home /h mlp@3 --input x=a.npy --input=y=b.npy -o out.npz --stats --json");
    assert_string_equal(context->command->verb, "run");
    assert_int_equal(context->argument_count, 1);
    assert_string_equal(context->arguments[0], "mlp@3");
    assert_string_equal(context->home, "/h");
    assert_true(context->json);
    assert_false(context->quiet);
    assert_string_equal(command_option_at(context, "input", 0), "x=a.npy");
    assert_string_equal(command_option_at(context, "input", 1), "y=b.npy");
    assert_null(command_option_at(context, "input", 2));
    assert_string_equal(command_option(context, "output"), "out.npz");
    assert_true(command_flag(context, "stats"));
    assert_false(command_flag(context, "profile"));
    free(context);
}

/* What everybody may say may stand before the verb. */
static void test_command_line_takes_global_options_anywhere(void **state) {
    (void)state;
    CommandContext *context = parsed("--quiet --tenant=t --embedded models --home=/h");
    assert_true(context->quiet && context->embedded);
    assert_string_equal(context->tenant, "t");
    assert_string_equal(context->home, "/h");
    free(context);
}

static void test_command_line_takes_everything_behind_dashes_as_words(void **state) {
    (void)state;
    CommandContext *context = parsed("alias -- --json --tenant 3");
    assert_int_equal(context->argument_count, 3);
    assert_string_equal(context->arguments[0], "--json");
    assert_string_equal(context->arguments[1], "--tenant");
    assert_false(context->json);
    free(context);
    context = parsed("-- models");
    assert_string_equal(context->command->verb, "models");
    free(context);
}

static void test_command_line_values_may_be_empty_or_look_like_options(void **state) {
    (void)state;
    CommandContext *context = parsed("run m --output= --checkpoint --stats");
    assert_string_equal(command_option(context, "output"), "");
    assert_string_equal(command_option(context, "checkpoint"), "--stats");
    assert_false(command_flag(context, "stats"));
    free(context);
}

static void test_command_line_refuses_what_it_does_not_know(void **state) {
    (void)state;
    refused("", "a verb is missing");
    refused("--json", "a verb is missing");
    refused("frobnicate", "unknown verb frobnicate; layover --help");
    refused("--frob models", "unknown option --frob; layover --help");
    refused("models --frob", "unknown option --frob; layover models --help");
    refused("models --output x", "unknown option --output");
    refused("models --hom x", "unknown option --hom; the nearest is --home; layover models");
    refused("run m --ouptut=x", "unknown option --ouptut=x; the nearest is --output; layover run");
    refused("--jsno", "unknown option --jsno; the nearest is --json; layover --help");
    refused("modles", "unknown verb modles; the nearest is models; layover --help");
    refused("rn-job j", "unknown verb rn-job; the nearest is rm-job;");
    refused("run m --input", "--input needs a value");
    refused("run m --stats=yes", "--stats takes no value");
    refused("run m --output a --output b", "--output is given twice");
    refused("run m -o a --output b", "--output is given twice");
    refused("run", "run: missing arguments; usage: layover run REF");
    refused("run a b", "run: too many arguments");
    refused("models -- --json", "models: too many arguments");
}

/* As of a script's variable that is not set: not the address of all jobs. */
static void test_command_line_refuses_an_empty_argument(void **state) {
    (void)state;
    char words[][8] = {"layover", "alias", "m", "", "3"};
    char *argv[] = {words[0], words[1], words[2], words[3], words[4]};
    CommandContext *context = calloc(1, sizeof *context);
    CommandWanted wanted;
    assert_non_null(context);
    assert_fails_saying(USAGE, "alias: argument 2 is empty; usage: layover alias NAME ALIAS",
        command_line_parse(5, argv, context, &wanted));
    free(context);
}

/* An error about the rest of the line is printed as JSON, too. */
static void test_command_line_knows_json_before_it_fails(void **state) {
    (void)state;
    CommandContext *context;
    CommandWanted wanted;
    assert_fails(USAGE, parse("models --frob --json", &context, &wanted));
    assert_true(context->json);
    free(context);
}

static void test_command_line_reads_integers_in_their_range(void **state) {
    (void)state;
    int64_t value;
    CommandContext *context = parsed("run m --threads 4");
    assert_ok(command_integer(context, "threads", 1, 8, 1, &value));
    assert_int_equal(value, 4);
    assert_ok(command_integer(context, "suspend-after", 1, 8, 5, &value));
    assert_int_equal(value, 5);
    assert_fails_saying(USAGE, "--threads 4: a whole number from 5 to 8",
        command_integer(context, "threads", 5, 8, 5, &value));
    free(context);
    static const char *const wrong[] = {"run m --threads four",
        "run m --threads=", "run m --threads 4.0", "run m --threads 99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        context = parsed(wrong[i]);
        assert_fails(USAGE, command_integer(context, "threads", 1, INT64_MAX, 1, &value));
        free(context);
    }
}

static void help_of(const Command *command, char out[HELP_SIZE]) {
    Capture capture;
    capture_start(&capture, STDOUT_FILENO);
    command_line_print_help(command);
    capture_end(&capture, out, HELP_SIZE);
}

static void test_command_line_help_is_asked_for_anywhere(void **state) {
    (void)state;
    static const struct {
        const char *line, *verb;
    } rows[] = {{"--help", NULL}, {"-h", NULL}, {"run --help", "run"}, {"-h run", "run"},
        {"run a b c --help", "run"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CommandContext *context;
        CommandWanted wanted = COMMAND_WANTED_RUN;
        assert_ok(parse(rows[i].line, &context, &wanted));
        assert_int_equal(wanted, COMMAND_WANTED_HELP);
        assert_true((context->command != NULL) == (rows[i].verb != NULL));
        if (rows[i].verb) assert_string_equal(context->command->verb, rows[i].verb);
        free(context);
    }
}

static void test_command_line_tells_the_version_in_one_line(void **state) {
    (void)state;
    static const struct {
        const char *line, *answer;
    } rows[] = {{"--version", "layover " LAYOVER_VERSION "\n"},
        {"run a b c --version", "layover " LAYOVER_VERSION "\n"},
        {"--json --version", "{\"version\":\"" LAYOVER_VERSION "\"}\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static char text[HELP_SIZE];
        CommandContext *context;
        CommandWanted wanted = COMMAND_WANTED_RUN;
        Capture capture;
        assert_ok(parse(rows[i].line, &context, &wanted));
        assert_int_equal(wanted, COMMAND_WANTED_VERSION);
        capture_start(&capture, STDOUT_FILENO);
        assert_ok(command_line_print_version(context));
        capture_end(&capture, text, HELP_SIZE);
        assert_string_equal(text, rows[i].answer);
        free(context);
    }
}

static void test_command_line_help_names_every_verb_and_option(void **state) {
    (void)state;
    static char general[HELP_SIZE], one[HELP_SIZE];
    help_of(NULL, general);
    assert_non_null(strstr(general, "exit codes"));
    for (const Command *command = commands; command->verb; command++) {
        assert_non_null(strstr(general, command->verb));
        assert_non_null(strstr(general, command->summary));
        help_of(command, one);
        assert_non_null(strstr(one, command->usage));
        assert_non_null(strstr(one, command->example));
        assert_non_null(strstr(one, "--home DIR"));
        for (const CommandOption *option = command->options; option->name; option++) {
            assert_non_null(strstr(one, option->name));
            assert_non_null(strstr(one, option->help));
        }
    }
}

static void test_command_line_prints_answers_as_one_line_of_json(void **state) {
    (void)state;
    char out[256];
    Capture capture;
    json_object *object;
    assert_ok(json_fields_create(&object));
    json_fields_text(object, "path", "/a \"b\"\n");
    json_fields_int(object, "bytes", INT64_MAX);
    json_fields_real(object, "ms", 0.5);
    capture_start(&capture, STDOUT_FILENO);
    Error *error = command_print_json(object);
    capture_end(&capture, out, sizeof out);
    assert_ok(error);
    assert_string_equal(
        out, "{\"path\":\"/a \\\"b\\\"\\n\",\"bytes\":9223372036854775807,\"ms\":0.5}\n");
}

static void test_command_line_prints_an_error_as_it_was_asked_for(void **state) {
    (void)state;
    static CommandContext context;
    Error *error = error_make(ERROR_NOT_FOUND, __FILE__, __LINE__, "no file \"a/b\"");
    static const char *const answers[] = {"layover: no file \"a/b\"\n",
        "{\"error\":{\"code\":\"NOT_FOUND\",\"message\":\"no file \\\"a/b\\\"\"}}\n"};
    for (int json = 0; json < 2; json++) {
        char out[256];
        Capture capture;
        context.json = json;
        capture_start(&capture, STDERR_FILENO);
        command_print_error(&context, error);
        capture_end(&capture, out, sizeof out);
        assert_string_equal(out, answers[json]);
    }
    error_free(error);
}

static void explained(const char *line, Error *owned_error, const char *message) {
    CommandContext *context = parsed(line);
    Error *error = command_explain_reference(context, owned_error);
    assert_string_equal(error_message(error), message);
    error_free(error);
    free(context);
}

#define ANOTHER(CODE, message) error_make(ERROR_##CODE, __FILE__, __LINE__, message)

static void test_command_line_tells_a_file_from_the_name_of_a_model(void **state) {
    (void)state;
    const int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir("/proc/self"), 0); /* a folder with a file named status */
    explained("run task/../status --output o", ANOTHER(INVALID, "no name"),
        "task/../status is a file and not the name of a model; register it first: layover register "
        "NAME task/../status");
    explained("show status", ANOTHER(NOT_FOUND, "no model status"),
        "no model status; status is a file and not the name of a model; register it first: layover "
        "register NAME status");
    explained("run task/none --output o", ANOTHER(INVALID, "no name"), "no name");
    explained("show none", ANOTHER(NOT_FOUND, "no model none"), "no model none");
    explained("run status --output o", ANOTHER(INVALID, "an input"), "an input");
    explained("run ./status --output o", ANOTHER(USAGE, "an option"), "an option");
    explained("inspect ./status", ANOTHER(INVALID, "no container"), "no container");
    assert_int_equal(fchdir(folder), 0);
    (void)close(folder);
}

int test_command_line(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_line_gives_a_verb_its_arguments_and_options),
        cmocka_unit_test(test_command_line_takes_global_options_anywhere),
        cmocka_unit_test(test_command_line_takes_everything_behind_dashes_as_words),
        cmocka_unit_test(test_command_line_values_may_be_empty_or_look_like_options),
        cmocka_unit_test(test_command_line_refuses_what_it_does_not_know),
        cmocka_unit_test(test_command_line_refuses_an_empty_argument),
        cmocka_unit_test(test_command_line_knows_json_before_it_fails),
        cmocka_unit_test(test_command_line_reads_integers_in_their_range),
        cmocka_unit_test(test_command_line_help_is_asked_for_anywhere),
        cmocka_unit_test(test_command_line_tells_the_version_in_one_line),
        cmocka_unit_test(test_command_line_help_names_every_verb_and_option),
        cmocka_unit_test(test_command_line_prints_answers_as_one_line_of_json),
        cmocka_unit_test(test_command_line_prints_an_error_as_it_was_asked_for),
        cmocka_unit_test(test_command_line_tells_a_file_from_the_name_of_a_model),
    };
    return cmocka_run_group_tests_name("command_line", tests, NULL, NULL);
}
