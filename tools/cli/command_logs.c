#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "tools/client/route_call.h"

const CommandOption command_logs_options[] = {{0}};

/* Kinds of events that a long job repeats: in a row of them each kind is one line. */
static const char *const folded_kinds[] = {"checkpoint", "output"};
enum { FOLDED_COUNT = sizeof folded_kinds / sizeof *folded_kinds };

/* One kind in the present row of folded events. */
typedef struct Fold {
    uint64_t count; /* 0: the row has none */
    double first, last;
    char why[64]; /* of the last event */
} Fold;

/* A job's events on their way to the terminal. */
typedef struct Story {
    bool begun;
    double begin; /* the time of the first event */
    Fold folds[FOLDED_COUNT];
} Story;

static void print_line(const Story *story, double time, const char *kind, const char *why) {
    char calendar[32];
    remote_print_time(time, calendar);
    const double since = time - story->begin;
    printf("%s  %9.1f s  %-10s%s%s\n", calendar, isfinite(since) ? since : 0, kind,
        *why ? "  " : "", why);
}

/* Prints the row of folded events and ends it. */
static void print_folds(Story *story) {
    for (size_t i = 0; i < FOLDED_COUNT; i++) {
        Fold *fold = &story->folds[i];
        char words[160];
        if (fold->count == 1)
            print_line(story, fold->first, folded_kinds[i], fold->why);
        else if (fold->count > 1) {
            (void)snprintf(words, sizeof words, "%llu times until %.1f s%s%s",
                (unsigned long long)fold->count, fold->last - story->begin, *fold->why ? ": " : "",
                fold->why);
            print_line(story, fold->first, folded_kinds[i], words);
        }
        *fold = (Fold){0};
    }
}

static bool fold_event(Story *story, const char *kind, double time, const char *why) {
    for (size_t i = 0; i < FOLDED_COUNT; i++) {
        Fold *fold = &story->folds[i];
        if (strcmp(kind, folded_kinds[i]) != 0) continue;
        if (fold->count++ == 0) fold->first = time;
        fold->last = time;
        (void)snprintf(fold->why, sizeof fold->why, "%s", why);
        return true;
    }
    return false;
}

static Error *take_event(void *self, const char *line) {
    Story *story = self;
    OWN_JSON(event) = NULL;
    TRY(remote_parse(line, &event));
    const char *kind = remote_text(event, "kind"), *why = remote_text(event, "why");
    const double time = remote_real(event, "time");
    if (!story->begun) story->begin = time;
    story->begun = true;
    if (fold_event(story, kind, time, why)) return NULL;
    print_folds(story);
    print_line(story, time, strcmp(kind, "state") == 0 ? remote_text(event, "state") : kind, why);
    return NULL;
}

Error *command_logs(CommandContext *context) {
    static const RouteCall lines = {
        .route = ROUTE_JOB_EVENTS, .answer = ROUTE_ANSWER_LINES, .line = ""};
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    Story story = {0};
    if (context->json) return route_call_run(context, &lines);
    TRY(remote_need(context, &client));
    remote_path(&path, ROUTE_JOB_EVENTS, context->arguments);
    TRY(remote_visit_lines(client, HTTP_METHOD_GET, &path, NULL, take_event, &story));
    print_folds(&story);
    return NULL;
}
