#include "compiler/nnvm/graph_emit.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/native/native_memory.h"
#include "vm/objects/shape_object.h"

/* Operands of one instruction: a function, its inputs and results; or a tuple of heads. */
enum { OPERANDS_MAX = NATIVE_ARGUMENTS_MAX + 1, HOST = 0 };

void graph_emit_release(GraphEmit *emit) {
    if (!emit) return;
    executable_builder_release(emit->builder);
    memory_free(emit->places);
    memory_free(emit->storages);
    memory_free(emit->functions);
    memory_free(emit->free);
    memory_free(emit->shapes);
    name_map_release(emit->shapes_by_text);
    memory_free(emit->words);
    memory_free(emit);
}

static Error *make_numbers(size_t count, uint32_t **out) {
    void *memory;
    TRY(memory_alloc(count + 1, sizeof(uint32_t), &memory));
    *out = memory;
    return NULL;
}

Error *graph_emit_create(const GraphPlan *plan, GraphEmit **out) {
    void *memory;
    const size_t results = plan->result_count;
    TRY(memory_alloc(1, sizeof(GraphEmit), &memory));
    OWN(GraphEmit, emit) = memory;
    emit->plan = plan;
    emit->identity = GRAPH_NONE;
    TRY(executable_builder_create(&emit->builder));
    TRY(memory_alloc(results, sizeof *emit->places, &memory));
    emit->places = memory;
    for (size_t i = 0; i < results; i++) emit->places[i] = GRAPH_NOWHERE;
    TRY(make_numbers(plan->life_count, &emit->storages));
    for (uint32_t i = 0; i < plan->life_count; i++) emit->storages[i] = GRAPH_NONE;
    TRY(make_numbers(plan->graph->node_count, &emit->functions));
    TRY(make_numbers(2 * results, &emit->shapes));
    TRY(name_map_create(&emit->shapes_by_text));
    *out = TAKE(emit);
    return NULL;
}

void graph_emit_place(GraphEmit *emit, uint32_t result, uint64_t operand) {
    emit->places[result] = operand;
}

Error *graph_emit_functions(GraphEmit *emit) {
    OWN(NameMap, known) = NULL;
    const GraphPlan *plan = emit->plan;
    TRY(name_map_create(&known));
    for (uint32_t i = 0; i < plan->graph->node_count; i++) {
        const char *name = plan->nodes[i].function;
        if (plan->nodes[i].kind != GRAPH_CALL) continue;
        const uint32_t *found = name_map_find(known, name);
        if (found) {
            emit->functions[i] = *found;
            continue;
        }
        TRY(graph_plan_wrap(plan, i,
            executable_builder_add_function(
                emit->builder, name, FUNCTION_PACKED, 0, 0, &emit->functions[i])));
        TRY(name_map_set(known, name, &emit->functions[i]));
    }
    return NULL;
}

/* ---- words ---- */

static uint64_t in_register(uint32_t index) { return operand_make(OPERAND_REGISTER, index); }
static uint64_t immediate(int64_t value) { return operand_make(OPERAND_IMMEDIATE, value); }

static Error *add_word(GraphEmit *emit, uint64_t word) {
    void *array = emit->words;
    if (emit->word_count == EXECUTABLE_CODE_WORDS_MAX)
        FAIL(TOO_LARGE, "more than %d words of code", EXECUTABLE_CODE_WORDS_MAX);
    TRY(memory_grow(&array, emit->word_count, &emit->word_capacity, sizeof(uint64_t)));
    emit->words = array;
    emit->words[emit->word_count++] = word;
    return NULL;
}

static Error *add(GraphEmit *emit, Opcode opcode, uint32_t flags, uint32_t destination,
    const uint64_t *operands, uint32_t count) {
    TRY(add_word(emit, head_make(opcode, flags, count, destination)));
    for (uint32_t i = 0; i < count; i++) TRY(add_word(emit, operands[i]));
    return NULL;
}

/* ---- registers ---- */

