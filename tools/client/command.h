#pragma once
/* One invocation of a verb: its arguments, its options, and its answer. Callers: tools/cli and
 * tools/client. Threads: the main thread of `layover`. */
#include <stdbool.h>
#include <stdint.h>

#include <json-c/json_object.h>

#include "base/error.h"
#include "base/text.h"

enum { COMMAND_ARGUMENTS_MAX = 4096, COMMAND_OPTIONS_MAX = 4096 };

typedef struct CommandOption {
    const char *name;  /* without the dashes; NULL ends a list */
    const char *value; /* the value's name in help; NULL: a flag */
    bool repeats;
    const char *help;
} CommandOption;

typedef struct Command Command;
struct RouteCall;

enum { EXIT_SUSPENDED = 85 }; /* a checkpoint is left to continue from */

typedef struct CommandContext {
    const Command *command;
    const char *home;   /* --home; NULL: the default */
    const char *server; /* --server: an address or a profile's name; NULL: not given */
    const char *tenant;
    bool json, quiet, embedded;
    const char *arguments[COMMAND_ARGUMENTS_MAX];
    uint32_t argument_count;
    struct {
        const CommandOption *option;
        const char *value;
    } options[COMMAND_OPTIONS_MAX];
    uint32_t option_count;
    int exit_code; /* of a successful command: 0, or 1 for fsck's findings, 85 for suspended */
} CommandContext;

struct Command {
    const char *verb;
    const char *usage; /* arguments */
    uint32_t argument_count_min, argument_count_max;
    const char *summary;
    const char *example;
    const CommandOption *options;
    Error *(*run)(CommandContext *context);
    const struct RouteCall *call; /* of a verb of routes.def; NULL: a verb of commands.def */
    /* the verb behind which the general help lists a verb of routes.def */
    const char *behind;
};

/* All verbs of commands.def and routes.def; the last entry has verb NULL. */
extern const Command commands[];

/* The options that every verb takes; the last entry has name NULL. */
extern const CommandOption command_global_options[];

/* Returns the value of an option, NULL when it was not given (flags: "" when given). index: of an
 * option that repeats. */
const char *command_option(const CommandContext *context, const char *name);
const char *command_option_at(const CommandContext *context, const char *name, uint32_t index);
static inline bool command_flag(const CommandContext *context, const char *name) {
    return command_option(context, name) != NULL;
}
/* Reads an integer option in [min, max]. Errors: USAGE. */
MUST_CHECK Error *command_integer(const CommandContext *context, const char *name, int64_t min,
    int64_t max, int64_t otherwise, int64_t *out);

/* The purpose of a command line: its verb, or --help or --version at any place. */
typedef enum CommandWanted {
    COMMAND_WANTED_RUN,
    COMMAND_WANTED_HELP, /* context->command NULL: the general help */
    COMMAND_WANTED_VERSION,
} CommandWanted;

/* Splits the command line. Errors: USAGE. */
MUST_CHECK Error *command_line_parse(
    int argc, char **argv, CommandContext *context, CommandWanted *out_wanted);
/* Prints the answer to --version. */
MUST_CHECK Error *command_line_print_version(const CommandContext *context);
void command_line_print_help(const Command *command);
/* Calls visit with each verb, in the order of the general help. */
void command_line_visit_verbs(void (*visit)(const Command *command));

/* Prints the object as one line (JSON or JSON Lines) and frees it. */
MUST_CHECK Error *command_print_json(json_object *owned_object);

/* Returns the argument REF of the verb, or NULL where the verb has none. */
const char *command_find_reference(const CommandContext *context);
/* Says what to do where the verb's argument REF is a file and no model's name. Other errors stay as
 * they are, and so does NULL. Consumes the error. */
MUST_CHECK Error *command_explain_reference(const CommandContext *context, Error *owned_error);

/* Prints one line on stderr, as JSON if --json was given. */
void command_print_error(const CommandContext *context, const Error *error);

/* Verbs. */
#define COMMAND(verb, function, usage, min, max, summary, example)                                 \
    Error *command_##function(CommandContext *context);                                            \
    extern const CommandOption command_##function##_options[];
#include "tools/client/commands.def"
#undef COMMAND
