/* Constant folding: computes results that depend on constants alone, unless the file would grow
 * by more than a fraction (weights may grow: devices pack constants only); takes branches whose
 * condition is known; reads fields of values that are built in the same function. */
#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/ir/constants.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/weight_makers.h"
#include "kernels/operator/plan.h"

enum {
    PREPARED_BYTES_MAX = 1 << 28, /* of weights that grow */
    SMALL_BYTES_MAX = 4096,       /* a result up to this size is always folded */
    GROUP_READERS_MAX = 64,       /* more readers of one constant are not folded together */
    GROWTH_DIVISOR = 4, /* tables that a graph computes may add this part of the constants */
    GROWTH_BYTES_MAX = 8 << 20, /* and no more than this */
};
static const uint64_t WEIGHTS_BYTES_MAX = UINT64_C(1) << 30; /* of all weights that are made */

typedef struct Folding {
    PassContext *context;
    uint32_t *uses; /* by variable id, for variables that exist before the pass */
    uint32_t variable_count;
    IrBinding **refused; /* computable, but the results are larger than what disappears */
    size_t refused_count, refused_capacity;
    /* bytes that results may take beyond what disappears: now, and at first */
    uint64_t growth_left, growth_max;
    uint64_t weights_left; /* bytes that weights may take beyond what disappears */
    bool *weights;         /* by variable id, of the round: those that are weights or make some */
    bool changed;
    bool took_branch;
    bool again; /* another round finds more */
} Folding;

/* Whether the binding makes something of weights that are codes of 8 bits or more: it dequantizes
 * them without blocks (blocks are left to the pass fuse_blocks), or it transposes bytes. Weights
 * that no integer operator took are dequantized once and not in each run, though they grow; codes
 * are transposed once, though others read them as they are. */
static bool prepares_codes(const IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    if (id != OPERATOR_DEQUANTIZE_LINEAR && id != OPERATOR_TRANSPOSE) return false;
    const IrVariable *input = ir_resolve(binding->operands[0]);
    const Tensor *codes = input ? ir_variable_tensor(input) : NULL;
    if (!codes || !dtype_is_integer(codes->dtype) || dtype_bits(codes->dtype) < 8) return false;
    if (id == OPERATOR_TRANSPOSE) return dtype_bits(codes->dtype) == 8;
    return attributes_int(binding->attributes, "block_size") == 0;
}

/* True when every input is a constant. *out_bytes: the size of the constants that disappear, or
 * what is always folded. */
static bool inputs_are_constant(
    const Folding *folding, const IrBinding *binding, uint64_t *out_bytes) {
    uint64_t freed = 0;
    if (binding->operand_count == 0) return false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *input = ir_resolve(binding->operands[i]);
        if (!input) continue;
        Tensor *tensor = ir_variable_tensor(input);
        if (!tensor) return false;
        bool last = input->id >= folding->variable_count || folding->uses[input->id] <= 1;
        if (last) freed += tensor_bytes(tensor);
    }
    *out_bytes = freed > SMALL_BYTES_MAX ? freed : SMALL_BYTES_MAX;
    return true;
}

/* Whether the binding makes a weight, and no large constant stays beside it that has the weight's
 * content in another form. */
static bool makes_weight(const Folding *folding, const IrBinding *binding) {
    if (!weight_makers_has(folding->weights, binding)) return false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *input = ir_resolve(binding->operands[i]);
        if (input && input->id < folding->variable_count && folding->uses[input->id] > 1 &&
            tensor_bytes(ir_variable_tensor(input)) > SMALL_BYTES_MAX)
            return false;
    }
    return true;
}

static Error *replace_results(IrModule *module, IrBinding *binding, Tensor **outputs) {
    for (uint32_t i = 0; i < binding->result_count; i++) {
        IrVariable *constant;
        /* a view has the storage of its input */
        if (outputs[i]->storage->device == device_host() && outputs[i]->offset == 0 &&
            refcount_is_sole(&outputs[i]->storage->refcount))
            TRY(ir_constant_tensor(module, outputs[i], &constant));
        else
            TRY(constants_copy(module, outputs[i], &constant));
        binding->results[i]->replacement = constant;
    }
    ir_remove(binding);
    return NULL;
}

