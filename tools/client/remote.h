#pragma once
/* Verbs through a daemon: finds it, sends requests, shows answers. Callers: tools/cli and
 * tools/client. Threads: the main thread. */
#include "scheduler/http/client/http_client.h"
#include "scheduler/http/server/route.h"
#include "tools/client/command.h"

/* Finds the daemon of $LAYOVER_SERVER, else the one that holds the home; NULL: none, or --embedded.
 */
MUST_CHECK Error *remote_find(const CommandContext *context, HttpClient **out_client);
/* Finds a daemon for verbs that need one. Errors: UNREACHABLE there is none. */
MUST_CHECK Error *remote_need(const CommandContext *context, HttpClient **out_client);

/* Writes the address of a route; names stand for the braces of its pattern, in that order. */
void remote_path(TextBuilder *path, RouteId route, const char *const *names);
/* Sends a request and parses the one object of the answer. body: JSON, consumed; NULL: none. */
MUST_CHECK Error *remote_ask(HttpClient *client, HttpMethod method, const TextBuilder *path,
    json_object *owned_body, json_object **out);
/* Sends the request of a route that needs no body, as remote_ask does. names: as in remote_path. */
MUST_CHECK Error *remote_ask_route(
    HttpClient *client, RouteId route, const char *const *names, json_object **out);
/* Shows one object as JSON, or by print. Consumes it. */
MUST_CHECK Error *remote_show(
    const CommandContext *context, json_object *owned_object, void (*print)(json_object *object));
/* Calls remote_ask and remote_show. */
MUST_CHECK Error *remote_do(const CommandContext *context, HttpClient *client, HttpMethod method,
    const TextBuilder *path, json_object *owned_body, void (*print)(json_object *object));
/* Sends GETs for an object whose array named list comes in pages; the result has the items of all.
 */
MUST_CHECK Error *remote_ask_pages(
    HttpClient *client, const TextBuilder *path, const char *list, json_object **out);
/* Sends GETs for JSON Lines, all pages. header: printed before the first line for people; may be
 * NULL. */
MUST_CHECK Error *remote_list(const CommandContext *context, HttpClient *client,
    const TextBuilder *path, void (*header)(void), void (*print)(json_object *object));
/* Requests JSON Lines, all pages, and visits each line. body: as in remote_ask, but borrowed. */
MUST_CHECK Error *remote_visit_lines(HttpClient *client, HttpMethod method, const TextBuilder *path,
    json_object *body, HttpClientLineVisitor *visit, void *visit_context);
MUST_CHECK Error *remote_parse(const char *text, json_object **out);
/* Sends a file by POST. Errors that the daemon finds in its content name the file. */
MUST_CHECK Error *remote_send_file(
    HttpClient *client, const TextBuilder *path, const char *file, json_object **out);

/* Fields of an answer; "", -1, NaN when missing, null, or of another type. */
const char *remote_text(json_object *object, const char *name);
int64_t remote_int(json_object *object, const char *name);
double remote_real(json_object *object, const char *name);
bool remote_flag(json_object *object, const char *name);
/* Returns NULL for a missing field. */
json_object *remote_field(json_object *object, const char *name);
/* Prints "2026-01-31 12:00", or "-" without a time. */
void remote_print_time(double seconds, char out[32]);
