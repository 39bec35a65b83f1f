/* Checks that tensors are in the slot that instructions read them from.
 *
 * A graph of values has an edge wherever one value may become another: moves, calls, returns and
 * block borders. The slots that tensors are made in spread along its edges; then every reader is
 * checked. A value that comes out of an object or a packed function may be in any slot. Cost:
 * linear in the code and in the registers that are alive at block borders. */
#include <string.h>

#include "base/allocator.h"
#include "vm/code/liveness_internal.h"
#include "vm/code/verifier.h"

enum {
    IN_HOST = 1,
    IN_DEVICE = 2,
    IN_ANY = 4,
    EDGES_PER_WORD = 64, /* code with more is refused, as with registers alive (liveness.c) */
    EDGES_MIN = 1 << 16,
    NODE_NOTHING = 0, /* no tensor */
    NODE_HOST,
    NODE_DEVICE,
    NODE_ANY,
    NODE_COUNT,
};

typedef struct Edge {
    uint32_t from, to;
} Edge;

/* An operand that must be in a slot. */
typedef struct Reader {
    uint32_t node, function, pc, operand;
    uint8_t slot;
} Reader;

typedef struct Local { /* the node of a register, and the block in which it was last set */
    uint32_t block;    /* + 1 */
    uint32_t node;
} Local;

typedef struct Graph {
    const Executable *executable;
    /* by function: the nodes of its parameters, then the node of its result */
    uint32_t *first_parameter;
    uint32_t *first_live; /* by function: nodes of the values alive at its blocks' ends */
    uint32_t node_count;
    Edge *edges;
    size_t edge_count, edge_capacity, edges_max;
    Reader *readers;
    size_t reader_count, reader_capacity;
    uint8_t *slots; /* by node */
    /* of the function being read */
    uint32_t index, block, pc;
    const Function *function;
    const FunctionLiveness *liveness;
    Local *locals;
} Graph;

static Error *add_edge(Graph *graph, uint32_t from, uint32_t to) {
    if (from == NODE_NOTHING) return NULL;
    if (graph->edge_count >= graph->edges_max)
        FAIL(UNSUPPORTED, "function %s: more than %zu ways between registers",
            graph->function->name, graph->edges_max);
    void *array = graph->edges;
    TRY(memory_grow(&array, graph->edge_count, &graph->edge_capacity, sizeof(Edge)));
    graph->edges = array;
    graph->edges[graph->edge_count++] = (Edge){from, to};
    return NULL;
}

static uint32_t slot_node(uint64_t slot) { return slot == 0 ? NODE_HOST : NODE_DEVICE; }

static void set_register(Graph *graph, uint32_t index, uint32_t node) {
    graph->locals[index] = (Local){graph->block + 1, node};
}

