#include "compiler/nnvm/graph_plan.h"

#include <ctype.h>
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "kernels/native/native_memory.h"
#include "vm/code/executable.h"

enum { KEYS_MAX = 8, DEVICE_CPU = 1 };

void graph_plan_release(GraphPlan *plan) {
    if (!plan) return;
    memory_free(plan->nodes);
    memory_free(plan->results);
    memory_free(plan->arguments);
    memory_free(plan->lives);
    memory_free(plan);
}

Error *graph_plan_wrap(const GraphPlan *plan, uint32_t node, Error *owned_error) {
    const char *name = plan->graph->nodes[node].name, *function = plan->nodes[node].function;
    if (!function) return error_wrap(owned_error, "node %u: %s", node, name);
    return error_wrap(owned_error, "node %u: %s (%s)", node, name, function);
}

/* ---- JSON ---- */

static Error *check_keys(json_object *object, const char *const known[KEYS_MAX]) {
    json_object_object_foreach(object, key, value) {
        bool found = false;
        (void)value;
        for (uint32_t i = 0; i < KEYS_MAX && known[i]; i++) found |= strcmp(key, known[i]) == 0;
        if (!found) FAIL(UNSUPPORTED, "the key \"%.100s\" is not known", key);
    }
    return NULL;
}

/* A whole number from 0 to max. */
static Error *read_number(json_object *value, uint32_t max, uint32_t *out) {
    if (!json_object_is_type(value, json_type_int)) FAIL(INVALID, "a whole number is missing");
    const int64_t number = json_object_get_int64(value);
    if (number < 0 || number > max)
        FAIL(INVALID, "%lld, where 0 to %u is wanted", (long long)number, max);
    *out = (uint32_t)number;
    return NULL;
}

static Error *get_array(json_object *object, const char *name, json_object **out) {
    if (!json_object_object_get_ex(object, name, out) ||
        !json_object_is_type(*out, json_type_array))
        FAIL(INVALID, "the list \"%s\" is missing", name);
    return NULL;
}

static Error *check_length(json_object *list, size_t wanted, const char *what) {
    const size_t length = json_object_array_length(list);
    if (length != wanted) FAIL(INVALID, "%zu items for %zu %s", length, wanted, what);
    return NULL;
}

/* ---- nodes ---- */

static Error *read_count(
    const NnvmNode *node, const char *name, uint32_t max, bool has, uint32_t *out) {
    int64_t number;
    const char *text = nnvm_node_attribute(node, name);
    if (!text) {
        if (has) FAIL(INVALID, "the attribute %s is missing", name);
        return NULL;
    }
    if (!text_parse_i64(text, &number) || number < 0 || number > max)
        FAIL(INVALID, "%s is \"%.100s\", where 0 to %u is wanted", name, text, max);
    *out = (uint32_t)number;
    return NULL;
}

/* Compiled functions are found by their symbols. No builtin has such a name. */
static Error *check_function(const char *name) {
    size_t i = 0;
    while (isalnum((unsigned char)name[i]) || name[i] == '_') i++;
    if (i == 0 || name[i] || isdigit((unsigned char)name[0]) || i > FUNCTION_NAME_MAX)
        FAIL(INVALID, "func_name \"%.100s\" is no name of a function", name);
    return NULL;
}

static Error *check_kind(const NnvmNode *node, const GraphNode *made) {
    if (made->kind == GRAPH_COPY && (node->input_count != 1 || made->result_count != 1))
        FAIL(INVALID, "%u inputs and %u results; __copy has one of each", node->input_count,
            made->result_count);
    if (node->input_count + made->result_count > NATIVE_ARGUMENTS_MAX)
        FAIL(UNSUPPORTED, "%u inputs and %u results; a function takes at most %d tensors",
            node->input_count, made->result_count, NATIVE_ARGUMENTS_MAX);
    return NULL;
}

