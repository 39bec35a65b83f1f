#pragma once
/* A connection to another node: over TLS with the key that was trusted when the node was added, or
 * without TLS on this machine; never through a proxy. Called by the files of migration/ and by
 * job_service_moved.c, on any thread that may wait. */
#include <json-c/json_object.h>

#include "scheduler/http/client/http_client.h"
#include "store/accounts/nodes.h"

enum {
    NODE_LINK_CONNECT_MS = 5000,
    NODE_LINK_SILENCE_S = 20,
    NODE_LINK_ANSWER_MS = 120000, /* a question and its whole answer */
};

/* Makes the link; it connects at the first question, and the connection stays. For one thread at a
 * time. Errors: INVALID the address or the key is malformed, or https has no key; REFUSED http to
 * another machine. */
MUST_CHECK Error *node_link_open(const Node *node, HttpClient **out);

/* Opens a link to the node with that number; out_node gets the node's entry. Errors: UNREACHABLE
 * this home does not know the node any more; node_link_open's. */
MUST_CHECK Error *node_link_open_number(
    Store *store, uint64_t number, Node *out_node, HttpClient **out);

/* Sends a JSON object (owned; NULL: none) and reads the JSON object of the answer. Errors:
 * UNREACHABLE no answer in time; REFUSED the node has another key; CORRUPT the answer is no JSON
 * object; an error of the node, under its code. */
MUST_CHECK Error *node_link_ask(HttpClient *client, HttpMethod method, const char *path,
    json_object *owned_body, json_object **out);
/* The same within limit_ms. */
MUST_CHECK Error *node_link_ask_within(HttpClient *client, HttpMethod method, const char *path,
    json_object *owned_body, uint32_t limit_ms, json_object **out);
