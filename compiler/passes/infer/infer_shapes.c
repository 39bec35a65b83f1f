/* Shape inference: element types and shapes of all values, with symbols, through calls and loops.
 *
 * A parameter's probe holds for all calls seen so far: a dimension that differs between two calls
 * (a loop's growing cache) becomes a symbol of that parameter, once. A function is inferred at its
 * first call, and again until its calls to itself change nothing. So the results of a loop are
 * known to the nodes behind it, however many loops there are. Rounds through all functions repeat
 * until nothing changes, for callers that came before a parameter changed. A value that is a small
 * constant is replaced by one. */
#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/ir/constants.h"
#include "compiler/passes/infer/infer_lists.h"
#include "compiler/passes/infer/infer_operator.h"
#include "compiler/passes/infer/infer_scalars.h"
#include "compiler/passes/pass.h"

enum { ROUNDS_MAX = 64, CALL_DEPTH_MAX = 100 };

typedef struct InferredFunction {
    bool is_closure; /* calls by value are not seen, so any argument may come */
    bool gave_up;    /* too many rounds: parameters may have any type */
    bool running;    /* the function is being inferred */
    bool seen;       /* inferred in this round */
    bool changed;    /* a parameter has changed since */
    bool calls_itself;
    bool read_early; /* another function took its results before they were settled */
} InferredFunction;

typedef struct Inference {
    ProbeContext context;
    InferredFunction *functions; /* by index */
    const IrFunction *current;
    uint32_t depth; /* depth of functions that are inferred for a call */
    bool parameters_changed;
    bool results_changed;
    size_t unknown_count;
} Inference;

static InferredFunction *state_of(const Inference *inference, const IrFunction *function) {
    return &inference->functions[function->index];
}

/* True when calls of the function may be unknown: parameters then have their declared types. */
static bool is_open(const Inference *inference, const IrFunction *function) {
    const InferredFunction *state = state_of(inference, function);
    return function->exported || state->is_closure || state->gave_up;
}

static Error *start_constants(Inference *inference) {
    const IrModule *module = inference->context.module;
    for (size_t i = 0; i < module->constant_count; i++) {
        const IrVariable *constant = module->constants[i];
        Probe *probe = probe_of(&inference->context, constant);
        TRY(probe_from_type(&inference->context, constant, &constant->type, probe));
        Tensor *tensor = ir_variable_tensor(constant);
        const Value *value = constant->constant;
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
            if (tensor) probe->values[w] = tensor_retain(tensor);
            if (value->tag == VALUE_INT) probe->scalars[w] = value->integer;
            if (value->tag == VALUE_BOOL) probe->scalars[w] = value->boolean;
        }
        probe->has_value = tensor || value->tag == VALUE_INT || value->tag == VALUE_BOOL;
    }
    return NULL;
}

static Error *start_function(Inference *inference, const IrFunction *function) {
    bool gave_up = state_of(inference, function)->gave_up;
    for (uint32_t i = 0; i < function->body->parameter_count; i++) {
        const IrVariable *parameter = function->body->parameters[i];
        Probe *probe = probe_of(&inference->context, parameter);
        /* a loop parameter's declared type may hold for the first round only */
        IrType type = gave_up && !function->exported ? (IrType){0} : parameter->type;
        TRY(probe_from_type(&inference->context, parameter, &type, probe));
    }
    return NULL;
}

static Error *start_functions(Inference *inference) {
    const IrModule *module = inference->context.module;
    for (size_t f = 0; f < module->function_count; f++)
        if (is_open(inference, module->functions[f]))
            TRY(start_function(inference, module->functions[f]));
    return NULL;
}

static void find_closures(Inference *inference) {
    const IrModule *module = inference->context.module;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding))
            if (binding->kind == IR_CLOSURE)
                state_of(inference, binding->function)->is_closure = true;
    }
}

static Error *join_arguments(Inference *inference, const IrBinding *binding, ProbeGroups *groups) {
    ProbeContext *context = &inference->context;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *parameter = binding->function->body->parameters[i];
        Probe *probe = probe_of(context, parameter);
        Probe before = {0};
        probe_set(&before, probe);
        Error *error = probe_join(
            context, groups, true, parameter, probe, probe_of(context, binding->operands[i]));
        if (!probe_equal(&before, probe))
            inference->parameters_changed = state_of(inference, binding->function)->changed = true;
        probe_clear(&before);
        TRY(error);
    }
    return NULL;
}

static Error *infer_function(Inference *inference, const IrFunction *function);

/* Infers the function of a call if that has not been done with these parameters. */
static Error *infer_callee(Inference *inference, const IrFunction *callee) {
    InferredFunction *state = state_of(inference, callee);
    if (callee == inference->current)
        state->calls_itself = true;
    else if (state->running)
        state->read_early = true;
    if (state->running || (state->seen && !state->changed)) return NULL;
    if (inference->depth == CALL_DEPTH_MAX) {
        state->read_early = true;
        return NULL;
    }
    inference->depth++;
    Error *error = infer_function(inference, callee);
    inference->depth--;
    return error;
}

