#pragma once
/* Verbs through a daemon: finds it, sends requests, shows answers. Callers: tools/cli and
 * tools/client. Threads: the main thread. */
#include "tools/client/command.h"
#include "tools/remote/remote_request.h"

/* Finds the daemon as server_choice.h says; NULL: none, or --embedded. */
MUST_CHECK Error *remote_find(const CommandContext *context, HttpClient **out_client);
/* Finds a daemon for verbs that need one. Errors: UNREACHABLE there is none. */
MUST_CHECK Error *remote_need(const CommandContext *context, HttpClient **out_client);

/* Shows one object as JSON, or by print. Consumes it. */
MUST_CHECK Error *remote_show(
    const CommandContext *context, json_object *owned_object, void (*print)(json_object *object));
/* Calls remote_ask and remote_show. */
MUST_CHECK Error *remote_do(const CommandContext *context, HttpClient *client, HttpMethod method,
    const TextBuilder *path, json_object *owned_body, void (*print)(json_object *object));
/* Sends GETs for JSON Lines, all pages. header: printed before the first line for people; may be
 * NULL. */
MUST_CHECK Error *remote_list(const CommandContext *context, HttpClient *client,
    const TextBuilder *path, void (*header)(void), void (*print)(json_object *object));
/* Prints "2026-01-31 12:00", or "-" without a time. */
void remote_print_time(double seconds, char out[32]);