/* Makes room in `free` for one register more than there are. */
static Error *make_room(GraphEmit *emit) {
    void *array = emit->free;
    while (emit->free_capacity <= emit->register_count) {
        const size_t before = emit->free_capacity;
        TRY(memory_grow(&array, before, &emit->free_capacity, sizeof(uint32_t)));
        emit->free = array;
    }
    return NULL;
}

static Error *take_register(GraphEmit *emit, uint32_t *out) {
    if (emit->free_count) {
        *out = emit->free[--emit->free_count];
        return NULL;
    }
    if (emit->register_count == FUNCTION_REGISTERS_MAX)
        FAIL(TOO_LARGE, "more than %d tensors at a time", FUNCTION_REGISTERS_MAX);
    TRY(make_room(emit));
    *out = emit->register_count++;
    return NULL;
}

static void give_register(GraphEmit *emit, uint32_t index) {
    emit->free[emit->free_count++] = index;
}

/* A result that nobody reads any more. One that is read twice by a node was given back then. */
static void drop_result(GraphEmit *emit, uint32_t result) {
    const uint64_t place = emit->places[result];
    emit->places[result] = GRAPH_NOWHERE;
    if (place != GRAPH_NOWHERE && operand_kind(place) == OPERAND_REGISTER)
        give_register(emit, (uint32_t)operand_value(place));
}

/* ---- tensors ---- */

static Error *shape_constant(GraphEmit *emit, const Shape *shape, uint64_t *out) {
    TextBuilder OWN_TEXT(text) = {0};
    ShapeObject *object;
    shape_print(shape, &text);
    TRY(text_builder_check(&text));
    const uint32_t *found = name_map_find(emit->shapes_by_text, text_builder_get(&text));
    if (!found) {
        uint32_t *made = &emit->shapes[emit->shape_count++];
        TRY(shape_object_create(shape, &object));
        TRY(executable_builder_add_constant(
            emit->builder, value_object(OBJECT_SHAPE, object), HOST, made));
        TRY(name_map_set(emit->shapes_by_text, text_builder_get(&text), made));
        found = made;
    }
    *out = operand_make(OPERAND_CONSTANT, *found);
    return NULL;
}

static Error *reshape(GraphEmit *emit, uint64_t from, const Shape *shape, uint32_t destination) {
    uint64_t operands[2] = {from, 0};
    TRY(shape_constant(emit, shape, &operands[1]));
    return add(emit, OPCODE_RESHAPE_TENSOR, 0, destination, operands, 2);
}

static Shape flatten(const Shape *shape) {
    return shape_make(1, (int64_t[]){shape_count_unchecked(shape)});
}

static bool is_flattened(const GraphNode *node, const GraphResult *result) {
    return node->flatten && result->shape.rank != 1;
}

static Error *alloc_storage(GraphEmit *emit, const GraphResult *result) {
    uint32_t *storage = &emit->storages[result->life];
    const uint64_t bytes = emit->plan->lives[result->life].bytes;
    const uint64_t operands[] = {immediate(bytes ? (int64_t)bytes : 1), immediate(NATIVE_ALIGNMENT),
        immediate(HOST), immediate(result->dtype)};
    if (*storage != GRAPH_NONE) return NULL;
    TRY(take_register(emit, storage));
    return add(emit, OPCODE_ALLOC_STORAGE, 0, *storage, operands, 4);
}

/* Makes the tensor that a node writes. */
static Error *alloc_result(GraphEmit *emit, uint32_t index, bool flattened) {
    const GraphResult *result = &emit->plan->results[index];
    const Shape shape = flattened ? flatten(&result->shape) : result->shape;
    uint64_t operands[3 + SHAPE_RANK_MAX];
    uint32_t place;
    TRY(alloc_storage(emit, result));
    operands[0] = in_register(emit->storages[result->life]);
    operands[1] = immediate(0);
    operands[2] = immediate(result->dtype);
    for (uint32_t i = 0; i < shape.rank; i++) operands[3 + i] = immediate(shape.dims[i]);
    TRY(take_register(emit, &place));
    emit->places[index] = in_register(place);
    return add(emit, OPCODE_ALLOC_TENSOR, 0, place, operands, 3 + shape.rank);
}

