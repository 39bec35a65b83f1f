#pragma once
/* The first message between two nodes: who they are, which protocol they speak, and how busy the
 * answering node is. Asked by departure_run.c, node_loads.c and `layover node add`'s route;
 * answered by route_nodes.c. Threads: any; no state. */
#include <stdbool.h>
#include <stdint.h>

#include <json-c/json_object.h>

#include "store/accounts/nodes.h"

enum { NODE_HELLO_VERSION_SIZE = 64 }; /* with the terminating NUL */

typedef struct NodeHello {
    uint64_t node;                         /* the answering node */
    bool is_node;                          /* the asking node's token has the role node there */
    int64_t protocol;                      /* the version that both will speak */
    char layover[NODE_HELLO_VERSION_SIZE]; /* the node's version of Layover, for people */
    int64_t unfinished;                    /* jobs of all tenants */
    int64_t active, waiting;               /* active: jobs that run or wait; waiting: jobs that
                                            * wait */
    int64_t devices;
    bool draining; /* the node takes no jobs */
} NodeHello;

/* The calls to other homes: over the network, or by a substitute in tests. */
typedef struct NodeCalls {
    /* Asks a node in the name of this home. The answer's number is not verified: the caller
     * compares it with the number that the node's entry has. Errors: as node_link_open and
     * node_link_ask; REFUSED for the token, too; UNSUPPORTED another protocol; CORRUPT the answer
     * is no hello. */
    Error *(*hello)(const Node *node, uint64_t own_node, uint32_t limit_ms, NodeHello *out);
    /* As server_key_ask; room for SERVER_KEY_TEXT_SIZE. */
    Error *(*find_key)(const char *url, uint32_t limit_ms, char *out);
} NodeCalls;

extern const NodeCalls node_calls_network;

/* Reads the hello of an asking node: its number, and the version that both will speak. Unknown
 * fields of a newer node are ignored. Errors: INVALID; UNSUPPORTED. */
MUST_CHECK Error *node_hello_read(json_object *body, uint64_t *out_node, int64_t *out_protocol);
/* Makes the answer. hello->protocol is left out: the answer lists all versions of this home. */
MUST_CHECK Error *node_hello_answer(const NodeHello *hello, json_object **out);
