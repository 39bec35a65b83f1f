#pragma once
/* Speaking to another node: over TLS with the key that was trusted when it was added, or on this
 * machine without; never through a proxy. */
#include <json-c/json_object.h>

#include "scheduler/http/client/http_client.h"
#include "store/accounts/nodes.h"

enum {
    NODE_LINK_CONNECT_MS = 5000,
    NODE_LINK_SILENCE_S = 20,
    NODE_LINK_ANSWER_MS = 120000, /* all of a question and its answer */
};

/* Connects when it is first asked something; the connection stays. For one thread at a time.
 * Errors: INVALID an address or a key that is none; https without a key; REFUSED http to another
 *         machine. */
MUST_CHECK Error *node_link_open(const Node *node, HttpClient **out);

/* The same to a node that is known by its number; out_node says which it is.
 * Errors: UNREACHABLE it is not known here any more; node_link_open's. */
MUST_CHECK Error *node_link_open_number(
    Store *store, uint64_t number, Node *out_node, HttpClient **out);

/* Sends a JSON object (owned; NULL: none) and reads the one that is answered.
 * Errors: UNREACHABLE nobody answers in time; REFUSED it has another key; CORRUPT the answer is no
 *         JSON object; what the node said, under its code. */
MUST_CHECK Error *node_link_ask(HttpClient *client, HttpMethod method, const char *path,
    json_object *owned_body, json_object **out);
/* The same within a time. */
MUST_CHECK Error *node_link_ask_within(HttpClient *client, HttpMethod method, const char *path,
    json_object *owned_body, uint32_t limit_ms, json_object **out);