/* ---- nodes ---- */

/* Flattened inputs go into registers of their own, which are free again behind the call. */
static Error *add_inputs(
    GraphEmit *emit, uint32_t node, uint64_t *operands, uint32_t *temporary, uint32_t *out_count) {
    const NnvmNode *source = &emit->plan->graph->nodes[node];
    for (uint32_t i = 0; i < source->input_count; i++) {
        const uint32_t index = graph_plan_result(emit->plan, source->inputs[i]);
        const GraphResult *input = &emit->plan->results[index];
        operands[i] = emit->places[index];
        if (!is_flattened(&emit->plan->nodes[node], input)) continue;
        const Shape shape = flatten(&input->shape);
        TRY(take_register(emit, &temporary[*out_count]));
        TRY(reshape(emit, operands[i], &shape, temporary[*out_count]));
        operands[i] = in_register(temporary[(*out_count)++]);
    }
    return NULL;
}

/* Gives flattened results their shapes. */
static Error *shape_results(GraphEmit *emit, const GraphNode *node) {
    for (uint32_t i = 0; i < node->result_count; i++) {
        const uint32_t index = node->first_result + i;
        const GraphResult *result = &emit->plan->results[index];
        uint32_t place;
        if (!is_flattened(node, result) || result->last_read == 0) continue;
        TRY(take_register(emit, &place));
        TRY(reshape(emit, emit->places[index], &result->shape, place));
        drop_result(emit, index);
        emit->places[index] = in_register(place);
    }
    return NULL;
}

static Error *emit_call(GraphEmit *emit, uint32_t index) {
    const GraphNode *node = &emit->plan->nodes[index];
    const uint32_t inputs = emit->plan->graph->nodes[index].input_count;
    uint64_t operands[OPERANDS_MAX];
    uint32_t temporary[NATIVE_ARGUMENTS_MAX], temporary_count = 0;
    operands[0] = operand_make(OPERAND_FUNCTION, emit->functions[index]);
    TRY(add_inputs(emit, index, operands + 1, temporary, &temporary_count));
    for (uint32_t i = 0; i < node->result_count; i++) {
        const uint32_t result = node->first_result + i;
        TRY(alloc_result(emit, result, is_flattened(node, &emit->plan->results[result])));
        operands[1 + inputs + i] = emit->places[result];
    }
    TRY(add(emit, OPCODE_CALL, INSTRUCTION_NO_DST, REGISTER_NONE, operands,
        1 + inputs + node->result_count));
    while (temporary_count) give_register(emit, temporary[--temporary_count]);
    return shape_results(emit, node);
}

/* Puts an input under another result's shape. */
static Error *emit_view(GraphEmit *emit, uint32_t from, uint32_t to, uint32_t destination) {
    const GraphPlan *plan = emit->plan;
    const uint64_t operand = emit->places[from];
    if (shape_equal(&plan->results[from].shape, &plan->results[to].shape))
        return add(emit, OPCODE_MOVE, 0, destination, &operand, 1);
    return reshape(emit, operand, &plan->results[to].shape, destination);
}

/* The first input in the result's storage, as graph_lives_find has checked. */
static uint32_t find_shown(const GraphPlan *plan, uint32_t node, uint32_t result) {
    const NnvmNode *source = &plan->graph->nodes[node];
    uint32_t i = 0;
    while (plan->results[graph_plan_result(plan, source->inputs[i])].storage !=
           plan->results[result].storage)
        i++;
    return graph_plan_result(plan, source->inputs[i]);
}

static Error *emit_nop(GraphEmit *emit, uint32_t index) {
    const GraphNode *node = &emit->plan->nodes[index];
    for (uint32_t i = 0; i < node->result_count; i++) {
        const uint32_t result = node->first_result + i;
        uint32_t place;
        TRY(take_register(emit, &place));
        TRY(emit_view(emit, find_shown(emit->plan, index, result), result, place));
        emit->places[result] = in_register(place);
    }
    return NULL;
}

