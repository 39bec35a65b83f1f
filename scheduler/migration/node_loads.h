#pragma once
/* How busy the other nodes are, and which of them a job had best go to. */
#include "store/accounts/nodes.h"

typedef struct NodeLoad {
    char name[NODE_NAME_SIZE];
    bool answers; /* and takes jobs; else the rest means nothing */
    int64_t devices;
    int64_t active; /* jobs that run or wait, with those that were given to it since it was asked */
} NodeLoad;

typedef struct NodeLoads {
    NodeLoad *items;
    size_t count;
} NodeLoads;

void node_loads_deinit(NodeLoads *loads);
#define OWN_LOADS(name) __attribute__((cleanup(node_loads_deinit))) name

/* Asks all that this home knows, each for a few seconds at most. own_node: this home's number. */
MUST_CHECK Error *node_loads_ask(Store *store, uint64_t own_node, NodeLoads *out_loads);
/* Active jobs for each device; no devices: as if there were one, and it were much slower. */
double node_load_pressure(const NodeLoad *load);
/* The one with the least pressure; NULL: none answers. */
NodeLoad *node_loads_choose(NodeLoads *loads);
