#include <string.h>

#include "compiler/frontend/nodes/onnx_composition.h"
#include "compiler/frontend/base/onnx_internal.h"
#include "kernels/operator/plan.h"

typedef struct HandlerRow {
    const char *op_type;
    OnnxHandler *handler;
} HandlerRow;

static const HandlerRow handlers[] = {
#define ONNX_NODE(op_type, handler) {op_type, handler},
#include "compiler/frontend/base/onnx_nodes.def"
#undef ONNX_NODE
};

/* Operators that can join parts of their inputs first, so that a node may have any number of
 * inputs. */
static bool joins_any_number(const char *operator_name) {
    static const char *const names[] = {"Concat", "Sum", "Max", "Min"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], operator_name) == 0) return true;
    return false;
}

/* Joins groups of as many inputs as a kernel takes, until one kernel takes all that remain. */
static Error *join_inputs(const OnnxNode *node, const char *operator_name, Attributes *attributes,
    uint32_t *inout_count, IrVariable *const **inout_inputs) {
    while (*inout_count > PLAN_INPUTS_MAX) {
        const uint32_t groups = (*inout_count + PLAN_INPUTS_MAX - 1) / PLAN_INPUTS_MAX;
        void *memory;
        TRY(arena_alloc(&node->import->module->arena, groups, sizeof(IrVariable *), &memory));
        IrVariable **joined = memory, **results;
        for (uint32_t g = 0; g < groups; g++) {
            const uint32_t first = g * PLAN_INPUTS_MAX, left = *inout_count - first;
            TRY(ir_build_operator(onnx_at(node), operator_name, attributes,
                left < PLAN_INPUTS_MAX ? left : PLAN_INPUTS_MAX, *inout_inputs + first, 1,
                &results));
            joined[g] = results[0];
        }
        *inout_inputs = joined;
        *inout_count = groups;
    }
    return NULL;
}

Error *onnx_node_emit(const OnnxNode *node, const char *operator_name, const char *const *skipped,
    uint32_t input_count, IrVariable *const *inputs) {
    OWN(Attributes, attributes) = NULL;
    TRY(onnx_attribute_convert(node, operator_name, skipped, &attributes));
    uint32_t count = node->output_count ? node->output_count : 1;
    IrVariable **results;
    if (joins_any_number(operator_name))
        TRY(join_inputs(node, operator_name, attributes, &input_count, &inputs));
    TRY(ir_build_operator(
        onnx_at(node), operator_name, attributes, input_count, inputs, count, &results));
    for (uint32_t i = 0; i < node->output_count; i++)
        TRY(onnx_node_set_output(node, i, results[i]));
    return NULL;
}

/* An operator of another domain that has a row of its name in operators.def. */
Error *onnx_convert_same_name(const OnnxNode *node) {
    return onnx_node_emit(node, node->proto->op_type, NULL, node->input_count, node->inputs);
}

/* Operators that only handlers build. */
static bool is_own(OperatorId id) {
    return id == OPERATOR_SPLIT_BOUNDS || id == OPERATOR_ALIGN_AXES || id == OPERATOR_TREE_SCORES ||
           id == OPERATOR_TOKENIZER || id == OPERATOR_STRING_HASH;
}

/* Finds the handler or the composition of a node; NULL where there is none. */
static Error *find_conversion(
    const OnnxNode *node, OnnxHandler **out_handler, const Composition **out_composition) {
    TextBuilder OWN_TEXT(name) = {0};
    *out_handler = NULL;
    if (!onnx_is_default_domain(node->proto->domain))
        text_appendf(&name, "%s.", node->proto->domain);
    text_append(&name, node->proto->op_type);
    TRY(text_builder_check(&name));
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (strcmp(handlers[i].op_type, text_builder_get(&name)) == 0)
            *out_handler = handlers[i].handler;
    *out_composition = composition_find(text_builder_get(&name));
    return NULL;
}

/* com.microsoft's operators that only graphs of training have. */
static bool is_of_training(const char *op_type) {
    static const char *const names[] = {"AdamOptimizer", "AdamWOptimizer", "AdasumAllReduce",
        "GistBinarizeEncoder", "GradientAccumulator", "Group", "InPlaceAccumulator",
        "InPlaceAccumulatorV2", "LambOptimizer", "MixedPrecisionScale", "NcclAllReduce",
        "NcclReduceScatter", "PassThrough", "RecordEvent", "ReduceAllL2", "SGDOptimizer",
        "SGDOptimizerV2", "Send", "Recv", "SoftmaxCrossEntropy", "SoftmaxCrossEntropyLossInternal",
        "SparseSoftmaxCrossEntropy", "WaitEvent", "YieldOp", "ZeroGradient"};
    const size_t length = strlen(op_type);
    if (length > 4 && strcmp(op_type + length - 4, "Grad") == 0) return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], op_type) == 0) return true;
    return false;
}

/* Files that a runtime saved for one processor or one vendor's device: the model is in them no
 * more, but whoever saved it can save it again. */
