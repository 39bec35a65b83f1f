#include "compiler/nnvm/nnvm_graph.h"

#include <string.h>

#include <json-c/json_tokener.h>

#include "base/allocator.h"

void nnvm_graph_release(NnvmGraph *graph) {
    if (!graph) return;
    json_object_put(graph->root);
    memory_free(graph->nodes);
    memory_free(graph->heads);
    memory_free(graph->entries);
    memory_free(graph);
}

static Error *parse_json(const uint8_t *data, size_t size, json_object **out) {
    if (size > NNVM_JSON_BYTES_MAX)
        FAIL(TOO_LARGE, "a graph of %zu bytes of JSON; at most %d are read", size,
            NNVM_JSON_BYTES_MAX);
    json_tokener *tokener = json_tokener_new_ex(NNVM_JSON_DEPTH_MAX);
    if (!tokener) FAIL(OUT_OF_MEMORY, "no memory to read JSON");
    *out = json_tokener_parse_ex(tokener, (const char *)data, (int)size);
    const enum json_tokener_error problem = json_tokener_get_error(tokener);
    const size_t at = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    if (*out && json_object_is_type(*out, json_type_object)) return NULL;
    if (*out || problem == json_tokener_success)
        FAIL(INVALID, "the JSON is no object with \"nodes\" and \"heads\"");
    if (problem == json_tokener_continue) FAIL(CORRUPT, "the JSON ends early");
    FAIL(CORRUPT, "byte %zu of the JSON: %s", at, json_tokener_error_desc(problem));
}

static Error *get_array(json_object *object, const char *name, size_t max, json_object **out) {
    if (!json_object_object_get_ex(object, name, out) ||
        !json_object_is_type(*out, json_type_array))
        FAIL(INVALID, "the list \"%s\" is missing", name);
    if (json_object_array_length(*out) > max)
        FAIL(TOO_LARGE, "%zu \"%s\"; at most %zu are read", json_object_array_length(*out), name,
            max);
    return NULL;
}

static Error *get_text(json_object *object, const char *name, const char **out) {
    json_object *value;
    if (!json_object_object_get_ex(object, name, &value) ||
        !json_object_is_type(value, json_type_string))
        FAIL(INVALID, "the text \"%s\" is missing", name);
    *out = json_object_get_string(value);
    if ((*out)[0] == '\0' || strlen(*out) != (size_t)json_object_get_string_len(value))
        FAIL(INVALID, "the text \"%s\" is empty or has a NUL", name);
    return NULL;
}

static Error *read_number(json_object *value, uint32_t *out) {
    if (!json_object_is_type(value, json_type_int)) FAIL(INVALID, "a number is missing");
    const int64_t number = json_object_get_int64(value);
    if (number < 0 || number > UINT32_MAX) FAIL(INVALID, "the number %lld", (long long)number);
    *out = (uint32_t)number;
    return NULL;
}

/* [node, index] or [node, index, version] */
static Error *read_entry(json_object *value, uint32_t node_count, NnvmEntry *out) {
    const bool is_array = json_object_is_type(value, json_type_array);
    const size_t count = is_array ? json_object_array_length(value) : 0;
    if (count != 2 && count != 3)
        FAIL(INVALID, "[node, index] or [node, index, version] is wanted");
    TRY(read_number(json_object_array_get_idx(value, 0), &out->node));
    TRY(read_number(json_object_array_get_idx(value, 1), &out->index));
    if (out->node >= node_count) FAIL(INVALID, "node %u of %u", out->node, node_count);
    return NULL;
}

static Error *read_attributes(json_object *object, NnvmNode *out) {
    static const char *const names[] = {"attrs", "param", "attr"};
    for (uint32_t i = 0; i < 3; i++) {
        json_object *found;
        if (!json_object_object_get_ex(object, names[i], &found) || !found) continue;
        if (!json_object_is_type(found, json_type_object))
            FAIL(INVALID, "\"%s\" is no object", names[i]);
        out->attributes[i] = found;
        json_object_object_foreach(found, key, value) {
            if (!json_object_is_type(value, json_type_string))
                FAIL(INVALID, "attribute %s is no text", key);
        }
    }
    return NULL;
}

static Error *read_inputs(
    const NnvmGraph *graph, json_object *inputs, uint32_t index, NnvmEntry *entries) {
    NnvmNode *node = &graph->nodes[index];
    node->inputs = entries;
    node->input_count = (uint32_t)json_object_array_length(inputs);
    for (uint32_t i = 0; i < node->input_count; i++) {
        TRY_WRAP(read_entry(json_object_array_get_idx(inputs, i), graph->node_count, &entries[i]),
            "input %u", i);
        const uint32_t from = entries[i].node;
        if (from == index) FAIL(INVALID, "input %u is the node's own result: a cycle", i);
        if (from > index)
            FAIL(INVALID,
                "input %u is a result of node %u, which comes later: a cycle, or nodes in a wrong "
                "order",
                i, from);
    }
    return NULL;
}

