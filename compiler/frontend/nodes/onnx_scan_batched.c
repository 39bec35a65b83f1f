/* The Scan of opset 8: the first axis of every value is the batch. Each item is scanned along axis
 * 1, up to its entry of sequence_lens; the rest of the item's scan outputs is 0. */
#include "compiler/frontend/nodes/onnx_scan.h"

typedef struct Batched {
    const OnnxNode *node;
    ScanParts whole;     /* values with their batch axis */
    IrVariable *lengths; /* sequence_lens, or NULL */
    IrVariable *items;   /* the number of items, an int */
    IrVariable *longest; /* the scan inputs' axis 1, an int */
    uint32_t result_count;
} Batched;

static Error *check_dimension(const Batched *batched, IrVariable *tensor, int64_t axis,
    IrVariable *wanted, const char *text) {
    IrVariable *length, *same;
    IrBlock *block = batched->whole.block;
    TRY(onnx_scan_length(batched->node, block, tensor, axis, &length));
    TRY(ir_build_int_op(ir_at_end(block), INT_OP_EQ, length, wanted, &same));
    return onnx_scan_assert(block, same, text);
}

static Error *read_dimensions(Batched *batched) {
    static const char batch_text[] = "Scan: its inputs have different batch sizes";
    const ScanParts *whole = &batched->whole;
    IrBlock *block = whole->block;
    TRY(onnx_scan_length(batched->node, block, whole->inputs[0], 0, &batched->items));
    TRY(onnx_scan_length(batched->node, block, whole->inputs[0], 1, &batched->longest));
    for (uint32_t i = 0; i < whole->state_count; i++)
        TRY(check_dimension(batched, whole->states[i], 0, batched->items, batch_text));
    for (uint32_t i = 1; i < whole->input_count; i++) {
        TRY(check_dimension(batched, whole->inputs[i], 0, batched->items, batch_text));
        TRY(check_dimension(batched, whole->inputs[i], 1, batched->longest,
            "Scan: its scan inputs have different lengths"));
    }
    if (batched->lengths)
        TRY(check_dimension(batched, batched->lengths, 0, batched->items, batch_text));
    return NULL;
}

/* Item `where` of values with a batch axis. */
static Error *take_items(const Batched *batched, IrBlock *block, IrVariable *where, uint32_t count,
    IrVariable *const *from, IrVariable ***out) {
    void *memory;
    TRY(arena_alloc(&batched->node->import->module->arena, count, sizeof(IrVariable *), &memory));
    *out = memory;
    for (uint32_t i = 0; i < count; i++)
        TRY(ir_build_simple(ir_at_end(block), "Gather", NULL, from[i], where, NULL, &(*out)[i]));
    return NULL;
}

static Error *item_length(
    const Batched *batched, IrBlock *block, IrVariable *where, IrVariable **out) {
    IrVariable *length, *zero, *holds;
    IrCursor at = ir_at_end(block);
    *out = batched->longest;
    if (!batched->lengths) return NULL;
    TRY(ir_build_simple(at, "Gather", NULL, batched->lengths, where, NULL, &length));
    TRY(ir_build_read_scalar(at, length, IR_TYPE_INT, out));
    TRY(ir_constant_int(batched->node->import->module, 0, &zero));
    TRY(ir_build_int_op(at, INT_OP_LE, zero, *out, &holds));
    TRY(onnx_scan_assert(block, holds, "Scan: an entry of sequence_lens is negative"));
    TRY(ir_build_int_op(at, INT_OP_LE, *out, batched->longest, &holds));
    return onnx_scan_assert(
        block, holds, "Scan: an entry of sequence_lens is larger than the scan inputs are long");
}

/* Zeros behind a scan output's `length` rows. */
static Error *pad_output(
    const Batched *batched, IrBlock *block, IrVariable *length, IrVariable **inout) {
    static const int64_t zero = 0;
    IrVariable *missing, *none, *parts[2], **results, *inputs[4] = {*inout};
    IrCursor at = ir_at_end(block);
    OWN(Attributes, attributes) = NULL;
    TRY(ir_build_int_op(at, INT_OP_SUB, batched->longest, length, &missing));
    TRY(ir_build_make_tensor(at, missing, DTYPE_INT64, &missing));
    TRY(onnx_constant_ints(batched->node, &zero, 1, &none));
    parts[0] = none;
    TRY(ir_build_simple(at, "Unsqueeze", NULL, missing, none, NULL, &parts[1]));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 0));
    TRY(ir_build_operator(at, "Concat", attributes, 2, parts, 1, &results));
    inputs[1] = results[0];
    inputs[3] = none; /* the axes: 0 */
    TRY(ir_build_operator(at, "Pad", NULL, 4, inputs, 1, &results));
    *inout = results[0];
    return NULL;
}

/* Runs the scan for one item and appends its results to the lists that the loop carries. */
static Error *fill_item(const Batched *batched, IrLoop *loop) {
    const OnnxNode *node = batched->node;
    ScanParts item = batched->whole;
    IrVariable *where, **results;
    void *memory;
    item.block = loop->body;
    TRY(ir_build_make_tensor(ir_at_end(loop->body), loop->counter, DTYPE_INT64, &where));
    TRY(take_items(batched, loop->body, where, item.state_count, item.states, &item.states));
    TRY(take_items(batched, loop->body, where, item.input_count, item.inputs, &item.inputs));
    TRY(item_length(batched, loop->body, where, &item.length));
    TRY(arena_alloc(
        &node->import->module->arena, batched->result_count, sizeof(IrVariable *), &memory));
    results = memory;
    TRY(onnx_scan_run(node, &item, results));
    for (uint32_t i = 0; i < batched->result_count; i++) {
        if (batched->lengths && i >= item.state_count)
            TRY(pad_output(batched, loop->body, item.length, &results[i]));
        TRY(ir_build_list_append(ir_at_end(loop->body), loop->carried[i], results[i], &results[i]));
    }
    return ir_build_loop_end(loop, NULL, results);
}

Error *onnx_scan_convert_batched(const OnnxNode *node) {
    Batched batched = {.node = node, .lengths = onnx_input(node, 0)};
    IrLoop loop;
    void *memory;
    TRY(onnx_scan_read(node, 1, &batched.whole));
    batched.whole.directions = "directions";
    batched.result_count = batched.whole.state_count + batched.whole.output_count;
    TRY(read_dimensions(&batched));
    TRY(arena_alloc(
        &node->import->module->arena, batched.result_count, sizeof(IrVariable *), &memory));
    IrVariable **lists = memory;
    for (uint32_t i = 0; i < batched.result_count; i++)
        TRY(ir_build_list(onnx_at(node), 0, NULL, &lists[i]));
    TRY(ir_build_loop(
        onnx_at(node), "batch", batched.items, NULL, batched.result_count, lists, NULL, &loop));
    TRY(fill_item(&batched, &loop));
    for (uint32_t i = 0; i < batched.result_count; i++) {
        IrVariable *joined;
        TRY(ir_build_list_concat(
            onnx_at(node), loop.results[i], loop.iterations, 0, true, &joined));
        TRY(onnx_node_set_output(node, i, joined));
    }
    return NULL;
}