/* Finds a register among those alive at the end of a block; false: the register is dead there. */
static bool find_live(const Graph *graph, uint32_t block, uint32_t index, uint32_t *out_node) {
    const FunctionLiveness *liveness = graph->liveness;
    uint32_t low = liveness->live_out_offsets[block];
    uint32_t high = liveness->live_out_offsets[block + 1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (liveness->live_out[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    *out_node = graph->first_live[graph->index] + low;
    return low < liveness->live_out_offsets[block + 1] && liveness->live_out[low] == index;
}

/* The node of a register that this block has not written yet. Joins the nodes at the ends of the
 * predecessors. */
static Error *join(Graph *graph, uint32_t index, uint32_t *out_node) {
    const BasicBlocks *blocks = &graph->liveness->blocks;
    const uint32_t node = graph->node_count++;
    if (graph->block == 0 && index < graph->function->parameter_count)
        TRY(add_edge(graph, graph->first_parameter[graph->index] + index, node));
    for (uint32_t i = blocks->predecessor_offsets[graph->block];
         i < blocks->predecessor_offsets[graph->block + 1]; i++) {
        uint32_t from;
        if (find_live(graph, blocks->predecessors[i], index, &from))
            TRY(add_edge(graph, from, node));
    }
    *out_node = node;
    return NULL;
}

static Error *read_register(Graph *graph, uint32_t index, uint32_t *out_node) {
    const Local *local = &graph->locals[index];
    if (local->block != graph->block + 1) {
        TRY(join(graph, index, out_node));
        set_register(graph, index, *out_node);
    }
    *out_node = local->node;
    return NULL;
}

static Error *read_operand(
    Graph *graph, const Instruction *instruction, uint32_t i, uint32_t *out) {
    const uint64_t operand = instruction->operands[i];
    *out = NODE_NOTHING;
    if (operand_kind(operand) == OPERAND_REGISTER)
        return read_register(graph, (uint32_t)operand_value(operand), out);
    if (operand_kind(operand) != OPERAND_CONSTANT) return NULL;
    const Constant *constant = &graph->executable->constants[operand_value(operand)];
    if (value_is(&constant->value, OBJECT_TENSOR)) *out = slot_node(constant->slot);
    return NULL;
}

static Error *must_be_in(
    Graph *graph, const Instruction *instruction, uint32_t operand, uint8_t slot) {
    uint32_t node;
    TRY(read_operand(graph, instruction, operand, &node));
    if (node == NODE_NOTHING || node == NODE_ANY || node == slot_node(slot)) return NULL;
    void *array = graph->readers;
    TRY(memory_grow(&array, graph->reader_count, &graph->reader_capacity, sizeof(Reader)));
    graph->readers = array;
    graph->readers[graph->reader_count++] = (Reader){node, graph->index, graph->pc, operand, slot};
    return NULL;
}

/* Outputs are written if the instruction allocates them; otherwise the registers' tensors are
 * read. */
static Error *read_invoke(Graph *graph, const Instruction *instruction) {
    const OperatorInfo *info =
        graph->executable->primitives[operand_value(instruction->operands[0])].operator_info;
    const uint8_t slot = instruction->flags & INSTRUCTION_HOST ? 0 : 1;
    const uint32_t outputs = instruction->operand_count - instruction->output_count;
    for (uint32_t i = 2; i < outputs; i++)
        TRY(must_be_in(graph, instruction, i, operator_reads_value(info, i - 2) ? 0 : slot));
    for (uint32_t i = outputs; i < instruction->operand_count; i++) {
        if (instruction->flags & INSTRUCTION_ALLOC)
            set_register(graph, (uint32_t)operand_value(instruction->operands[i]), slot_node(slot));
        else
            TRY(must_be_in(graph, instruction, i, slot));
    }
    return NULL;
}

/* Arguments become parameters; *out: the result of the call. */
static Error *read_call(Graph *graph, const Instruction *instruction, uint32_t *out) {
    const uint32_t callee = (uint32_t)operand_value(instruction->operands[0]);
    const Function *function = &graph->executable->functions[callee];
    *out = NODE_ANY;
    if (function->kind == FUNCTION_PACKED) return NULL;
    for (uint32_t i = 1; i < instruction->operand_count; i++) {
        uint32_t node;
        TRY(read_operand(graph, instruction, i, &node));
        TRY(add_edge(graph, node, graph->first_parameter[callee] + i - 1));
    }
    *out = graph->first_parameter[callee] + function->parameter_count;
    return NULL;
}

/* The arguments of a closure's call are not known here. */
static Error *read_closure(Graph *graph, const Instruction *instruction) {
    const uint32_t callee = (uint32_t)operand_value(instruction->operands[0]);
    const Function *function = &graph->executable->functions[callee];
    if (function->kind == FUNCTION_PACKED) return NULL;
    for (uint32_t i = 0; i < function->parameter_count; i++)
        TRY(add_edge(graph, NODE_ANY, graph->first_parameter[callee] + i));
    return NULL;
}

/* Operands whose letter asks for a tensor in slot 0. */
static Error *read_host_operands(Graph *graph, const Instruction *instruction) {
    if (!strpbrk(opcode_infos[instruction->opcode].operands, "VT")) return NULL;
    if (instruction->flags & INSTRUCTION_SCALAR) return NULL; /* no tensor is read */
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const char letter = opcode_operand_letter(instruction->head, i, instruction->output_count);
        if (letter == 'V' || letter == 'T') TRY(must_be_in(graph, instruction, i, 0));
    }
    return NULL;
}

/* The slot that the instruction's operand with letter 's' names. */
static uint32_t named_slot(const Instruction *instruction) {
    const char *operands = opcode_infos[instruction->opcode].operands;
    const size_t index = (size_t)(strchr(operands, 's') - operands);
    return slot_node((uint64_t)operand_value(instruction->operands[index]));
}

/* *out: the node of the instruction's result. */
static Error *read_given(Graph *graph, const Instruction *instruction, uint32_t *out) {
    *out = NODE_NOTHING;
    switch (opcode_infos[instruction->opcode].slot) {
    case TENSOR_HOST:
        *out = NODE_HOST;
        return NULL;
    case TENSOR_ANY:
        *out = NODE_ANY;
        return NULL;
    case TENSOR_FIRST:
        TRY(read_operand(graph, instruction, 0, out));
        if (operand_kind(instruction->operands[0]) == OPERAND_ABSENT) *out = NODE_DEVICE;
        return NULL;
    case TENSOR_NAMED:
        *out = named_slot(instruction);
        return NULL;
    case TENSOR_RUNS:
        *out = slot_node(instruction->flags & INSTRUCTION_HOST ? 0 : 1);
        return NULL;
    case TENSOR_CALLEE:
        return read_call(graph, instruction, out);
    case TENSOR_CLOSURE:
        *out = NODE_ANY;
        return read_closure(graph, instruction);
    case TENSOR_OUTPUTS:
        return read_invoke(graph, instruction);
    case TENSOR_NOWHERE:
        return NULL;
    }
    return NULL;
}

/* Reads the operands of an instruction; *out: the node of its destination. The last instruction of
 * a function passes it to the function's caller. */
static Error *read_effect(Graph *graph, const Instruction *instruction, uint32_t *out) {
    TRY(read_host_operands(graph, instruction));
    TRY(read_given(graph, instruction, out));
    if (!(opcode_infos[instruction->opcode].flags & OPCODE_FLAG_END)) return NULL;
    return add_edge(
        graph, *out, graph->first_parameter[graph->index] + graph->function->parameter_count);
}

static Error *read_block(Graph *graph) {
    const FunctionLiveness *liveness = graph->liveness;
    for (graph->pc = liveness->blocks.starts[graph->block];
         graph->pc < liveness->blocks.starts[graph->block + 1]; graph->pc++) {
        const Instruction instruction =
            instruction_read(function_instruction(graph->executable, graph->function, graph->pc));
        uint32_t node;
        TRY(read_effect(graph, &instruction, &node));
        if (instruction_has_destination(&instruction))
            set_register(graph, head_destination(instruction.head), node);
    }
    for (uint32_t i = liveness->live_out_offsets[graph->block];
         i < liveness->live_out_offsets[graph->block + 1]; i++) {
        uint32_t node;
        TRY(read_register(graph, liveness->live_out[i], &node));
        TRY(add_edge(graph, node, graph->first_live[graph->index] + i));
    }
    return NULL;
}

/* Callers outside bring tensors to the ports' slots; without ports they may be in any. */
static Error *read_ports(Graph *graph) {
    const Function *function = graph->function;
    if (!(function->flags & FUNCTION_EXPORTED)) return NULL;
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const Port *port = function->parameters ? &function->parameters[i] : NULL;
        const bool tensor = port && (port->form == PORT_TENSOR || port->form == PORT_OPTIONAL);
        TRY(add_edge(graph, tensor ? slot_node(port->slot) : NODE_ANY,
            graph->first_parameter[graph->index] + i));
    }
    return NULL;
}

static Error *read_function(Graph *graph, uint32_t index) {
    graph->index = index;
    graph->function = &graph->executable->functions[index];
    if (graph->function->kind == FUNCTION_PACKED) return NULL;
    TRY(liveness_of_function(graph->executable, index, &graph->liveness));
    TRY(read_ports(graph));
    void *locals;
    TRY(memory_alloc((size_t)graph->function->register_count + 1, sizeof(Local), &locals));
    graph->locals = locals;
    Error *error = NULL;
    for (graph->block = 0; !error && graph->block < graph->liveness->blocks.count; graph->block++)
        error = read_block(graph);
    memory_free(locals);
    graph->locals = NULL;
    return error;
}

/* ---- where tensors may be ---- */

static Error *spread(Graph *graph) {
    void *memory;
    TRY(memory_alloc(graph->node_count, 1, &memory));
    graph->slots = memory;
    TRY(memory_alloc((size_t)graph->node_count + 2, sizeof(uint32_t), &memory));
    uint32_t *offsets = memory;
    /* edges by their start, and a stack that a node enters once for each slot that it gets */
    Error *error = memory_alloc(
        graph->edge_count + (size_t)graph->node_count * 3 + 3, sizeof(uint32_t), &memory);
    if (!error) {
        uint32_t *targets = memory, *stack = targets + graph->edge_count, count = 0;
        for (size_t i = 0; i < graph->edge_count; i++) offsets[graph->edges[i].from + 2]++;
        for (uint32_t i = 0; i < graph->node_count; i++) offsets[i + 2] += offsets[i + 1];
        for (size_t i = 0; i < graph->edge_count; i++)
            targets[offsets[graph->edges[i].from + 1]++] = graph->edges[i].to;
        for (uint32_t node = NODE_HOST; node < NODE_COUNT; node++) {
            graph->slots[node] = (uint8_t)(1u << (node - NODE_HOST));
            stack[count++] = node;
        }
        while (count > 0) {
            const uint32_t node = stack[--count];
            for (uint32_t i = offsets[node]; i < offsets[node + 1]; i++) {
                if ((graph->slots[node] & ~graph->slots[targets[i]]) == 0) continue;
                graph->slots[targets[i]] |= graph->slots[node];
                stack[count++] = targets[i];
            }
        }
        memory_free(memory);
    }
    memory_free(offsets);
    return error;
}

static Error *check_readers(const Graph *graph) {
    for (size_t i = 0; i < graph->reader_count; i++) {
        const Reader *reader = &graph->readers[i];
        const uint8_t slots = graph->slots[reader->node];
        const uint8_t wrong = reader->slot == 0 ? IN_DEVICE : IN_HOST;
        if ((slots & IN_ANY) || !(slots & wrong)) continue;
        const Function *function = &graph->executable->functions[reader->function];
        const uint64_t head = *function_instruction(graph->executable, function, reader->pc);
        FAIL(CORRUPT, "function %s, instruction %u (%s): operand %u is in slot %u, not in slot %u",
            function->name, reader->pc, opcode_infos[head_opcode(head)].mnemonic, reader->operand,
            1u - reader->slot, reader->slot);
    }
    return NULL;
}

static Error *number_nodes(Graph *graph) {
    const Executable *executable = graph->executable;
    void *memory;
    TRY(memory_alloc((size_t)executable->function_count + 1, sizeof(uint32_t), &memory));
    graph->first_parameter = memory;
    TRY(memory_alloc((size_t)executable->function_count + 1, sizeof(uint32_t), &memory));
    graph->first_live = memory;
    graph->node_count = NODE_COUNT;
    uint64_t words = 0;
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        if (function->kind == FUNCTION_PACKED) continue;
        const FunctionLiveness *liveness;
        TRY(liveness_of_function(executable, i, &liveness));
        graph->first_parameter[i] = graph->node_count;
        graph->node_count += function->parameter_count + 1;
        graph->first_live[i] = graph->node_count;
        graph->node_count += liveness->live_out_offsets[liveness->blocks.count];
        words += function->word_count;
    }
    graph->edges_max = EDGES_MIN + EDGES_PER_WORD * words;
    return NULL;
}

static Error *check(Graph *graph) {
    TRY(number_nodes(graph));
    for (uint32_t i = 0; i < graph->executable->function_count; i++) TRY(read_function(graph, i));
    TRY(spread(graph));
    return check_readers(graph);
}

Error *verifier_check_slots(const Executable *executable) {
    Graph graph = {.executable = executable};
    Error *error = check(&graph);
    memory_free(graph.first_parameter);
    memory_free(graph.first_live);
    memory_free(graph.edges);
    memory_free(graph.readers);
    memory_free(graph.slots);
    return error;
}
