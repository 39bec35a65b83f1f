#include "scheduler/migration/node_loads.h"

#include <string.h>

#include "base/allocator.h"
#include "scheduler/migration/node_hello.h"

enum { LIMIT_MS = 3000, NO_DEVICE_PENALTY = 1000000 };

void node_loads_deinit(NodeLoads *loads) { memory_free(loads->items); }

static void ask(const Node *node, uint64_t own_node, NodeLoad *out) {
    NodeHello hello;
    memcpy(out->name, node->name, sizeof out->name);
    Error *error = node_calls_network.hello(node, own_node, LIMIT_MS, &hello);
    out->answers = !error && hello.node == node->node && hello.is_node && !hello.draining;
    if (!error) out->devices = hello.devices;
    if (!error) out->active = hello.active;
    error_free(error); /* a node that does not answer is not chosen */
}

Error *node_loads_ask(Store *store, uint64_t own_node, NodeLoads *out_loads) {
    OWN(NodeList, list) = NULL;
    void *memory;
    TRY(nodes_list(store, &list));
    TRY(memory_alloc(list->count ? list->count : 1, sizeof(NodeLoad), &memory));
    *out_loads = (NodeLoads){memory, list->count};
    for (size_t i = 0; i < list->count; i++) ask(&list->items[i], own_node, &out_loads->items[i]);
    return NULL;
}

double node_load_pressure(const NodeLoad *load) {
    if (load->devices <= 0) return (double)load->active + NO_DEVICE_PENALTY;
    return (double)load->active / (double)load->devices;
}

NodeLoad *node_loads_choose(NodeLoads *loads) {
    NodeLoad *best = NULL;
    for (size_t i = 0; i < loads->count; i++) {
        NodeLoad *load = &loads->items[i];
        if (load->answers && (!best || node_load_pressure(load) < node_load_pressure(best)))
            best = load;
    }
    return best;
}