static Error *refuse_domain(const Onnx__NodeProto *proto) {
    if (strcmp(proto->domain, "com.microsoft.nchwc") == 0 ||
        strcmp(proto->domain, "com.ms.internal.nhwc") == 0)
        FAIL(UNSUPPORTED,
            "the file was optimized for the memory layout of one processor; save it with the "
            "optimization level extended, or a lower one");
    if (strcmp(proto->op_type, "EPContext") == 0)
        FAIL(UNSUPPORTED,
            "the model was compiled for one vendor's device; save it without ep.context_enable");
    if (strcmp(proto->domain, "com.microsoft") == 0 && is_of_training(proto->op_type))
        FAIL(UNSUPPORTED, "%s is an operator of training; export the model for inference",
            proto->op_type);
    if (strcmp(proto->domain, "com.microsoft") == 0 && strcmp(proto->op_type, "Snpe") == 0)
        FAIL(UNSUPPORTED, "the model was compiled for one vendor's device; save its ONNX form");
    if (strcmp(proto->domain, "com.microsoft") == 0)
        FAIL(UNSUPPORTED,
            "com.microsoft's %s is not built; save the model without it, with onnxruntime's "
            "optimization level basic",
            proto->op_type);
    FAIL(UNSUPPORTED,
        "there is no operator %s of domain %s; docs/operator-domains.md has those of other domains",
        proto->op_type, proto->domain);
}

static Error *dispatch(const OnnxNode *node) {
    OnnxLocalFunction *function;
    TRY(onnx_function_find(node->import->functions, node->proto, &function));
    if (function) return onnx_function_expand(node, function);
    OnnxHandler *handler;
    const Composition *composition;
    TRY(find_conversion(node, &handler, &composition));
    if (handler) return handler(node);
    if (composition) return composition_emit(node, composition);
    if (!onnx_is_default_domain(node->proto->domain)) return refuse_domain(node->proto);
    const OperatorInfo *info = operator_find(node->proto->op_type);
    if (!info || operator_is_own(info) || is_own(info->id))
        FAIL(UNSUPPORTED, "this operator is not there");
    return onnx_node_emit(node, info->name, NULL, node->input_count, node->inputs);
}

static Error *look_up_inputs(OnnxNode *node) {
    const Onnx__NodeProto *proto = node->proto;
    size_t count = proto->n_input;
    while (count > 0 && !proto->input[count - 1][0]) count--;
    const bool any = onnx_is_default_domain(proto->domain) && joins_any_number(proto->op_type);
    const size_t inputs_max = any ? IR_VARIABLES_MAX : IR_OPERANDS_MAX;
    if (count > inputs_max || proto->n_output > IR_OPERANDS_MAX)
        FAIL(UNSUPPORTED, "more than %zu inputs or %d outputs", inputs_max, IR_OPERANDS_MAX);
    void *memory;
    TRY(arena_alloc(&node->import->module->arena, count, sizeof(IrVariable *), &memory));
    node->inputs = memory;
    node->input_count = (uint32_t)count;
    node->output_count = (uint32_t)proto->n_output;
    while (node->output_count > 0 && !proto->output[node->output_count - 1][0])
        node->output_count--;
    for (size_t i = 0; i < count; i++)
        if (proto->input[i][0])
            TRY(onnx_scope_find_optional(node->scope, proto->input[i], &node->inputs[i]));
    while (node->input_count > 0 && !node->inputs[node->input_count - 1]) node->input_count--;
    return NULL;
}

const char *onnx_node_label(const Onnx__NodeProto *proto) {
    if (proto->name && proto->name[0]) return proto->name;
    return proto->n_output > 0 ? proto->output[0] : "without a name";
}

/* Names the node's new bindings after the node, for messages. */
static Error *name_bindings(const OnnxNode *node, IrBinding *last_before) {
    IrBlock *block = node->scope->block;
    const char *name;
    TRY(ir_module_text(node->import->module, onnx_node_label(node->proto), &name));
    IrBinding *binding = last_before ? last_before->next : block->first;
    for (; binding; binding = binding->next)
        if (!binding->name) binding->name = name;
    return NULL;
}

Error *onnx_check_room(const OnnxImport *import, uint32_t nodes) {
    if (nodes <= ONNX_EXPANDED_NODES_MAX - import->node_count) return NULL;
    FAIL(UNSUPPORTED, "more than %d nodes with functions expanded", ONNX_EXPANDED_NODES_MAX);
}

Error *onnx_node_convert(OnnxImport *import, OnnxScope *scope, const Onnx__NodeProto *proto) {
    OnnxNode node = {.import = import, .scope = scope, .proto = proto};
    const char *label = onnx_node_label(proto);
    if (!proto->op_type || !proto->op_type[0]) FAIL(INVALID, "node %s has no op_type", label);
    TRY(onnx_check_room(import, 1));
    import->node_count++;
    IrBinding *last_before = scope->block->last;
    Error *error = look_up_inputs(&node);
    if (!error) error = dispatch(&node);
    if (!error) error = name_bindings(&node, last_before);
    return error_wrap(error, "node %s (%s)", label, proto->op_type);
}
