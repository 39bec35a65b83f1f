#include "tools/client/remote.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "tools/remote/server_choice.h"

Error *remote_find(const CommandContext *context, HttpClient **out_client) {
    ServerChoice OWN_CHOICE(choice) = {0};
    const ServerWish wish = {
        .server = context->server, .tenant = context->tenant, .home = context->home};
    *out_client = NULL;
    if (context->server && (context->home || context->embedded))
        FAIL(USAGE, "--server names a daemon; --home and --embedded do not go with it");
    if (context->embedded) return NULL;
    TRY(server_choice_find(&wish, &choice));
    return choice.server ? server_choice_open(&choice, out_client) : NULL;
}

Error *remote_need(const CommandContext *context, HttpClient **out_client) {
    if (context->embedded)
        FAIL(USAGE, "%s: it needs a daemon, so --embedded makes no sense", context->command->verb);
    TRY(remote_find(context, out_client));
    if (!*out_client)
        FAIL(UNREACHABLE,
            "%s: no daemon holds this home; start one with layover serve, or name one with "
            "--server",
            context->command->verb);
    return NULL;
}

Error *remote_show(
    const CommandContext *context, json_object *owned_object, void (*print)(json_object *object)) {
    if (context->json) return command_print_json(owned_object);
    print(owned_object);
    json_object_put(owned_object);
    return NULL;
}

Error *remote_do(const CommandContext *context, HttpClient *client, HttpMethod method,
    const TextBuilder *path, json_object *owned_body, void (*print)(json_object *object)) {
    json_object *object;
    TRY(remote_ask(client, method, path, owned_body, &object));
    return remote_show(context, object, print);
}

typedef struct Lines {
    const CommandContext *context;
    void (*header)(void);
    void (*print)(json_object *object);
} Lines;

static Error *show_line(void *self, const char *line) {
    Lines *lines = self;
    json_object *object;
    TRY(remote_parse(line, &object));
    if (lines->header && !lines->context->json) lines->header();
    lines->header = NULL;
    return remote_show(lines->context, object, lines->print);
}

Error *remote_list(const CommandContext *context, HttpClient *client, const TextBuilder *path,
    void (*header)(void), void (*print)(json_object *object)) {
    Lines lines = {.context = context, .header = header, .print = print};
    return remote_visit_lines(client, HTTP_METHOD_GET, path, NULL, show_line, &lines);
}

void remote_print_time(double seconds, char out[32]) {
    struct tm calendar;
    time_t whole = isfinite(seconds) ? (time_t)seconds : 0;
    (void)snprintf(out, 32, "-");
    if (isfinite(seconds) && localtime_r(&whole, &calendar))
        (void)strftime(out, 32, "%Y-%m-%d %H:%M", &calendar);
}
