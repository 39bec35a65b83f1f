#pragma once
/* Verbs through a daemon: finding it, asking it, showing what it answers. */
#include "scheduler/http/client/http_client.h"
#include "tools/client/command.h"

/* The daemon that $LAYOVER_SERVER names, else the one that holds the home; NULL: none, or
 * --embedded. */
MUST_CHECK Error *remote_find(const CommandContext *context, HttpClient **out_client);
/* For verbs that only a daemon can do. Errors: UNREACHABLE there is none. */
MUST_CHECK Error *remote_need(const CommandContext *context, HttpClient **out_client);

/* Calls and parses the one object of the answer. body: JSON, consumed; NULL: none. */
MUST_CHECK Error *remote_ask(HttpClient *client, HttpMethod method, const TextBuilder *path,
    json_object *owned_body, json_object **out);
/* Shows one object: as JSON, or by print. Consumes it. */
MUST_CHECK Error *remote_show(
    const CommandContext *context, json_object *owned_object, void (*print)(json_object *object));
/* remote_ask and remote_show. */
MUST_CHECK Error *remote_do(const CommandContext *context, HttpClient *client, HttpMethod method,
    const TextBuilder *path, json_object *owned_body, void (*print)(json_object *object));
/* A GET of one object whose array named list comes in pages: with the items of all of them. */
MUST_CHECK Error *remote_ask_pages(
    HttpClient *client, const TextBuilder *path, const char *list, json_object **out);
/* A GET that answers JSON Lines, all pages of them. header: printed before the first for people;
 * may be NULL. */
MUST_CHECK Error *remote_list(const CommandContext *context, HttpClient *client,
    const TextBuilder *path, void (*header)(void), void (*print)(json_object *object));
/* The same of a POST that says nothing more. */
MUST_CHECK Error *remote_post_list(const CommandContext *context, HttpClient *client,
    const TextBuilder *path, void (*print)(json_object *object));
MUST_CHECK Error *remote_parse(const char *text, json_object **out);
/* A POST of a file; what the daemon says about its content names the file. */
MUST_CHECK Error *remote_send_file(
    HttpClient *client, const TextBuilder *path, const char *file, json_object **out);

/* Fields of an answer; "" , -1, NaN where they are missing, null, or of another type. */
const char *remote_text(json_object *object, const char *name);
int64_t remote_int(json_object *object, const char *name);
double remote_real(json_object *object, const char *name);
bool remote_flag(json_object *object, const char *name);
/* NULL: none. */
json_object *remote_field(json_object *object, const char *name);
/* "2026-01-31 12:00", "-" where there is no time. */
void remote_print_time(double seconds, char out[32]);