static Error *read_call(const NnvmNode *node, GraphNode *made) {
    uint32_t inputs = 0, flatten = 0;
    const char *function = nnvm_node_attribute(node, "func_name");
    if (strcmp(node->op, "tvm_op") != 0)
        FAIL(UNSUPPORTED, "op \"%.100s\"; this graph has variables (null) and tvm_op", node->op);
    if (!function) FAIL(INVALID, "the attribute func_name is missing");
    TRY(check_function(function));
    TRY(read_count(node, "num_inputs", NATIVE_ARGUMENTS_MAX, true, &inputs));
    TRY(read_count(node, "num_outputs", NATIVE_ARGUMENTS_MAX, true, &made->result_count));
    TRY(read_count(node, "flatten_data", 1, true, &flatten));
    if (inputs != node->input_count)
        FAIL(INVALID, "num_inputs is %u, but there are %u inputs", inputs, node->input_count);
    made->function = function;
    made->flatten = flatten != 0;
    made->kind = strcmp(function, "__nop") == 0    ? GRAPH_NOP
                 : strcmp(function, "__copy") == 0 ? GRAPH_COPY
                                                   : GRAPH_CALL;
    return check_kind(node, made);
}

/* Nodes run in their order, so an edge that only orders them must lead backwards. */
static Error *check_control(json_object *object, uint32_t index) {
    json_object *list;
    if (!json_object_object_get_ex(object, "control_deps", &list)) return NULL;
    TRY(get_array(object, "control_deps", &list));
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        uint32_t from = 0;
        TRY_WRAP(
            read_number(json_object_array_get_idx(list, i), NNVM_NODES_MAX, &from), "control_deps");
        if (from >= index)
            FAIL(INVALID, "control_deps has node %u, which does not come before: a cycle", from);
    }
    return NULL;
}

static Error *read_node(GraphPlan *plan, json_object *object, uint32_t index) {
    static const char *const known[KEYS_MAX] = {
        "op", "name", "inputs", "attrs", "attr", "control_deps"};
    const NnvmNode *node = &plan->graph->nodes[index];
    GraphNode *made = &plan->nodes[index];
    TRY(check_keys(object, known));
    TRY(check_control(object, index));
    if (!nnvm_node_is_variable(node)) return read_call(node, made);
    *made = (GraphNode){.kind = GRAPH_VARIABLE, .result_count = 1};
    return NULL;
}

static Error *check_inputs(const GraphPlan *plan, uint32_t index) {
    const NnvmNode *node = &plan->graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; i++) {
        const NnvmEntry from = node->inputs[i];
        if (from.index >= plan->nodes[from.node].result_count)
            FAIL(INVALID, "input %u is result %u of node %u (%s), which has %u", i, from.index,
                from.node, plan->graph->nodes[from.node].name, plan->nodes[from.node].result_count);
    }
    return NULL;
}

static Error *read_nodes(GraphPlan *plan) {
    json_object *nodes;
    void *memory;
    uint64_t count = 0;
    TRY(get_array(plan->graph->root, "nodes", &nodes));
    TRY(memory_alloc(plan->graph->node_count, sizeof *plan->nodes, &memory));
    plan->nodes = memory;
    for (uint32_t i = 0; i < plan->graph->node_count; i++) {
        TRY(graph_plan_wrap(plan, i, read_node(plan, json_object_array_get_idx(nodes, i), i)));
        TRY(graph_plan_wrap(plan, i, check_inputs(plan, i)));
        plan->nodes[i].first_result = (uint32_t)count;
        count += plan->nodes[i].result_count;
        if (count > NNVM_JSON_BYTES_MAX) FAIL(TOO_LARGE, "%llu results", (unsigned long long)count);
    }
    plan->result_count = (uint32_t)count;
    return NULL;
}

static Error *check_heads(const GraphPlan *plan) {
    for (uint32_t i = 0; i < plan->graph->head_count; i++) {
        const NnvmEntry head = plan->graph->heads[i];
        if (head.index >= plan->nodes[head.node].result_count)
            FAIL(INVALID, "head %u: result %u of node %u (%s), which has %u", i, head.index,
                head.node, plan->graph->nodes[head.node].name, plan->nodes[head.node].result_count);
    }
    return NULL;
}

/* ---- rows and arguments ---- */

static Error *check_rows(const GraphPlan *plan) {
    json_object *rows;
    const uint32_t count = plan->graph->node_count;
    TRY(get_array(plan->graph->root, "node_row_ptr", &rows));
    TRY_WRAP(check_length(rows, (size_t)count + 1, "(nodes and one)"), "node_row_ptr");
    for (uint32_t i = 0; i <= count; i++) {
        const uint32_t wanted = i < count ? plan->nodes[i].first_result : plan->result_count;
        uint32_t row = 0;
        TRY_WRAP(read_number(json_object_array_get_idx(rows, i), INT32_MAX, &row),
            "node_row_ptr, item %u", i);
        if (row != wanted)
            FAIL(INVALID, "node_row_ptr, item %u: %u, but the nodes before have %u results", i, row,
                wanted);
    }
    return NULL;
}

