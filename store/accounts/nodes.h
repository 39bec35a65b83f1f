#pragma once
/* Nodes: other homes that jobs go to and come from, and what this home needs to speak to them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database/store.h"
#include "store/accounts/tokens.h"

enum {
    NODE_NAME_SIZE = 65, /* these with the terminating NUL */
    NODE_URL_SIZE = 512,
    NODE_FINGERPRINT_SIZE = 64,
};

typedef struct Node {
    char name[NODE_NAME_SIZE]; /* what this home calls it */
    uint64_t node;             /* its number, as in the names of its jobs */
    char url[NODE_URL_SIZE];
    char token[TOKEN_TEXT_SIZE];             /* made there, for this home; a secret */
    char fingerprint[NODE_FINGERPRINT_SIZE]; /* of its public key; "": it has no TLS */
    double created;                          /* seconds since 1970 */
} Node;

typedef struct NodeList {
    Node *items; /* by name */
    size_t count;
} NodeList;

void node_list_release(NodeList *list);
DEFINE_OWN(NodeList, node_list_release);

/* Adds one (created is set), or takes a known one's new address, token and key: its name and its
 * number must then be those it has.
 * Errors: INVALID a name that is none, no number of a node, no address; CONFLICT another node has
 *         the name, or the number. */
MUST_CHECK Error *nodes_add(Connection *catalog, const Node *node);
/* Errors: NOT_FOUND; CONFLICT jobs are on their way to it or from it. */
MUST_CHECK Error *nodes_remove(Connection *catalog, const char *name);
MUST_CHECK Error *nodes_list(Store *store, NodeList **out_list);
/* Those behind that name, count_max at most. */
MUST_CHECK Error *nodes_list_page(
    Store *store, const char *after, size_t count_max, NodeList **out_list);
/* Errors: NOT_FOUND. */
MUST_CHECK Error *nodes_get(Store *store, const char *name, Node *out);
MUST_CHECK Error *nodes_find(Store *store, uint64_t number, bool *out_found, Node *out);
