#pragma once
/* The loads of other nodes, and the choice of the best target for a job. Called by node_drain.c, on
 * the thread of a drain or a handler thread; a list belongs to its caller. */
#include "store/accounts/nodes.h"

typedef struct NodeLoad {
    char name[NODE_NAME_SIZE];
    bool answers; /* the node answers and takes jobs; if false the other members mean nothing */
    int64_t devices;
    int64_t active; /* jobs that run or wait, with those that were sent there since the node was
                     * asked */
} NodeLoad;

typedef struct NodeLoads {
    NodeLoad *items;
    size_t count;
} NodeLoads;

void node_loads_deinit(NodeLoads *loads);
#define OWN_LOADS(name) __attribute__((cleanup(node_loads_deinit))) name

/* Asks all nodes that this home knows, each for a few seconds at most. own_node: this home's
 * number. */
MUST_CHECK Error *node_loads_ask(Store *store, uint64_t own_node, NodeLoads *out_loads);
/* Active jobs for each device. A node without devices counts as one with a single, much slower
 * device. */
double node_load_pressure(const NodeLoad *load);
/* The node with the least pressure; NULL: no node answers. */
NodeLoad *node_loads_choose(NodeLoads *loads);
