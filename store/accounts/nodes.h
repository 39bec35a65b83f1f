#pragma once
/* Nodes: the other homes that jobs go to and come from, with the address, token and key that this
 * home needs to reach them. Callers: the HTTP route of nodes, scheduler/migration,
 * scheduler/service.
 * Threads: functions with a Connection run in catalog work (catalog.h), the others in any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database/store.h"
#include "store/accounts/tokens.h"

enum {
    NODE_NAME_SIZE = 65, /* with the terminating NUL, like the next two */
    NODE_URL_SIZE = 512,
    NODE_FINGERPRINT_SIZE = 64,
};

typedef struct Node {
    char name[NODE_NAME_SIZE]; /* the node's name in this home */
    uint64_t node;             /* the node's number, as in the ids of its jobs */
    char url[NODE_URL_SIZE];
    char token[TOKEN_TEXT_SIZE];             /* made by that node for this home; a secret */
    char fingerprint[NODE_FINGERPRINT_SIZE]; /* of the node's public key; "": the node has no TLS */
    double created;                          /* seconds since 1970 */
} Node;

typedef struct NodeList {
    Node *items; /* by name */
    size_t count;
} NodeList;

void node_list_release(NodeList *list);
DEFINE_OWN(NodeList, node_list_release);

/* Adds a node (created is set), or updates a known node's address, token and key; its name and its
 * number must then both match.
 * Errors: INVALID no valid name, number or address; CONFLICT another node has the name, or the
 *         number. */
MUST_CHECK Error *nodes_add(Connection *catalog, const Node *node);
/* Removes a node. Errors: NOT_FOUND; CONFLICT jobs are on their way to the node or from it. */
MUST_CHECK Error *nodes_remove(Connection *catalog, const char *name);
MUST_CHECK Error *nodes_list(Store *store, NodeList **out_list);
/* Lists the nodes behind that name, at most count_max. */
MUST_CHECK Error *nodes_list_page(
    Store *store, const char *after, size_t count_max, NodeList **out_list);
/* Errors: NOT_FOUND. */
MUST_CHECK Error *nodes_get(Store *store, const char *name, Node *out);
MUST_CHECK Error *nodes_find(Store *store, uint64_t number, bool *out_found, Node *out);