static Error *read_node(
    NnvmGraph *graph, json_object *object, uint32_t index, uint64_t *inout_entries) {
    NnvmNode *node = &graph->nodes[index];
    json_object *inputs;
    if (!json_object_is_type(object, json_type_object)) FAIL(INVALID, "no object");
    TRY(get_text(object, "op", &node->op));
    TRY(get_text(object, "name", &node->name));
    TRY_WRAP(get_array(object, "inputs", NNVM_INPUTS_MAX, &inputs), "%s", node->name);
    TRY_WRAP(read_attributes(object, node), "%s", node->name);
    if (nnvm_node_is_variable(node) && json_object_array_length(inputs) > 0)
        FAIL(INVALID, "%s: a variable (op null) with inputs", node->name);
    TRY_WRAP(read_inputs(graph, inputs, index, graph->entries + *inout_entries), "%s", node->name);
    *inout_entries += node->input_count;
    return NULL;
}

/* The number of all inputs, before they are checked. */
static uint64_t count_inputs(json_object *nodes) {
    uint64_t count = 0;
    for (size_t i = 0; i < json_object_array_length(nodes); i++) {
        json_object *node = json_object_array_get_idx(nodes, i), *inputs;
        if (json_object_is_type(node, json_type_object) &&
            json_object_object_get_ex(node, "inputs", &inputs) &&
            json_object_is_type(inputs, json_type_array))
            count += json_object_array_length(inputs);
    }
    return count;
}

static Error *allocate(NnvmGraph *graph, json_object *nodes, json_object *heads) {
    void *memory;
    graph->node_count = (uint32_t)json_object_array_length(nodes);
    graph->head_count = (uint32_t)json_object_array_length(heads);
    if (graph->node_count == 0 || graph->head_count == 0)
        FAIL(INVALID, "%u nodes and %u heads", graph->node_count, graph->head_count);
    TRY(memory_alloc(graph->node_count, sizeof *graph->nodes, &memory));
    graph->nodes = memory;
    TRY(memory_alloc(graph->head_count, sizeof *graph->heads, &memory));
    graph->heads = memory;
    TRY(memory_alloc(count_inputs(nodes) + 1, sizeof *graph->entries, &memory));
    graph->entries = memory;
    return NULL;
}

Error *nnvm_graph_read(const uint8_t *data, size_t size, NnvmGraph **out) {
    OWN(NnvmGraph, graph) = NULL;
    json_object *nodes, *heads;
    uint64_t entries = 0;
    void *memory;
    TRY(memory_alloc(1, sizeof *graph, &memory));
    graph = memory;
    TRY(parse_json(data, size, &graph->root));
    TRY(get_array(graph->root, "nodes", NNVM_NODES_MAX, &nodes));
    TRY(get_array(graph->root, "heads", NNVM_INPUTS_MAX, &heads));
    TRY(allocate(graph, nodes, heads));
    for (uint32_t i = 0; i < graph->node_count; i++)
        TRY_WRAP(read_node(graph, json_object_array_get_idx(nodes, i), i, &entries), "node %u", i);
    for (uint32_t i = 0; i < graph->head_count; i++)
        TRY_WRAP(
            read_entry(json_object_array_get_idx(heads, i), graph->node_count, &graph->heads[i]),
            "head %u", i);
    *out = TAKE(graph);
    return NULL;
}

static bool has_text(const char *text, size_t size, const char *wanted) {
    const size_t length = strlen(wanted);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(text + i, wanted, length) == 0) return true;
    return false;
}

bool nnvm_graph_probe(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    size_t at = 0;
    while (at < size && text[at] && strchr(" \t\r\n", text[at])) at++;
    if (at == size || text[at] != '{') return false;
    return has_text(text + at, size - at, "\"nodes\"") ||
           has_text(text + at, size - at, "\"heads\"");
}

bool nnvm_graph_is_native(const NnvmGraph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].op, "tvm_op") == 0) return true;
    return false;
}

const char *nnvm_node_attribute(const NnvmNode *node, const char *name) {
    for (uint32_t i = 0; i < 3; i++) {
        json_object *value;
        if (node->attributes[i] && json_object_object_get_ex(node->attributes[i], name, &value))
            return json_object_get_string(value);
    }
    return NULL;
}

Error *nnvm_graph_list(const NnvmGraph *graph, const char *name, json_object **out) {
    json_object *attributes, *pair;
    *out = NULL;
    if (!json_object_object_get_ex(graph->root, "attrs", &attributes)) return NULL;
    if (!json_object_is_type(attributes, json_type_object) ||
        !json_object_object_get_ex(attributes, name, &pair))
        return NULL;
    if (!json_object_is_type(pair, json_type_array) || json_object_array_length(pair) != 2 ||
        !json_object_is_type(json_object_array_get_idx(pair, 1), json_type_array))
        FAIL(INVALID, "the graph's attribute %s is no pair of a kind and a list", name);
    *out = json_object_array_get_idx(pair, 1);
    return NULL;
}