static Error *compute(const Folding *folding, const IrBinding *binding, uint64_t bytes_max,
    Tensor **outputs, bool *out_done) {
    Tensor *inputs[PLAN_INPUTS_MAX] = {NULL};
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *input = ir_resolve(binding->operands[i]);
        if (input) inputs[i] = ir_variable_tensor(input);
    }
    return evaluate_operator(folding->context->portable, binding->operator_info,
        binding->attributes, binding->operand_count, inputs, binding->result_count, bytes_max,
        outputs, out_done);
}

static void release_all(Tensor **outputs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) tensor_release(outputs[i]);
}

/* The last reader of a constant counts the constant as freed. */
static void drop_uses(const Folding *folding, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *input = ir_resolve(binding->operands[i]);
        if (input && input->id < folding->variable_count && folding->uses[input->id] > 0)
            folding->uses[input->id]--;
    }
}

static Error *refuse(Folding *folding, IrBinding *binding) {
    void *array = folding->refused;
    TRY(memory_grow(
        &array, folding->refused_count, &folding->refused_capacity, sizeof *folding->refused));
    folding->refused = array;
    folding->refused[folding->refused_count++] = binding;
    return NULL;
}

/* Steps between a small table and another one are given back when the next step consumes them. */
static void spend(Folding *folding, bool weight, uint64_t freed, uint64_t made) {
    if (weight && made > freed)
        folding->weights_left -= made - freed;
    else if (made > freed)
        folding->growth_left -= made - freed;
    else if (freed - made < folding->growth_max - folding->growth_left)
        folding->growth_left += freed - made;
    else
        folding->growth_left = folding->growth_max;
}

static Error *fold_operator(Folding *folding, IrBinding *binding) {
    uint64_t freed, made = 0;
    if (binding->operator_info->id == OPERATOR_DEQUANTIZE_LINEAR &&
        !folding->context->folds_dequantized)
        return NULL;
    if (!inputs_are_constant(folding, binding, &freed)) return NULL;
    if (binding->operand_count > PLAN_INPUTS_MAX || binding->result_count > PLAN_OUTPUTS_MAX)
        return NULL;
    Tensor *outputs[PLAN_OUTPUTS_MAX];
    bool done;
    const bool prepares = prepares_codes(binding), weight = makes_weight(folding, binding);
    const uint64_t growth = weight ? folding->weights_left : folding->growth_left;
    const uint64_t bytes_max = prepares ? PREPARED_BYTES_MAX : freed + growth;
    TRY(compute(folding, binding, bytes_max, outputs, &done));
    if (!done) return refuse(folding, binding);
    folding->changed = true;
    drop_uses(folding, binding);
    const uint32_t count = binding->result_count;
    for (uint32_t i = 0; i < count; i++) made += tensor_bytes(outputs[i]);
    if (!prepares) spend(folding, weight, freed, made);
    Error *error = replace_results(folding->context->module, binding, outputs);
    release_all(outputs, count);
    return error;
}

/* ---- groups: a constant that only refused operators read disappears with the last of them ---- */

/* What all readers of one constant make of it. */
typedef struct Group {
    const IrVariable *constant;
    uint64_t bytes_left; /* of the constant, for results */
    bool fits;
} Group;

static bool reads(const IrBinding *binding, const IrVariable *variable) {
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (ir_resolve(binding->operands[i]) == variable) return true;
    return false;
}

/* Computes the results of the next reader from refused[from] on, then, one level deeper, of those
 * behind it, and replaces all results if all fit. */
static Error *fold_readers(Folding *folding, Group *group, size_t from, uint32_t level) {
    while (from < folding->refused_count &&
           !(folding->refused[from] && reads(folding->refused[from], group->constant)))
        from++;
    if (from == folding->refused_count) return NULL;
    IrBinding *binding = folding->refused[from];
    Tensor *outputs[PLAN_OUTPUTS_MAX];
    bool done = false;
    if (level < GROUP_READERS_MAX)
        TRY(compute(folding, binding, group->bytes_left, outputs, &done));
    if (!done) {
        group->fits = false;
        return NULL;
    }
    const uint32_t count = binding->result_count;
    for (uint32_t i = 0; i < count; i++) group->bytes_left -= tensor_bytes(outputs[i]);
    Error *error = fold_readers(folding, group, from + 1, level + 1);
    if (!error && group->fits) {
        error = replace_results(folding->context->module, binding, outputs);
        folding->refused[from] = NULL;
    }
    release_all(outputs, count);
    return error;
}

