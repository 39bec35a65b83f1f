#pragma once
/* The first word between two nodes: who they are, which protocol they speak, and how busy the one
 * that answers is. */
#include <stdbool.h>
#include <stdint.h>

#include <json-c/json_object.h>

#include "store/accounts/nodes.h"

enum { NODE_HELLO_VERSION_SIZE = 64 }; /* with the terminating NUL */

typedef struct NodeHello {
    uint64_t node;                         /* who answers */
    bool is_node;                          /* the token has the role node there */
    int64_t protocol;                      /* the version to be spoken */
    char layover[NODE_HELLO_VERSION_SIZE]; /* its version, for people */
    int64_t unfinished;                    /* jobs of all tenants */
    int64_t active, waiting;               /* those that run or wait, and that wait */
    int64_t devices;
    bool draining; /* it takes no jobs */
} NodeHello;

/* How other homes are reached: over the network, or by what stands for it in tests. */
typedef struct NodeCalls {
    /* Asks it, in the name of this home. What it says is believed as far as it goes: that it is
     * the node which its entry names is for the caller to compare.
     * Errors: as node_link_open and node_link_ask; REFUSED the token, too; UNSUPPORTED another
     *         protocol; CORRUPT no such answer. */
    Error *(*hello)(const Node *node, uint64_t own_node, uint32_t limit_ms, NodeHello *out);
    /* As server_key_ask; room for SERVER_KEY_TEXT_SIZE. */
    Error *(*find_key)(const char *url, uint32_t limit_ms, char *out);
} NodeCalls;

extern const NodeCalls node_calls_network;

/* The other side: who asks, and the version to be spoken. A newer node may say more than that.
 * Errors: INVALID; UNSUPPORTED. */
MUST_CHECK Error *node_hello_read(json_object *body, uint64_t *out_node, int64_t *out_protocol);
/* What is answered. protocol: left out, as all of this home's versions are said. */
MUST_CHECK Error *node_hello_answer(const NodeHello *hello, json_object **out);