static Error *read_argument(GraphPlan *plan, json_object *value, bool *taken) {
    uint32_t node = 0;
    TRY(read_number(value, plan->graph->node_count - 1, &node));
    if (plan->nodes[node].kind != GRAPH_VARIABLE)
        FAIL(INVALID, "node %u (%s) is no variable", node, plan->graph->nodes[node].name);
    if (taken[node])
        FAIL(INVALID, "node %u (%s) is there twice", node, plan->graph->nodes[node].name);
    taken[node] = true;
    plan->arguments[plan->argument_count++] = node;
    return NULL;
}

static Error *take_arguments(GraphPlan *plan, json_object *list, bool *taken) {
    for (size_t i = 0; i < json_object_array_length(list); i++)
        TRY_WRAP(read_argument(plan, json_object_array_get_idx(list, i), taken),
            "arg_nodes, item %zu", i);
    for (uint32_t i = 0; i < plan->graph->node_count; i++)
        if (plan->nodes[i].kind == GRAPH_VARIABLE && !taken[i])
            FAIL(INVALID, "node %u: %s: a variable that arg_nodes does not have", i,
                plan->graph->nodes[i].name);
    return NULL;
}

static Error *read_arguments(GraphPlan *plan) {
    json_object *list;
    void *memory, *taken;
    TRY(get_array(plan->graph->root, "arg_nodes", &list));
    if (json_object_array_length(list) > plan->graph->node_count)
        FAIL(INVALID, "arg_nodes has %zu items; there are %u nodes", json_object_array_length(list),
            plan->graph->node_count);
    TRY(memory_alloc(plan->graph->node_count, sizeof *plan->arguments, &memory));
    plan->arguments = memory;
    TRY(memory_alloc(plan->graph->node_count, sizeof(bool), &taken));
    Error *error = take_arguments(plan, list, taken);
    memory_free(taken);
    return error;
}

/* ---- the lists ---- */

static const struct {
    const char *name, *kind;
    bool needed;
} lists[] = {
    {"storage_id", "list_int", true},
    {"dltype", "list_str", true},
    {"shape", "list_shape", true},
    {"device_index", "list_int", false},
};
enum { STORAGE_ID, DLTYPE, SHAPE, DEVICE_INDEX, LIST_COUNT };

/* Lists of numbers and single numbers that TVM's reader skips, too. */
static bool is_skipped(const char *kind) {
    return strcmp(kind, "list_int") == 0 || strcmp(kind, "size_t") == 0;
}

static Error *check_attribute(const char *name, json_object *pair) {
    const bool is_pair =
        json_object_is_type(pair, json_type_array) && json_object_array_length(pair) == 2;
    json_object *kind = is_pair ? json_object_array_get_idx(pair, 0) : NULL;
    if (!json_object_is_type(kind, json_type_string)) FAIL(INVALID, "no pair of a kind and a list");
    const char *text = json_object_get_string(kind);
    for (uint32_t i = 0; i < LIST_COUNT; i++) {
        if (strcmp(name, lists[i].name) != 0) continue;
        if (strcmp(text, lists[i].kind) == 0) return NULL;
        FAIL(INVALID, "the kind \"%.100s\"; %s is wanted", text, lists[i].kind);
    }
    if (!is_skipped(text))
        FAIL(UNSUPPORTED, "an attribute that is not known, of kind %.100s", text);
    return NULL;
}

static Error *get_lists(const GraphPlan *plan, json_object *out[LIST_COUNT]) {
    json_object *attributes;
    if (!json_object_object_get_ex(plan->graph->root, "attrs", &attributes) ||
        !json_object_is_type(attributes, json_type_object))
        FAIL(INVALID, "the object \"attrs\" is missing");
    json_object_object_foreach(attributes, key, value)
        TRY_WRAP(check_attribute(key, value), "attrs, %.100s", key);
    for (uint32_t i = 0; i < LIST_COUNT; i++) {
        TRY(nnvm_graph_list(plan->graph, lists[i].name, &out[i]));
        if (!out[i] && lists[i].needed) FAIL(INVALID, "attrs has no %s", lists[i].name);
        if (out[i])
            TRY_WRAP(check_length(out[i], plan->result_count, "results of the nodes"), "attrs, %s",
                lists[i].name);
    }
    return NULL;
}