static Error *fold_group(Folding *folding, const IrVariable *constant) {
    Group group = {.constant = constant,
        .bytes_left = tensor_bytes(ir_variable_tensor(constant)),
        .fits = true};
    TRY(fold_readers(folding, &group, 0, 0));
    if (group.fits) folding->changed = folding->again = true;
    return NULL;
}

/* seen: how often refused operators read each variable. A constant that others read, too, stays. */
static Error *fold_groups_of(Folding *folding, uint32_t *seen) {
    for (size_t f = 0; f < folding->refused_count; f++)
        for (uint32_t i = 0; i < folding->refused[f]->operand_count; i++) {
            const IrVariable *read = ir_resolve(folding->refused[f]->operands[i]);
            if (read && read->id < folding->variable_count) seen[read->id]++;
        }
    for (size_t f = 0; f < folding->refused_count; f++)
        for (uint32_t i = 0; folding->refused[f] && i < folding->refused[f]->operand_count; i++) {
            const IrVariable *read = ir_resolve(folding->refused[f]->operands[i]);
            if (!read || read->id >= folding->variable_count) continue;
            const bool alone = seen[read->id] > 1 && seen[read->id] == folding->uses[read->id];
            seen[read->id] = 0; /* once */
            if (alone && tensor_bytes(ir_variable_tensor(read)) > SMALL_BYTES_MAX)
                TRY(fold_group(folding, read));
        }
    return NULL;
}

static Error *fold_groups(Folding *folding) {
    void *seen;
    if (folding->refused_count == 0) return NULL;
    TRY(memory_alloc(folding->variable_count, sizeof(uint32_t), &seen));
    Error *error = fold_groups_of(folding, seen);
    memory_free(seen);
    return error;
}

/* 1 or 0; -1 if the condition is not constant. */
static int constant_condition(const IrVariable *condition) {
    const Value *value = condition->constant;
    if (!value) return -1;
    if (value->tag == VALUE_BOOL) return value->boolean;
    if (value->tag == VALUE_INT) return value->integer != 0;
    Tensor *tensor = ir_variable_tensor(condition);
    if (!tensor || shape_count_unchecked(&tensor->shape) != 1) return -1;
    if (tensor->dtype != DTYPE_BOOL) return -1;
    return *(const uint8_t *)tensor_data(tensor) != 0;
}

static void fold_if(Folding *folding, IrBinding *binding) {
    int condition = constant_condition(ir_resolve(binding->operands[0]));
    if (condition < 0) return;
    IrBlock *taken = binding->blocks[condition ? 0 : 1];
    for (uint32_t i = 0; i < binding->result_count; i++)
        binding->results[i]->replacement = ir_resolve(taken->results[i]);
    ir_move_bindings(taken, binding->block, binding);
    ir_remove(binding);
    folding->changed = true;
    folding->took_branch = true;
}

static Error *fold_field(Folding *folding, IrBinding *binding) {
    const IrBinding *maker = ir_resolve(binding->operands[0])->binding;
    if (!maker || maker->kind != IR_CONSTRUCT) return NULL;
    if (binding->kind == IR_GET_TAG) {
        IrVariable *tag;
        int64_t value = maker->constructor ? maker->constructor->tag : 0;
        TRY(ir_constant_int(folding->context->module, value, &tag));
        binding->results[0]->replacement = tag;
    } else {
        if (binding->operand_count != 1 || binding->integer < 0 ||
            binding->integer >= maker->operand_count)
            return NULL;
        binding->results[0]->replacement = ir_resolve(maker->operands[binding->integer]);
    }
    ir_remove(binding);
    folding->changed = true;
    return NULL;
}

static Error *fold_binding(Folding *folding, IrBinding *binding) {
    if (binding->kind == IR_OPERATOR) return fold_operator(folding, binding);
    if (binding->kind == IR_GET_FIELD || binding->kind == IR_GET_TAG)
        return fold_field(folding, binding);
    if (binding->kind == IR_IF) fold_if(folding, binding);
    return NULL;
}

static Error *fold_function(Folding *folding, IrFunction *function) {
    IrBinding *binding = ir_walk_first(function->body);
    while (binding) {
        IrBinding *behind = ir_walk_over(binding), *next = ir_walk_next(binding);
        bool took_branch = folding->took_branch;
        folding->took_branch = false;
        Error *error = fold_binding(folding, binding);
        if (error && binding->name) error = error_wrap(error, "node %s", binding->name);
        TRY(error);
        /* the taken branch's bindings are looked at in the next round */
        binding = folding->took_branch ? behind : next;
        folding->took_branch = folding->took_branch || took_branch;
    }
    return NULL;
}