static Error *get_identity(GraphEmit *emit, uint32_t *out) {
    Attributes *attributes;
    *out = emit->identity;
    if (*out != GRAPH_NONE) return NULL;
    const OperatorInfo *info = operator_find("Identity");
    TRY(attributes_create(&attributes));
    Error *error = executable_builder_add_primitive(
        emit->builder, info->name, info->version, attributes, &emit->identity);
    attributes_release(attributes);
    *out = emit->identity;
    return error;
}

static Error *emit_copy(GraphEmit *emit, uint32_t index) {
    const GraphPlan *plan = emit->plan;
    const uint32_t from = graph_plan_result(plan, plan->graph->nodes[index].inputs[0]);
    const uint32_t to = plan->nodes[index].first_result;
    uint32_t view, identity;
    TRY(get_identity(emit, &identity));
    TRY(take_register(emit, &view));
    TRY(emit_view(emit, from, to, view));
    TRY(alloc_result(emit, to, false));
    const uint64_t operands[] = {
        immediate(identity), immediate(1), in_register(view), emit->places[to]};
    TRY(add(emit, OPCODE_INVOKE_PACKED, INSTRUCTION_HOST, REGISTER_NONE, operands, 4));
    give_register(emit, view);
    return NULL;
}

/* Frees the registers of what is not needed behind a node. */
static void drop_unneeded(GraphEmit *emit, uint32_t index) {
    const GraphPlan *plan = emit->plan;
    const NnvmNode *source = &plan->graph->nodes[index];
    const GraphNode *node = &plan->nodes[index];
    for (uint32_t i = 0; i < source->input_count; i++) {
        const uint32_t input = graph_plan_result(plan, source->inputs[i]);
        if (plan->results[input].last_read == index) drop_result(emit, input);
    }
    for (uint32_t i = 0; i < node->result_count; i++) {
        const GraphResult *result = &plan->results[node->first_result + i];
        if (result->life != GRAPH_NONE && plan->lives[result->life].last == index)
            give_register(emit, emit->storages[result->life]);
        if (result->last_read == 0) drop_result(emit, node->first_result + i);
    }
}

static Error *emit_node(GraphEmit *emit, uint32_t index) {
    switch (emit->plan->nodes[index].kind) {
    case GRAPH_VARIABLE:
        return NULL;
    case GRAPH_CALL:
        return emit_call(emit, index);
    case GRAPH_NOP:
        return emit_nop(emit, index);
    case GRAPH_COPY:
        return emit_copy(emit, index);
    }
    return NULL;
}

/* One head is the result itself, several are a tuple. */
static Error *emit_heads(GraphEmit *emit) {
    const NnvmGraph *graph = emit->plan->graph;
    uint64_t operands[1 + NNVM_INPUTS_MAX] = {immediate(0)};
    for (uint32_t i = 0; i < graph->head_count; i++)
        operands[1 + i] = emit->places[graph_plan_result(emit->plan, graph->heads[i])];
    if (graph->head_count == 1) return add(emit, OPCODE_RET, 0, REGISTER_NONE, &operands[1], 1);
    uint32_t tuple;
    TRY(take_register(emit, &tuple));
    TRY(add(emit, OPCODE_ALLOC_ADT, 0, tuple, operands, 1 + graph->head_count));
    return add(emit, OPCODE_RET, 0, REGISTER_NONE, &(uint64_t){in_register(tuple)}, 1);
}

Error *graph_emit_main(GraphEmit *emit, uint32_t main) {
    const GraphPlan *plan = emit->plan;
    TRY(make_room(emit)); /* for the parameters */
    for (uint32_t i = 0; i < plan->graph->node_count; i++) {
        TRY(graph_plan_wrap(plan, i, emit_node(emit, i)));
        if (plan->nodes[i].kind != GRAPH_VARIABLE) drop_unneeded(emit, i);
    }
    TRY(emit_heads(emit));
    return executable_builder_set_code(
        emit->builder, main, emit->register_count, emit->words, (uint32_t)emit->word_count);
}