static Error *read_shape(json_object *list, Shape *out) {
    if (!json_object_is_type(list, json_type_array)) FAIL(INVALID, "its shape is no list");
    const size_t rank = json_object_array_length(list);
    if (rank > SHAPE_RANK_MAX)
        FAIL(UNSUPPORTED, "a shape of %zu dimensions; there may be %d", rank, SHAPE_RANK_MAX);
    out->rank = (uint32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        json_object *dim = json_object_array_get_idx(list, i);
        if (!json_object_is_type(dim, json_type_int))
            FAIL(INVALID, "dimension %zu is no whole number", i);
        out->dims[i] = json_object_get_int64(dim);
        if (out->dims[i] < 0 || (uint64_t)out->dims[i] > NATIVE_DATA_MAX)
            FAIL(INVALID, "dimension %zu is %lld", i, (long long)out->dims[i]);
    }
    return NULL;
}

/* TVM writes a bool as an unsigned integer of one bit, too. */
static Error *read_dtype(json_object *value, DType *out) {
    const char *text =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
    if (!text) FAIL(INVALID, "its dltype is no text");
    *out = strcmp(text, "uint1") == 0 ? DTYPE_BOOL : dtype_find(text);
    if (*out == DTYPE_NONE || dtype_bits(*out) == 0 || dtype_bits(*out) % 8 != 0)
        FAIL(UNSUPPORTED, "dltype \"%.100s\"; native functions take elements of whole bytes", text);
    return NULL;
}

static Error *read_result(json_object *const from[LIST_COUNT], uint32_t index, GraphResult *out) {
    uint32_t device = DEVICE_CPU;
    TRY(read_shape(json_object_array_get_idx(from[SHAPE], index), &out->shape));
    TRY(read_dtype(json_object_array_get_idx(from[DLTYPE], index), &out->dtype));
    TRY(shape_bytes(&out->shape, out->dtype, &out->bytes));
    if (out->bytes > NATIVE_DATA_MAX)
        FAIL(TOO_LARGE, "%llu bytes; native functions take at most %llu",
            (unsigned long long)out->bytes, (unsigned long long)NATIVE_DATA_MAX);
    TRY_WRAP(read_number(json_object_array_get_idx(from[STORAGE_ID], index), GRAPH_STORAGES_MAX - 1,
                 &out->storage),
        "storage_id");
    if (from[DEVICE_INDEX])
        TRY_WRAP(
            read_number(json_object_array_get_idx(from[DEVICE_INDEX], index), INT32_MAX, &device),
            "device_index");
    if (device != DEVICE_CPU)
        FAIL(UNSUPPORTED, "device_index is %u; native functions run in host memory (%d, cpu)",
            device, DEVICE_CPU);
    return NULL;
}

static Error *read_results(GraphPlan *plan) {
    json_object *from[LIST_COUNT];
    void *memory;
    TRY(get_lists(plan, from));
    TRY(memory_alloc(plan->result_count, sizeof *plan->results, &memory));
    plan->results = memory;
    for (uint32_t i = 0; i < plan->graph->node_count; i++)
        for (uint32_t k = 0; k < plan->nodes[i].result_count; k++) {
            const uint32_t index = plan->nodes[i].first_result + k;
            plan->results[index].node = i;
            TRY(graph_plan_wrap(plan, i,
                error_wrap(read_result(from, index, &plan->results[index]), "result %u", k)));
        }
    return NULL;
}

static Error *read_all(GraphPlan *plan) {
    static const char *const known[KEYS_MAX] = {
        "nodes", "arg_nodes", "heads", "attrs", "node_row_ptr", "metadata"};
    TRY(check_keys(plan->graph->root, known));
    TRY(read_nodes(plan));
    TRY(check_heads(plan));
    TRY(check_rows(plan));
    TRY(read_arguments(plan));
    return read_results(plan);
}

Error *graph_plan_read(const NnvmGraph *graph, GraphPlan **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(GraphPlan), &memory));
    OWN(GraphPlan, plan) = memory;
    plan->graph = graph;
    TRY(read_all(plan));
    *out = TAKE(plan);
    return NULL;
}