/* Finds the constant that every call passes for a parameter. A function's call of itself may pass
 * the parameter on. */
static void fold_parameters(IrModule *module, IrVariable **candidates, bool *varies) {
    for (size_t f = 0; f < module->function_count; f++) {
        IrBinding *binding = ir_walk_first(module->functions[f]->body);
        for (; binding; binding = ir_walk_next(binding)) {
            if (binding->kind == IR_CLOSURE) {
                const IrBlock *body = binding->function->body;
                for (uint32_t i = 0; i < body->parameter_count; i++)
                    varies[body->parameters[i]->id] = true;
            }
            if (binding->kind != IR_CALL) continue;
            for (uint32_t i = 0; i < binding->operand_count; i++) {
                const IrVariable *parameter = binding->function->body->parameters[i];
                IrVariable *argument = binding->operands[i];
                if (argument == parameter) continue;
                IrVariable **candidate = &candidates[parameter->id];
                if (!argument->constant || (*candidate && *candidate != argument))
                    varies[parameter->id] = true;
                *candidate = argument;
            }
        }
    }
    for (size_t f = 0; f < module->function_count; f++) {
        const IrFunction *function = module->functions[f];
        for (uint32_t i = 0; !function->exported && i < function->body->parameter_count; i++) {
            IrVariable *parameter = function->body->parameters[i];
            if (candidates[parameter->id] && !varies[parameter->id])
                parameter->replacement = candidates[parameter->id];
        }
    }
}

static Error *fold_all_parameters(Folding *folding) {
    IrModule *module = folding->context->module;
    void *candidates, *varies = NULL;
    TRY(ir_side_table(module, sizeof(IrVariable *), &candidates));
    Error *error = ir_side_table(module, sizeof(bool), &varies);
    if (!error) fold_parameters(module, candidates, varies);
    memory_free(candidates);
    memory_free(varies);
    ir_replace_all(module);
    return error;
}

/* One look at every function. */
static Error *fold_round(Folding *folding) {
    IrModule *module = folding->context->module;
    void *uses;
    bool *weights;
    TRY(ir_side_table(module, sizeof(uint32_t), &uses));
    memory_free(folding->uses);
    folding->uses = uses;
    TRY(weight_makers_mark(module, &weights));
    memory_free(folding->weights);
    folding->weights = weights;
    folding->variable_count = module->variable_count;
    folding->refused_count = 0;
    folding->took_branch = folding->again = false;
    ir_count_uses(module, folding->uses);
    for (size_t f = 0; f < module->function_count; f++)
        TRY(fold_function(folding, module->functions[f]));
    /* a branch that is taken takes refused operators along, and the other branch's are gone */
    if (!folding->took_branch) TRY(fold_groups(folding));
    ir_replace_all(module);
    return NULL;
}

/* How many bytes computed tables may add to the constants that are read. */
static Error *find_growth(Folding *folding) {
    IrModule *module = folding->context->module;
    void *uses;
    uint64_t bytes = 0;
    TRY(ir_side_table(module, sizeof(uint32_t), &uses));
    ir_count_uses(module, uses);
    for (size_t i = 0; i < module->constant_count; i++) {
        const IrVariable *constant = module->constants[i];
        const Tensor *tensor = ir_variable_tensor(constant);
        if (tensor && ((uint32_t *)uses)[constant->id] > 0) bytes += tensor_bytes(tensor);
    }
    memory_free(uses);
    bytes /= GROWTH_DIVISOR;
    folding->growth_max = bytes < GROWTH_BYTES_MAX ? bytes : GROWTH_BYTES_MAX;
    folding->growth_left = folding->growth_max;
    return NULL;
}

static Error *fold(Folding *folding) {
    TRY(find_growth(folding));
    TRY(fold_all_parameters(folding));
    do { /* at most as often as branches are nested and as chains of groups are long */
        TRY(fold_round(folding));
    } while (folding->took_branch || folding->again);
    if (!folding->changed) return NULL;
    TRY(fold_all_parameters(folding));
    return ir_update_depths(folding->context->module);
}

Error *fold_constants_pass(PassContext *context) {
    Folding folding = {.context = context, .weights_left = WEIGHTS_BYTES_MAX};
    Error *error = fold(&folding);
    memory_free(folding.uses);
    memory_free(folding.weights);
    memory_free(folding.refused);
    return error;
}
