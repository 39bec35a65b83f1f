#pragma once
/* Verbs that send one request and print the answer. Each row VERB of routes.def is such a verb.
 * Other verbs send such requests as steps. Called by tools/cli on the main thread. */
#include "tools/client/remote.h"

typedef enum RouteAnswer {
    ROUTE_ANSWER_OBJECT,
    ROUTE_ANSWER_LINES, /* JSON Lines, all pages */
} RouteAnswer;

typedef enum RouteFieldKind {
    ROUTE_FIELD_TEXT,
    ROUTE_FIELD_INTEGER, /* at least 1 */
    ROUTE_FIELD_FLAG,    /* true, in a query 1 */
} RouteFieldKind;

/* An option of the command that is sent: in the body, of a GET in the query. In the field's name an
 * underline stands for a dash of the option's. */
typedef struct RouteField {
    const char *option; /* NULL ends a list */
    RouteFieldKind kind;
} RouteField;

typedef struct RouteCall {
    RouteId route;
    uint32_t skipped; /* arguments before those that stand for the braces of the pattern */
    const RouteField *fields;
    RouteAnswer answer;
    const char *line; /* answer_line.h; the part before a line feed is a list's header */
} RouteCall;

typedef enum RouteVerb {
#define VERB(route, verb, behind, arguments, answer, line, summary, example) ROUTE_VERB_##route,
#include "scheduler/http/server/routes.def"
    ROUTE_VERB_COUNT
} RouteVerb;

/* The rows of VERB. */
extern const RouteCall route_verbs[ROUTE_VERB_COUNT];

/* The options of all rows; a row's options begin behind ROUTE_OPTIONS_<route> and end like every
 * list of options. */
#define ROUTE_OPTION_AT(line) ROUTE_OPTION_AT_(line)
#define ROUTE_OPTION_AT_(line) ROUTE_OPTION_##line
enum {
#define VERB(route, verb, behind, arguments, answer, line, summary, example) ROUTE_OPTIONS_##route,
#define OPTION(route, name, kind, value, help) ROUTE_OPTION_AT(__LINE__),
#include "scheduler/http/server/routes.def"
    ROUTE_OPTIONS_COUNT
};
extern const CommandOption route_options[];

/* How many arguments stand for braces of the pattern. */
uint32_t route_call_count_names(const RouteCall *call);
/* Sends the request of a call whose answer is an OBJECT. Errors: USAGE an option's value. */
MUST_CHECK Error *route_call_ask(
    const CommandContext *context, HttpClient *client, const RouteCall *call, json_object **out);
/* Checks the options, finds the daemon, sends the request and shows the answer. */
MUST_CHECK Error *route_call_run(const CommandContext *context, const RouteCall *call);
/* Shows one object as JSON, or as a line (answer_line.h). Consumes it. */
MUST_CHECK Error *route_call_show(
    const CommandContext *context, json_object *owned_object, const char *line);
