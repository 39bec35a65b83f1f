#pragma once
/* Sends requests to a daemon and reads its JSON. Callers: the other files of this folder, the
 * library, the command line. Threads: any; one at a time for each client. */
#include <stdbool.h>
#include <stdint.h>

#include <json-c/json_object.h>

#include "scheduler/http/client/http_client.h"
#include "scheduler/http/server/route.h"

/* Writes the address of a route; names stand for the braces of its pattern, in that order. */
void remote_path(TextBuilder *path, RouteId route, const char *const *names);
/* Sends a request and parses the one object of the answer. body: JSON, consumed; NULL: none. */
MUST_CHECK Error *remote_ask(HttpClient *client, HttpMethod method, const TextBuilder *path,
    json_object *owned_body, json_object **out);
/* Sends the request of a route that needs no body, as remote_ask does. names: as in remote_path. */
MUST_CHECK Error *remote_ask_route(
    HttpClient *client, RouteId route, const char *const *names, json_object **out);
/* Sends GETs for an object whose array named list comes in pages; the result has the items of all.
 */
MUST_CHECK Error *remote_ask_pages(
    HttpClient *client, const TextBuilder *path, const char *list, json_object **out);
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
