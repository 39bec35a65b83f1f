/* The order in which a graph's nodes are converted: the file's order, except that each node stands
 * behind the makers of its inputs. Files should be sorted, but some are not. */
#include "base/allocator.h"
#include "compiler/frontend/base/onnx_internal.h"
#include "compiler/frontend/base/onnx_sparse.h"

enum { CYCLE_NAMES_MAX = 8 };

/* For each node, the nodes that it needs, one list behind the other. */
typedef struct Order {
    const OnnxScope *scope; /* values in this scope need no node */
    Onnx__NodeProto *const *nodes;
    size_t count;
    NameMap *makers;  /* of the nodes' outputs: 1 + index of the node */
    uint32_t *needed; /* needed[starts[i]] … needed[starts[i + 1] - 1]: of node i */
    size_t needed_count, needed_capacity;
    size_t *starts;
} Order;

/* The names that the graphs around a node define, which hide outer names. */
typedef struct Hidden {
    const struct Hidden *outer;
    NameMap *names;
} Hidden;

static const char *text_of(const char *text) { return text ? text : ""; }

static bool is_hidden(const Hidden *hidden, const char *name) {
    for (; hidden; hidden = hidden->outer)
        if (name_map_find(hidden->names, name)) return true;
    return false;
}

static Error *add_need(Order *order, const Hidden *hidden, const char *name) {
    if (!name || !name[0] || is_hidden(hidden, name)) return NULL;
    const uintptr_t maker = (uintptr_t)name_map_find(order->makers, name);
    if (maker == 0 || onnx_scope_has(order->scope, name)) return NULL;
    void *array = order->needed;
    TRY(memory_grow(&array, order->needed_count, &order->needed_capacity, sizeof(uint32_t)));
    order->needed = array;
    order->needed[order->needed_count++] = (uint32_t)(maker - 1);
    return NULL;
}

static Error *hide(NameMap *names, const char *name) {
    return name && name[0] ? name_map_set(names, name, names) : NULL;
}

static Error *hide_names(const Onnx__GraphProto *graph, NameMap *names) {
    for (size_t i = 0; i < graph->n_input; i++) TRY(hide(names, graph->input[i]->name));
    for (size_t i = 0; i < graph->n_initializer; i++) TRY(hide(names, graph->initializer[i]->name));
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        TRY(hide(names, onnx_sparse_name(graph->sparse_initializer[i])));
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            TRY(hide(names, graph->node[i]->output[k]));
    return NULL;
}

static Error *add_graph(Order *order, const Hidden *outer, const Onnx__GraphProto *graph);

/* Depth is bounded by ONNX_NESTING_MAX. */
static Error *add_node(Order *order, const Hidden *hidden, const Onnx__NodeProto *node) {
    for (size_t i = 0; i < node->n_input; i++) TRY(add_need(order, hidden, node->input[i]));
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute->g) TRY(add_graph(order, hidden, attribute->g));
        for (size_t k = 0; k < attribute->n_graphs; k++)
            TRY(add_graph(order, hidden, attribute->graphs[k]));
    }
    return NULL;
}

static Error *add_graph(Order *order, const Hidden *outer, const Onnx__GraphProto *graph) {
    OWN(NameMap, names) = NULL;
    TRY(name_map_create(&names));
    TRY(hide_names(graph, names));
    const Hidden hidden = {outer, names};
    for (size_t i = 0; i < graph->n_node; i++) TRY(add_node(order, &hidden, graph->node[i]));
    for (size_t i = 0; i < graph->n_output; i++)
        TRY(add_need(order, &hidden, graph->output[i]->name));
    return NULL;
}

static Error *find_needs(Order *order, bool *out_sorted) {
    void *memory;
    TRY(name_map_create(&order->makers));
    for (size_t i = 0; i < order->count; i++)
        for (size_t k = 0; k < order->nodes[i]->n_output; k++) {
            const char *name = order->nodes[i]->output[k];
            if (!name[0] || name_map_find(order->makers, name)) continue;
            TRY(name_map_set(order->makers, name, (void *)(uintptr_t)(i + 1)));
        }
    TRY(memory_alloc(order->count + 1, sizeof *order->starts, &memory));
    order->starts = memory;
    *out_sorted = true;
    for (size_t i = 0; i < order->count; i++) {
        TRY(add_node(order, NULL, order->nodes[i]));
        order->starts[i + 1] = order->needed_count;
        for (size_t k = order->starts[i]; k < order->needed_count; k++)
            *out_sorted = *out_sorted && order->needed[k] < i;
    }
    return NULL;
}