/* Takes the declared type of a result of which nothing else is known: a generic function does not
 * know the types of its values, but its caller may. */
static Error *take_declared(ProbeContext *context, const IrVariable *result) {
    Probe *probe = probe_of(context, result);
    if (probe->state != PROBE_TOP || probe->dtype != DTYPE_NONE) return NULL;
    if (result->type.kind != IR_TYPE_TENSOR) return NULL;
    TRY(probe_from_type(context, result, &result->type, probe));
    probe->shape_tainted = true;
    return NULL;
}

static bool is_generic(const IrFunction *callee, uint32_t index) {
    return callee->result_types && callee->result_types[index].kind == IR_TYPE_UNKNOWN;
}

static Error *infer_call(Inference *inference, const IrBinding *binding) {
    ProbeContext *context = &inference->context;
    const IrFunction *callee = binding->function;
    if (!is_open(inference, callee)) {
        ProbeGroups groups = {0};
        Error *error = join_arguments(inference, binding, &groups);
        probe_groups_deinit(&groups);
        TRY(error);
    }
    TRY(infer_callee(inference, callee));
    for (uint32_t i = 0; i < binding->result_count; i++) {
        Probe *probe = probe_of(context, binding->results[i]);
        IrType unknown = {0};
        probe_set(probe, probe_of(context, callee->body->results[i]));
        if (state_of(inference, callee)->gave_up)
            TRY(probe_from_type(context, binding->results[i], &unknown, probe));
        if (is_generic(callee, i)) TRY(take_declared(context, binding->results[i]));
    }
    return NULL;
}

static Error *join_branches(ProbeContext *context, const IrBinding *binding, ProbeGroups *groups) {
    for (uint32_t i = 0; i < binding->result_count; i++) {
        Probe joined = {0};
        Error *error = NULL;
        for (uint32_t b = 0; !error && b < binding->block_count; b++)
            error = probe_join(context, groups, false, binding->results[i], &joined,
                probe_of(context, binding->blocks[b]->results[i]));
        probe_set(probe_of(context, binding->results[i]), &joined);
        probe_clear(&joined);
        TRY(error);
    }
    return NULL;
}

/* Joins the results of all blocks of an If or a match. */
static Error *infer_branches(ProbeContext *context, const IrBinding *binding) {
    ProbeGroups groups = {0};
    Error *error = join_branches(context, binding, &groups);
    probe_groups_deinit(&groups);
    return error;
}

/* Takes the declared types of the results. */
static Error *infer_declared(ProbeContext *context, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->result_count; i++) {
        const IrVariable *result = binding->results[i];
        Probe *probe = probe_of(context, result);
        TRY(probe_from_type(context, result, &result->type, probe));
        probe->shape_tainted = true;
    }
    return NULL;
}

static Error *infer_binding(Inference *inference, const IrBinding *binding) {
    ProbeContext *context = &inference->context;
    switch (binding->kind) {
    case IR_OPERATOR:
        return infer_operator_run(context, binding);
    case IR_CALL:
        return infer_call(inference, binding);
    case IR_IF:
    case IR_MATCH:
        return infer_branches(context, binding);
    case IR_SHAPE_OF:
        return infer_scalars_shape_of(context, binding);
    case IR_READ_SCALAR:
        return infer_scalars_read_scalar(context, binding);
    case IR_INT_OP:
        return infer_scalars_int_op(context, binding);
    case IR_MAKE_TENSOR:
        return infer_scalars_make_tensor(context, binding);
    case IR_LIST_NEW:
    case IR_LIST_APPEND:
        return infer_lists_make(context, binding);
    case IR_OPTIONAL:
        return infer_lists_optional(context, binding);
    case IR_CALL_PACKED:
        return infer_lists_call_packed(context, binding);
    case IR_LIST_CONCAT:
        return infer_lists_concat(context, binding);
    case IR_GET_FIELD:
        return infer_lists_get_field(context, binding);
    case IR_DEVICE_COPY:
        probe_set(probe_of(context, binding->results[0]), probe_of(context, binding->operands[0]));
        return NULL;
    case IR_FATAL:
        return NULL; /* Fatal has no result */
    case IR_CALL_CLOSURE:
    case IR_CLOSURE:
    case IR_CONSTRUCT:
    case IR_GET_TAG:
    case IR_YIELD:
    case IR_KIND_COUNT:
        break;
    }
    return infer_declared(context, binding);
}

/* Branches stand behind their bindings: an If is inferred when its blocks have been. Depth is
 * bounded by IR_NESTING_MAX. */
