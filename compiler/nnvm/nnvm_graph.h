#pragma once
/* A graph in the JSON of NNVM: symbols of MXNet and NNVM, and the graphs of TVM's graph executor.
 * The text is parsed and checked: counts, kinds, and that nodes read earlier nodes only. Callers:
 * nnvm_import.c and the readers of graphs beside it. Threads: one at a time per graph; the graph
 * owns all that it points to. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json_object.h>
#include <json-c/linkhash.h> /* json_object_object_foreach */

#include "base/error.h"

enum {
    NNVM_NODES_MAX = 1 << 18,
    NNVM_INPUTS_MAX = 1024, /* of one node */
    NNVM_JSON_DEPTH_MAX = 64,
    NNVM_JSON_BYTES_MAX = 1 << 29,
};

/* Result `index` of a node. */
typedef struct NnvmEntry {
    uint32_t node, index;
} NnvmEntry;

typedef struct NnvmNode {
    const char *op;   /* "null": a variable */
    const char *name; /* never empty */
    /* What "attrs", "param" and "attr" hold: objects of texts, or NULL. */
    json_object *attributes[3];
    uint32_t input_count;
    const NnvmEntry *inputs;
} NnvmNode;

typedef struct NnvmGraph {
    json_object *root;
    uint32_t node_count, head_count;
    NnvmNode *nodes;
    NnvmEntry *heads;
    NnvmEntry *entries; /* memory of the nodes' inputs */
} NnvmGraph;

/* Errors: CORRUPT no JSON; INVALID a wrong graph, naming the node; TOO_LARGE. */
MUST_CHECK Error *nnvm_graph_read(const uint8_t *data, size_t size, NnvmGraph **out);
void nnvm_graph_release(NnvmGraph *graph);
DEFINE_OWN(NnvmGraph, nnvm_graph_release);
/* Whether bytes look like such a graph: an object in which "nodes" or "heads" comes early. */
bool nnvm_graph_probe(const uint8_t *data, size_t size);
/* Whether a graph calls functions of a library, as those of TVM's graph executor do. */
bool nnvm_graph_is_native(const NnvmGraph *graph);

static inline bool nnvm_node_is_variable(const NnvmNode *node) {
    return node->op[0] == 'n' && node->op[1] == 'u' && node->op[2] == 'l' && node->op[3] == 'l' &&
           node->op[4] == '\0';
}
/* Returns an attribute's text, or NULL. */
const char *nnvm_node_attribute(const NnvmNode *node, const char *name);
/* Returns the list of that name in the graph's attributes, which are written ["list_shape", […]],
 * or NULL. */
MUST_CHECK Error *nnvm_graph_list(const NnvmGraph *graph, const char *name, json_object **out);