/* path[from] … path[count - 1] need each other in turn. */
static Error *fail_cycle(const Order *order, const uint32_t *path, size_t from, size_t count) {
    TextBuilder OWN_TEXT(names) = {0};
    for (size_t i = from; i < count && i < from + CYCLE_NAMES_MAX; i++)
        text_appendf(&names, "%s%s (%s)", i > from ? ", " : "",
            onnx_node_label(order->nodes[path[i]]), text_of(order->nodes[path[i]]->op_type));
    if (count - from > CYCLE_NAMES_MAX)
        text_appendf(&names, " and %zu more", count - from - CYCLE_NAMES_MAX);
    TRY(text_builder_check(&names));
    if (count - from == 1) FAIL(INVALID, "node %s needs its own output", text_builder_get(&names));
    FAIL(INVALID,
        "nodes in a cycle, each needs an output of the next and the last of the first: %s",
        text_builder_get(&names));
}

typedef enum NodeState { NODE_NEW, NODE_ON_PATH, NODE_DONE } NodeState;

typedef struct Walk {
    uint32_t *path; /* each needs the next */
    size_t *next;   /* by node: the next of its needs to visit */
    uint8_t *states;
    size_t done;
} Walk;

/* Appends to `out` all nodes that the node needs, then the node. */
static Error *walk_from(const Order *order, Walk *walk, uint32_t node, Onnx__NodeProto **out) {
    size_t depth = 0;
    if (walk->states[node] == NODE_DONE) return NULL;
    walk->path[depth++] = node;
    while (depth > 0) {
        const uint32_t at = walk->path[depth - 1];
        walk->states[at] = NODE_ON_PATH;
        if (walk->next[at] == order->starts[at + 1]) {
            walk->states[at] = NODE_DONE;
            out[walk->done++] = order->nodes[at];
            depth--;
            continue;
        }
        const uint32_t need = order->needed[walk->next[at]++];
        if (walk->states[need] == NODE_ON_PATH) {
            size_t from = depth - 1;
            while (walk->path[from] != need) from--;
            return fail_cycle(order, walk->path, from, depth);
        }
        if (walk->states[need] == NODE_NEW) walk->path[depth++] = need;
    }
    return NULL;
}

static Error *sort(const Order *order, Onnx__NodeProto **out) {
    void *path = NULL, *next = NULL, *states = NULL;
    Error *error = memory_alloc(order->count, sizeof(uint32_t), &path);
    if (!error) error = memory_alloc(order->count, sizeof(size_t), &next);
    if (!error) error = memory_alloc(order->count, 1, &states);
    if (!error) memcpy(next, order->starts, order->count * sizeof(size_t));
    Walk walk = {.path = path, .next = next, .states = states};
    for (uint32_t i = 0; i < order->count && !error; i++) error = walk_from(order, &walk, i, out);
    memory_free(path);
    memory_free(next);
    memory_free(states);
    return error;
}

static Error *order_nodes(OnnxImport *import, Order *order, Onnx__NodeProto *const **inout) {
    bool sorted;
    void *memory;
    TRY(find_needs(order, &sorted));
    if (sorted) return NULL;
    TRY(arena_alloc(&import->module->arena, order->count, sizeof(Onnx__NodeProto *), &memory));
    TRY(sort(order, memory));
    *inout = memory;
    return NULL;
}

Error *onnx_order_nodes(OnnxImport *import, const OnnxScope *scope, size_t count,
    Onnx__NodeProto *const **inout_nodes) {
    Order order = {.scope = scope, .nodes = *inout_nodes, .count = count};
    if (count > UINT32_MAX - 1) FAIL(UNSUPPORTED, "%zu nodes", count);
    Error *error = order_nodes(import, &order, inout_nodes);
    name_map_release(order.makers);
    memory_free(order.needed);
    memory_free(order.starts);
    return error;
}
