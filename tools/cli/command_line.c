#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "include/layover.h"
#include "scheduler/http/client/json_fields.h"
#include "tools/client/colour.h"
#include "tools/client/route_call.h"

static Error *send_call(CommandContext *context) {
    return route_call_run(context, context->command->call);
}

const Command commands[] = {
#define COMMAND(verb_, function, usage_, min, max, summary_, example_)                             \
    {.verb = verb_,                                                                                \
        .usage = usage_,                                                                           \
        .argument_count_min = (min),                                                               \
        .argument_count_max = (max),                                                               \
        .summary = summary_,                                                                       \
        .example = example_,                                                                       \
        .options = command_##function##_options,                                                   \
        .run = command_##function},
#include "tools/client/commands.def"
#undef COMMAND
#define VERB(route, verb_, behind_, arguments, answer, line, summary_, example_)                   \
    {.verb = verb_,                                                                                \
        .usage = arguments,                                                                        \
        .summary = summary_,                                                                       \
        .example = example_,                                                                       \
        .options = &route_options[ROUTE_OPTIONS_##route + 1],                                      \
        .run = send_call,                                                                          \
        .call = &route_verbs[ROUTE_VERB_##route],                                                  \
        .behind = behind_},
#include "scheduler/http/server/routes.def"
    {0},
};

const CommandOption command_global_options[] = {
    {"home", "DIR", false,
        "the store's directory; default $LAYOVER_HOME, else $XDG_DATA_HOME/layover"},
    {"server", "S", false,
        "the daemon to ask: a profile of layover login, a socket's path, http:// or https://"},
    {"json", NULL, false, "answers as JSON: an object, or JSON Lines for lists"},
    {"quiet", NULL, false, "no progress"},
    {"tenant", "T", false, "acts for this tenant; default: default"},
    {"embedded", NULL, false, "works on the home itself, not through a daemon"},
    {"help", NULL, false, "this text"},
    {"version", NULL, false, "which version this is"},
    {0},
};

static const CommandOption *find_in(const CommandOption *options, const char *name, size_t length) {
    for (const CommandOption *option = options; option && option->name; option++)
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const Command *find_command(const char *verb) {
    for (const Command *command = commands; command->verb; command++)
        if (strcmp(command->verb, verb) == 0) return command;
    return NULL;
}

const char *command_option_at(const CommandContext *context, const char *name, uint32_t index) {
    for (uint32_t i = 0; i < context->option_count; i++)
        if (strcmp(context->options[i].option->name, name) == 0 && index-- == 0)
            return context->options[i].value;
    return NULL;
}

const char *command_option(const CommandContext *context, const char *name) {
    return command_option_at(context, name, 0);
}

Error *command_integer(const CommandContext *context, const char *name, int64_t min, int64_t max,
    int64_t otherwise, int64_t *out) {
    const char *text = command_option(context, name);
    int64_t value = otherwise;
    if (text && (!text_parse_i64(text, &value) || value < min || value > max))
        FAIL(USAGE, "--%s %s: a whole number from %lld to %lld is wanted", name, text,
            (long long)min, (long long)max);
    *out = value;
    return NULL;
}

static void set_global(CommandContext *context, const char *name, const char *value) {
    if (strcmp(name, "home") == 0)
        context->home = value;
    else if (strcmp(name, "server") == 0)
        context->server = value;
    else if (strcmp(name, "tenant") == 0)
        context->tenant = value;
    else if (strcmp(name, "json") == 0)
        context->json = true;
    else if (strcmp(name, "quiet") == 0)
        context->quiet = true;
    else
        context->embedded = true;
}

/* A command line under way. */
typedef struct Scan {
    int argc;
    char **argv;
    int at;
    CommandWanted wanted;
} Scan;

static Error *add_option(CommandContext *context, const CommandOption *option, const char *value) {
    if (!option->repeats && command_option(context, option->name))
        FAIL(USAGE, "--%s is given twice", option->name);
    if (context->option_count == COMMAND_OPTIONS_MAX) FAIL(USAGE, "too many options");
    context->options[context->option_count].option = option;
    context->options[context->option_count++].value = value;
    return NULL;
}

static void try_options(Nearest *nearest, const CommandOption *options) {
    for (const CommandOption *option = options; option && option->name; option++)
        nearest_try(nearest, option->name);
}

/* name, length: the word without its dashes and its value. */
static Error *fail_option(
    const CommandContext *context, const char *word, const char *name, size_t length) {
    char wanted[NEAREST_NAME_MAX + 1];
    const Command *command = context->command;
    const size_t shown = length < NEAREST_NAME_MAX ? length : NEAREST_NAME_MAX;
    (void)snprintf(wanted, sizeof wanted, "%.*s", (int)shown, name);
    Nearest nearest = nearest_to(wanted);
    try_options(&nearest, command_global_options);
    if (command) try_options(&nearest, command->options);
    FAIL(USAGE, "unknown option %s" NEAREST_TEXT "; layover%s%s --help lists them", word,
        NEAREST_NAME(nearest, "--"), command ? " " : "", command ? command->verb : "");
}

/* Reads --name, --name=value or --name value; -o means --output. */
static Error *scan_option(Scan *scan, CommandContext *context) {
    const char *word = scan->argv[scan->at++];
    const char *name = strcmp(word, "-o") == 0 ? "output" : word + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const CommandOption *option = find_in(command_global_options, name, length);
    bool global = option != NULL;
    if (!option && context->command) option = find_in(context->command->options, name, length);
    if (!option) return fail_option(context, word, name, length);
    if (!option->value && equals) FAIL(USAGE, "--%s takes no value", option->name);
    const char *value = option->value && equals ? equals + 1 : "";
    if (option->value && !equals) {
        if (scan->at == scan->argc)
            FAIL(USAGE, "--%s needs a value: %s", option->name, option->value);
        value = scan->argv[scan->at++];
    }
    if (global && strcmp(option->name, "help") == 0)
        scan->wanted = COMMAND_WANTED_HELP;
    else if (global && strcmp(option->name, "version") == 0)
        scan->wanted = COMMAND_WANTED_VERSION;
    else if (global)
        set_global(context, option->name, value);
    else
        return add_option(context, option, value);
    return NULL;
}

static Error *fail_verb(const char *word) {
    Nearest nearest = nearest_to(word);
    for (const Command *command = commands; command->verb; command++)
        nearest_try(&nearest, command->verb);
    FAIL(USAGE, "unknown verb %s" NEAREST_TEXT "; layover --help lists them", word,
        NEAREST_NAME(nearest, ""));
}

static Error *scan_word(Scan *scan, CommandContext *context, const char *word) {
    scan->at++;
    if (!context->command) {
        context->command = find_command(word);
        if (!context->command) return fail_verb(word);
        return NULL;
    }
    if (context->argument_count == COMMAND_ARGUMENTS_MAX) FAIL(USAGE, "too many arguments");
    context->arguments[context->argument_count++] = word;
    return NULL;
}

static Error *check_arguments(const CommandContext *context) {
    const Command *command = context->command;
    if (!command) FAIL(USAGE, "a verb is missing; layover --help lists them");
    const uint32_t names = command->call ? route_call_count_names(command->call) : 0;
    const uint32_t min = command->call ? names : command->argument_count_min;
    const uint32_t max = command->call ? names : command->argument_count_max;
    if (context->argument_count < min || context->argument_count > max)
        FAIL(USAGE, "%s: %s arguments; usage: layover %s %s", command->verb,
            context->argument_count < min ? "missing" : "too many", command->verb, command->usage);
    for (uint32_t i = 0; i < context->argument_count; i++)
        if (!*context->arguments[i])
            FAIL(USAGE, "%s: argument %u is empty; usage: layover %s %s", command->verb, i + 1,
                command->verb, command->usage);
    return NULL;
}

Error *command_line_parse(
    int argc, char **argv, CommandContext *context, CommandWanted *out_wanted) {
    Scan scan = {.argc = argc, .argv = argv, .at = 1};
    bool words_only = false;
    /* found first, since errors about other options are printed as JSON, too */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) context->json = true;
    while (scan.at < argc) {
        const char *word = argv[scan.at];
        if (!words_only && strcmp(word, "--") == 0) {
            words_only = true;
            scan.at++;
        } else if (!words_only && (text_starts_with(word, "--") || strcmp(word, "-o") == 0))
            TRY(scan_option(&scan, context));
        else if (!words_only && strcmp(word, "-h") == 0) {
            scan.wanted = COMMAND_WANTED_HELP;
            scan.at++;
        } else
            TRY(scan_word(&scan, context, word));
    }
    *out_wanted = scan.wanted;
    return scan.wanted == COMMAND_WANTED_RUN ? check_arguments(context) : NULL;
}

Error *command_line_print_version(const CommandContext *context) {
    if (!context->json) {
        printf("layover %s\n", LAYOVER_VERSION);
        return NULL;
    }
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_text(object, "version", LAYOVER_VERSION);
    return command_print_json(object);
}

static void print_options(const CommandOption *options) {
    for (const CommandOption *option = options; option && option->name; option++) {
        char left[64];
        (void)snprintf(left, sizeof left, "--%s%s%s%s", option->name, option->value ? " " : "",
            option->value ? option->value : "", option->repeats ? " ..." : "");
        printf("  %-28s %s\n", left, option->help);
    }
}

/* Visits the verbs that are listed behind a verb, each followed by the verbs listed behind it.
 * NULL: visits the verbs of commands.def in the same way. */
static void visit_verbs(const char *behind, void (*visit)(const Command *)) {
    for (const Command *at = commands; at->verb; at++) {
        if (behind ? !at->behind || strcmp(at->behind, behind) != 0 : at->behind != NULL) continue;
        visit(at);
        visit_verbs(at->verb, visit);
    }
}

void command_line_visit_verbs(void (*visit)(const Command *command)) { visit_verbs(NULL, visit); }

static void print_verb(const Command *command) {
    printf("  %-11s %-20s %s\n", command->verb, command->usage, command->summary);
}

void command_line_print_help(const Command *command) {
    if (command) {
        printf("usage: layover %s %s [options]\n%s\n", command->verb, command->usage,
            command->summary);
        if (command->options[0].name) printf("\noptions:\n");
        print_options(command->options);
        printf("\nfor every verb:\n");
        print_options(command_global_options);
        printf("\nexample: %s\n", command->example);
        return;
    }
    printf(
        "usage: layover [--home DIR] [--server S] [--json] [--quiet] VERB ...\n"
        "Stores machine-learning models, runs them, and stops and resumes their executions.\n\n");
    command_line_visit_verbs(print_verb);
    printf("\nfor every verb:\n");
    print_options(command_global_options);
    printf("\nenvironment:\n");
#define ENVIRONMENT(name, meaning) printf("  %-28s %s\n", name, meaning);
#include "tools/client/command_texts.def"
#undef ENVIRONMENT
    printf("\nlayover VERB --help tells more. exit codes:\n");
#define EXIT_CODE(number, meaning) printf("  %-4d %s\n", number, meaning);
#include "tools/client/command_texts.def"
#undef EXIT_CODE
}

Error *command_print_json(json_object *owned_object) {
    const char *text = json_object_to_json_string_ext(
        owned_object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    bool printed = text && puts(text) >= 0 && fflush(stdout) == 0;
    json_object_put(owned_object);
    if (!printed) FAIL(IO, "the answer cannot be written");
    return NULL;
}

const char *command_find_reference(const CommandContext *context) {
    const char *usage = context->command ? context->command->usage : "";
    const bool takes = strncmp(usage, "REF", 3) == 0 && (usage[3] == 0 || usage[3] == ' ');
    return takes && context->argument_count > 0 ? context->arguments[0] : NULL;
}

Error *command_explain_reference(const CommandContext *context, Error *owned_error) {
    struct stat status;
    const ErrorCode code = error_code(owned_error);
    const char *path = command_find_reference(context);
    if (!path || (code != ERROR_INVALID && code != ERROR_NOT_FOUND)) return owned_error;
    const bool is_path = strchr(path, '/') != NULL; /* no name contains one */
    if (!is_path && code == ERROR_INVALID) return owned_error;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return owned_error;
    Error *explained = error_make(code, __FILE__, __LINE__,
        "%s%s%.80s is a file and not the name of a model; register it first: layover register NAME "
        "%.80s",
        is_path ? "" : error_message(owned_error), is_path ? "" : "; ", path, path);
    error_free(owned_error);
    return explained;
}

void command_print_error(const CommandContext *context, const Error *error) {
    if (!context->json) {
        (void)fprintf(stderr, "%slayover:%s %s\n", colour_begin(STDERR_FILENO, COLOUR_RED),
            colour_end(STDERR_FILENO), error_message(error));
        return;
    }
    json_object *inner = json_object_new_object(), *outer = json_object_new_object();
    json_fields_text(inner, "code", error_info(error_code(error))->name);
    json_fields_text(inner, "message", error_message(error));
    json_object_object_add(outer, "error", inner);
    (void)fprintf(stderr, "%s\n",
        json_object_to_json_string_ext(
            outer, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(outer);
}