static Error *infer_block(Inference *inference, const IrBlock *block) {
    ProbeContext *context = &inference->context;
    for (uint32_t i = 0; block->parent && i < block->parameter_count; i++)
        TRY(probe_from_type(context, block->parameters[i], &block->parameters[i]->type,
            probe_of(context, block->parameters[i])));
    for (const IrBinding *binding = block->first; binding; binding = binding->next) {
        for (uint32_t i = 0; i < binding->block_count; i++)
            TRY(infer_block(inference, binding->blocks[i]));
        Error *error = infer_binding(inference, binding);
        if (error && binding->name) error = error_wrap(error, "node %s", binding->name);
        TRY(error);
    }
    return NULL;
}

/* Forgets the body's results after a parameter has changed: a loop's results would otherwise keep
 * their first round's types. */
static void forget_bindings(Inference *inference, const IrFunction *function) {
    IrBinding *binding = ir_walk_first(function->body);
    for (; binding; binding = ir_walk_next(binding))
        for (uint32_t i = 0; i < binding->result_count; i++)
            probe_clear(probe_of(&inference->context, binding->results[i]));
}

/* Infers the body once from the present parameters. */
static Error *infer_body(Inference *inference, const IrFunction *function, bool *out_changed) {
    ProbeContext *context = &inference->context;
    InferredFunction *state = state_of(inference, function);
    const IrBlock *body = function->body;
    void *block;
    TRY(memory_alloc((size_t)body->result_count + 1, sizeof(Probe), &block));
    Probe *before = block;
    for (uint32_t i = 0; i < body->result_count; i++)
        probe_set(&before[i], probe_of(context, body->results[i]));
    if (state->changed) forget_bindings(inference, function);
    state->changed = state->calls_itself = false;
    state->seen = true;
    Error *error = infer_block(inference, body);
    *out_changed = false;
    for (uint32_t i = 0; i < body->result_count; i++) {
        *out_changed |= !probe_equal(&before[i], probe_of(context, body->results[i]));
        probe_clear(&before[i]);
    }
    memory_free(before);
    return error;
}

/* Infers the body until the arguments that it passes to itself are settled. */
static Error *infer_until_settled(Inference *inference, const IrFunction *function) {
    InferredFunction *state = state_of(inference, function);
    bool results_changed = true;
    for (uint32_t round = 0; results_changed; round++) {
        if (round == ROUNDS_MAX && !function->exported) {
            state->gave_up = state->changed = inference->parameters_changed = true;
            TRY(start_function(inference, function));
        }
        TRY(infer_body(inference, function, &results_changed));
        inference->results_changed |= results_changed && state->read_early;
        results_changed = (results_changed && state->calls_itself) || state->changed;
        if (round >= 2 * ROUNDS_MAX) break;
    }
    inference->results_changed |= results_changed;
    return NULL;
}

static Error *infer_function(Inference *inference, const IrFunction *function) {
    const IrFunction *caller = inference->current;
    InferredFunction *state = state_of(inference, function);
    inference->current = function;
    state->running = true;
    Error *error = infer_until_settled(inference, function);
    state->running = false;
    inference->current = caller;
    return error;
}

/* Infers from the present parameters until the results of all functions are settled. */
static Error *infer_results(Inference *inference) {
    const IrModule *module = inference->context.module;
    uint32_t round = 0;
    for (size_t f = 0; f < module->function_count; f++)
        forget_bindings(inference, module->functions[f]);
    do {
        inference->results_changed = inference->context.postponed = false;
        for (size_t f = 0; f < module->function_count; f++) inference->functions[f].seen = false;
        /* other functions are inferred at their calls, which know the parameters */
        for (size_t f = 0; f < module->function_count; f++)
            if (is_open(inference, module->functions[f]) && !inference->functions[f].seen)
                TRY(infer_function(inference, module->functions[f]));
        for (size_t f = 0; f < module->function_count; f++)
            if (!inference->functions[f].seen || inference->functions[f].changed)
                TRY(infer_function(inference, module->functions[f]));
    } while (inference->results_changed && !inference->parameters_changed && ++round < ROUNDS_MAX);
    return NULL;
}

/* Reports the operators that refuse the settled shapes. */
static Error *tell_postponed(Inference *inference) {
    const IrModule *module = inference->context.module;
    inference->context.settled = true;
    for (size_t f = 0; inference->context.postponed && f < module->function_count; f++)
        TRY(infer_block(inference, module->functions[f]->body));
    return NULL;
}

static Error *infer_rounds(Inference *inference) {
    const IrModule *module = inference->context.module;
    TRY(start_constants(inference));
    TRY(start_functions(inference));
    for (uint32_t round = 0; round < 2 * ROUNDS_MAX; round++) {
        inference->parameters_changed = false;
        if (round == ROUNDS_MAX) {
            for (size_t f = 0; f < module->function_count; f++)
                inference->functions[f].gave_up = true;
            TRY(start_functions(inference));
        }
        TRY(infer_results(inference));
        if (!inference->parameters_changed) break;
    }
    return tell_postponed(inference);
}

