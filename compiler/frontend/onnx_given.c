/* Inputs of a graph that have an initializer: the function GIVEN_NAME takes other values for them.
 * There each is an optional parameter, and the initializer is what stands for an absent one. */
#include "compiler/frontend/onnx_given.h"

static Error *get_element(IrBlock *block, const IrType *type, IrVariable *optional) {
    IrVariable *element;
    TRY(ir_build_call_packed(
        ir_at_end(block), IR_PACKED_OPTIONAL_GET_ELEMENT, &optional, &element));
    element->type = *type;
    return ir_block_set_results(block, 1, &element);
}

/* The value that was given, or the initializer. */
static Error *choose(IrBlock *block, const IrType *type, IrVariable *given, IrVariable *otherwise,
    IrVariable **out) {
    IrVariable *has, **results;
    IrBlock *then_block, *else_block;
    TRY(ir_build_call_packed(ir_at_end(block), IR_PACKED_OPTIONAL_HAS_ELEMENT, &given, &has));
    TRY(ir_build_if(ir_at_end(block), has, 1, &then_block, &else_block, &results));
    TRY(get_element(then_block, type, given));
    TRY(ir_block_set_results(else_block, 1, &otherwise));
    *out = results[0];
    return NULL;
}

Error *onnx_given_add(OnnxImport *import, OnnxScope *scope, const Onnx__ValueInfoProto *input,
    const Onnx__TensorProto *initializer) {
    IrFunction *function = scope->block->function;
    const char *name = input->name;
    IrVariable *constant, *parameter, *value;
    IrType type, optional;
    TRY(onnx_graph_type(import->module, input, &type));
    TRY(onnx_constant_tensor(import, initializer, &constant));
    const Tensor *tensor = ir_variable_tensor(constant);
    if (type.dtype == DTYPE_NONE && tensor) type.dtype = tensor->dtype;
    TRY(ir_type_container(import->module, IR_TYPE_OPTIONAL, &type, &optional));
    TRY(ir_function_add_parameter(function, name, &optional, &parameter));
    TRY(choose(function->body, &type, parameter, constant, &value));
    return onnx_scope_set(scope, name, value);
}

bool onnx_given_is_wanted(const OnnxImport *import, const OnnxScope *scope, const char *name) {
    return import->given && !scope->outer && name_map_find(import->given, name);
}

static const Onnx__TensorProto *find(const NameMap *initializers, const char *name) {
    return name && name[0] ? name_map_find(initializers, name) : NULL;
}

static Error *collect(const Onnx__GraphProto *graph, NameMap *initializers) {
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (graph->initializer[i]->name)
            TRY(name_map_set(initializers, graph->initializer[i]->name, graph->initializer[i]));
    return NULL;
}

Error *onnx_given_find(
    const Onnx__ModelProto *model, NameMap *initializers, NameMap *inout_given, size_t *out_count) {
    const Onnx__GraphProto *graph = model->graph;
    *out_count = 0;
    if (model->ir_version < GIVEN_IR_MIN) return NULL;
    TRY(collect(graph, initializers));
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__ValueInfoProto *input = graph->input[i];
        const Onnx__TensorProto *initializer = find(initializers, input->name);
        const bool is_tensor = !input->type ||
                               input->type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET ||
                               input->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        if (!initializer || !is_tensor) continue;
        TRY(name_map_set(inout_given, input->name, (void *)(uintptr_t)initializer));
        (*out_count)++;
    }
    return NULL;
}

static bool same_shape(const IrType *type, const Onnx__TensorProto *initializer) {
    if (!type->rank_known) return true;
    if (type->rank != initializer->n_dims) return false;
    for (uint32_t d = 0; d < type->rank; d++)
        if (type->dims[d] >= 0 && type->dims[d] != initializer->dims[d]) return false;
    return true;
}

static Error *check_input(
    IrModule *module, const Onnx__ValueInfoProto *input, const Onnx__TensorProto *initializer) {
    IrType type;
    DType dtype;
    TRY(onnx_graph_type(module, input, &type));
    if (type.kind != IR_TYPE_TENSOR) FAIL(INVALID, "it is declared as no tensor");
    TRY(onnx_dtype(initializer->data_type, &dtype));
    if (type.dtype != DTYPE_NONE && type.dtype != dtype)
        FAIL(INVALID, "its elements are %s, and it is declared as %s", dtype_name(dtype),
            dtype_name(type.dtype));
    if (!same_shape(&type, initializer)) FAIL(INVALID, "its shape is not the declared one");
    return NULL;
}

Error *onnx_given_check(IrModule *module, const Onnx__GraphProto *graph) {
    OWN(NameMap, initializers) = NULL;
    TRY(name_map_create(&initializers));
    TRY(collect(graph, initializers));
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__ValueInfoProto *input = graph->input[i];
        const Onnx__TensorProto *initializer = find(initializers, input->name);
        if (initializer)
            TRY_WRAP(check_input(module, input, initializer), "initializer %s", input->name);
    }
    return NULL;
}