static Error *replace_constant(IrModule *module, const Probe *probe, IrVariable *variable) {
    Tensor *tensor = probe->values[0];
    IrVariable *constant;
    if (tensor)
        TRY(constants_copy(module, tensor, &constant));
    else if (probe->kind == IR_TYPE_BOOL)
        TRY(ir_constant_bool(module, probe->scalars[0] != 0, &constant));
    else
        TRY(ir_constant_int(module, probe->scalars[0], &constant));
    variable->replacement = constant;
    return NULL;
}

/* is_local: a parameter of a function all of whose calls were seen. */
static Error *settle_variable(ProbeContext *context, IrVariable *variable, bool is_local) {
    const Probe *probe = probe_of(context, variable);
    if (probe->state == PROBE_BOTTOM) return NULL;
    bool tensor = variable->type.kind == IR_TYPE_TENSOR;
    if (probe->state == PROBE_TOP) {
        /* the declared shape was wrong */
        DType dtype = probe->dtype == DTYPE_NONE ? variable->type.dtype : probe->dtype;
        if (tensor) variable->type = ir_type_tensor(dtype);
        return NULL;
    }
    bool scalar = variable->type.kind == IR_TYPE_INT || variable->type.kind == IR_TYPE_BOOL;
    if (tensor || ir_type_is_container(&variable->type) || variable->type.kind == IR_TYPE_UNKNOWN)
        TRY(probe_to_type(context, probe, &variable->type));
    tensor = variable->type.kind == IR_TYPE_TENSOR;
    const IrBinding *maker = variable->binding;
    bool made = maker ? maker->kind != IR_CALL : is_local;
    /* the pass integers decides whether a constant stays in its bytes */
    if (maker && maker->kind == IR_OPERATOR)
        made = maker->operator_info->id != OPERATOR_DEQUANTIZE_LINEAR;
    if (made && (tensor || scalar) && probe_is_constant(probe) && !probe->value_tainted)
        TRY(replace_constant(context->module, probe, variable));
    return NULL;
}

static Error *settle(ProbeContext *context) {
    IrModule *module = context->module;
    for (size_t f = 0; f < module->function_count; f++) {
        IrFunction *function = module->functions[f];
        for (uint32_t i = 0; i < function->body->parameter_count; i++)
            TRY(settle_variable(context, function->body->parameters[i], !function->exported));
        IrBinding *binding = ir_walk_first(function->body);
        for (; binding; binding = ir_walk_next(binding))
            for (uint32_t i = 0; i < binding->result_count; i++)
                TRY(settle_variable(context, binding->results[i], false));
    }
    ir_replace_all(module);
    return NULL;
}

/* Counts the results of operators whose shape is not known, or was guessed. */
static size_t count_unknown(const Inference *inference) {
    const IrModule *module = inference->context.module;
    size_t count = 0;
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding))
            for (uint32_t i = 0; binding->kind == IR_OPERATOR && i < binding->result_count; i++) {
                const Probe *probe = probe_of(&inference->context, binding->results[i]);
                count += probe->state == PROBE_TOP || probe->guessed;
            }
    }
    return count;
}

static Error *infer_with(PassContext *context, uint32_t set, Inference *out) {
    void *block;
    TRY(memory_alloc(context->module->function_count + 1, sizeof(InferredFunction), &block));
    out->functions = block;
    TRY(probe_context_init(context->module, context->portable, set, &out->context));
    find_closures(out);
    TRY(infer_rounds(out));
    bool settled = !out->parameters_changed && !out->results_changed;
    out->unknown_count = settled ? count_unknown(out) : SIZE_MAX;
    return NULL;
}

/* Infers with one set of sizes after the other until everything is known. The set with the fewest
 * unknown results is used. */
static Error *infer_best(PassContext *context, Inference inferences[PROBE_SETS]) {
    uint32_t best = 0;
    for (uint32_t set = 0; set < PROBE_SETS; set++) {
        TRY(infer_with(context, set, &inferences[set]));
        if (inferences[set].unknown_count < inferences[best].unknown_count) best = set;
        if (inferences[best].unknown_count == 0) break;
    }
    if (inferences[best].unknown_count == SIZE_MAX) return NULL;
    return settle(&inferences[best].context);
}

Error *infer_shapes_pass(PassContext *context) {
    Inference inferences[PROBE_SETS] = {0};
    Error *error = infer_best(context, inferences);
    for (uint32_t set = 0; set < PROBE_SETS; set++) {
        if (inferences[set].context.module) probe_context_deinit(&inferences[set].context);
        memory_free(inferences[set].functions);
    }
    return error;
}
