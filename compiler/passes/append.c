/* A loop value that each round only makes longer, v' = Concat(v, x, …), becomes v' = Append(v, x),
 * which writes the new piece behind the present elements.
 *
 * The pieces follow each other in memory only if all dimensions before the grown axis are 1.
 * Otherwise the loop carries the value with that axis outermost. It is brought into that order
 * once, before the loop, and back once, behind the loop. Attention reads that order
 * (key_rows_first, value_rows_first), and so do reads of its shape; other operators get a copy in
 * the old order, which costs as much as the Concat did. */
#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/call_lists.h"
#include "compiler/ir/constants.h"
#include "compiler/passes/pass.h"

typedef struct Growth {
    IrModule *module;
    const CallLists *lists;
    IrFunction *loop;
    IrBinding *const *calls; /* all calls of the loop, its own included */
    size_t call_count;
    IrVariable *value;  /* the parameter */
    uint32_t parameter; /* the parameter's index */
    uint32_t axis;
    int64_t outwards[SHAPE_RANK_MAX]; /* brings the axis to the front */
    int64_t back[SHAPE_RANK_MAX];
    /* plain: the last copy in the old order; turned: the variable that was copied */
    IrVariable *turned, *plain;
} Growth;

static bool is_self_call(const Growth *growth, const IrBinding *binding) {
    return binding->kind == IR_CALL && binding->function == growth->loop;
}

static bool is_in(const IrBinding *binding, const IrBlock *block) {
    for (const IrBlock *around = binding->block; around; around = around->parent->block) {
        if (around == block) return true;
        if (!around->parent) return false;
    }
    return false;
}

static bool contains_self_call(const Growth *growth, const IrBlock *block) {
    for (size_t i = 0; i < growth->call_count; i++)
        if (is_in(growth->calls[i], block)) return true;
    return false;
}

/* True for a block that only the last round runs: another branch calls the loop again. */
static bool is_exit(const Growth *growth, const IrBlock *block) {
    for (; block->parent; block = block->parent->block) {
        if (contains_self_call(growth, block)) continue;
        for (uint32_t i = 0; i < block->parent->block_count; i++)
            if (contains_self_call(growth, block->parent->blocks[i])) return true;
    }
    return false;
}

/* Finds the Concat that makes the variable from the carried value and further pieces, in a round
 * that may continue. */
static IrBinding *grown_by(const Growth *growth, const IrVariable *variable, uint32_t *out_axis) {
    IrBinding *maker = variable->binding;
    if (!maker || maker->kind != IR_OPERATOR || maker->operator_info->id != OPERATOR_CONCAT)
        return NULL;
    if (maker->operand_count < 2 || maker->operands[0] != growth->value) return NULL;
    for (uint32_t i = 1; i < maker->operand_count; i++)
        if (maker->operands[i] == growth->value) return NULL;
    if (is_exit(growth, maker->block)) return NULL;
    const int64_t axis = attributes_int(maker->attributes, "axis");
    const uint32_t rank = growth->value->type.rank;
    *out_axis = (uint32_t)(axis < 0 ? axis + rank : axis);
    return *out_axis < rank ? maker : NULL;
}

/* Finds the one axis along which rounds grow the value. False if a round changes the value in
 * another way. */
static bool find_axis(Growth *growth) {
    uint32_t grown = 0;
    for (size_t i = 0; i < growth->call_count; i++) {
        uint32_t axis;
        if (growth->calls[i]->block->function != growth->loop) continue;
        const IrVariable *next = growth->calls[i]->operands[growth->parameter];
        if (next == growth->value) continue;
        if (!grown_by(growth, next, &axis)) return false;
        if (grown++ > 0 && axis != growth->axis) return false;
        growth->axis = axis;
    }
    return grown > 0;
}

static bool is_outermost(const Growth *growth) {
    for (uint32_t i = 0; i < growth->axis; i++)
        if (growth->value->type.dims[i] != 1) return false;
    return true;
}

/* ---- whether all readers can read it ---- */

/* True for the carried value and its grown form. */
static bool is_of_growth(const Growth *growth, const IrVariable *variable) {
    uint32_t axis;
    return variable && (variable == growth->value ||
                           (grown_by(growth, variable, &axis) != NULL && axis == growth->axis));
}

static bool attention_reads(const Growth *growth, const IrBinding *binding, uint32_t operand) {
    if (binding->operator_info->id != OPERATOR_FUSED_ATTENTION) return false;
    if (growth->axis + 2 != growth->value->type.rank) return false;
    const Attributes *attributes = binding->attributes;
    return operand == 2 || (operand == 1 && !attributes_int(attributes, "transposed_key"));
}

static bool reads(const Growth *growth, const IrBinding *binding, uint32_t operand) {
    uint32_t axis;
    if (is_exit(growth, binding->block) || binding->kind == IR_SHAPE_OF) return true;
    if (is_self_call(growth, binding)) return operand == growth->parameter;
    if (binding->kind != IR_OPERATOR) return false;
    /* a Concat along another axis would grow a copy of the value */
    return binding->operands[0] != growth->value || !grown_by(growth, binding->results[0], &axis) ||
           axis == growth->axis;
}

static bool results_allow(const Growth *growth, const IrBlock *block) {
    for (uint32_t i = 0; i < block->result_count; i++)
        if (is_of_growth(growth, block->results[i]) && !is_exit(growth, block)) return false;
    return true;
}

static bool readers_allow(const Growth *growth) {
    if (!results_allow(growth, growth->loop->body)) return false;
    for (IrBinding *binding = ir_walk_first(growth->loop->body); binding;
         binding = ir_walk_next(binding)) {
        for (uint32_t i = 0; i < binding->operand_count; i++)
            if (is_of_growth(growth, binding->operands[i]) && !reads(growth, binding, i))
                return false;
        for (uint32_t i = 0; i < binding->block_count; i++)
            if (!results_allow(growth, binding->blocks[i])) return false;
    }
    return true;
}

/* True when all callers are known and outside of loops, so that the order changes seldom. */
static bool callers_allow(const Growth *growth) {
    if (growth->loop->exported || growth->lists->is_closure[growth->loop->index]) return false;
    for (size_t i = 0; i < growth->call_count; i++) {
        const IrFunction *caller = growth->calls[i]->block->function;
        if (caller != growth->loop && call_lists_calls_itself(growth->lists, caller)) return false;
    }
    return true;
}

/* ---- changing the order ---- */

static IrType type_of(const IrType *from, const int64_t *permutation) {
    IrType type = *from;
    for (uint32_t i = 0; i < type.rank; i++) type.dims[i] = from->dims[permutation[i]];
    return type;
}

static Error *transpose(const Growth *growth, IrCursor at, IrVariable *from,
    const int64_t *permutation, IrVariable **out) {
    const IrType *type = &from->type;
    TRY(ir_build_transpose(at, from, growth->value->type.rank, permutation, out));
    (*out)->type = type->rank_known ? type_of(type, permutation) : ir_type_tensor(type->dtype);
    return NULL;
}

/* Concatenates the new pieces to one. */
static Error *join_pieces(const Growth *growth, IrBinding *grower, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    IrVariable **results;
    *out = grower->operands[1];
    if (grower->operand_count == 2) return NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", growth->axis));
    TRY(ir_build_operator(ir_before(grower), "Concat", attributes, grower->operand_count - 1,
        grower->operands + 1, 1, &results));
    results[0]->type = ir_type_tensor(growth->value->type.dtype);
    *out = results[0];
    return NULL;
}

static size_t count_in(IrVariable *const *variables, uint32_t count, const IrVariable *variable) {
    size_t found = 0;
    for (uint32_t i = 0; i < count; i++) found += variables[i] == variable;
    return found;
}

static size_t count_uses(const IrFunction *function, const IrVariable *variable) {
    size_t uses = count_in(function->body->results, function->body->result_count, variable);
    for (IrBinding *binding = ir_walk_first(function->body); binding;
         binding = ir_walk_next(binding)) {
        uses += count_in(binding->operands, binding->operand_count, variable);
        for (uint32_t i = 0; i < binding->block_count; i++)
            uses +=
                count_in(binding->blocks[i]->results, binding->blocks[i]->result_count, variable);
    }
    return uses;
}

/* The piece with the grown axis first. A Transpose that made its present order is removed if
 * nothing else uses it. */
static Error *turn_piece(
    const Growth *growth, IrBinding *grower, IrVariable *piece, IrVariable **out) {
    IrBinding *maker = piece->binding;
    uint32_t count = 0;
    int64_t permutation[SHAPE_RANK_MAX];
    const int64_t *before = NULL;
    if (maker && maker->kind == IR_OPERATOR && maker->operator_info->id == OPERATOR_TRANSPOSE)
        before = attributes_ints(maker->attributes, "perm", &count);
    if (!before || count != growth->value->type.rank)
        return transpose(growth, ir_before(grower), piece, growth->outwards, out);
    for (uint32_t i = 0; i < count; i++) permutation[i] = before[growth->outwards[i]];
    const bool sole = count_uses(growth->loop, piece) == 1;
    TRY(transpose(growth, ir_before(grower), maker->operands[0], permutation, out));
    if (sole) ir_remove(maker);
    return NULL;
}

/* Puts the Append in the Concat's place. */
static Error *replace_grower(const Growth *growth, IrBinding *grower, bool turned) {
    IrVariable *piece, *result;
    TRY(join_pieces(growth, grower, &piece));
    if (turned) TRY(turn_piece(growth, grower, piece, &piece));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", turned ? 0 : growth->axis));
    TRY(ir_build_simple(
        ir_before(grower), "Append", attributes, growth->value, piece, NULL, &result));
    result->type = grower->results[0]->type;
    result->binding->name = grower->name;
    grower->results[0]->replacement = result;
    ir_remove(grower);
    return NULL;
}

static Error *turn_attention(const Growth *growth, IrBinding *binding) {
    OWN(Attributes, attributes) = NULL;
    IrVariable **results;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "scale", attributes_float(binding->attributes, "scale")));
    TRY(attributes_set_int(
        attributes, "transposed_key", attributes_int(binding->attributes, "transposed_key")));
    if (attributes_int(binding->attributes, "zero_nan"))
        TRY(attributes_set_int(attributes, "zero_nan", 1));
    static const char *const names[] = {"key_rows_first", "value_rows_first"};
    for (uint32_t i = 0; i < 2; i++) {
        const bool now = is_of_growth(growth, binding->operands[1 + i]);
        const int64_t before = attributes_int(binding->attributes, names[i]);
        TRY(attributes_set_int(attributes, names[i], now ? 1 : before));
    }
    TRY(ir_build_operator(ir_before(binding), "FusedAttention", attributes, binding->operand_count,
        binding->operands, 1, &results));
    results[0]->type = binding->results[0]->type;
    results[0]->binding->name = binding->name;
    binding->results[0]->replacement = results[0];
    ir_remove(binding);
    return NULL;
}

/* Gathers the dimensions back into the old order. */
static Error *turn_shape(const Growth *growth, IrBinding *binding) {
    IrVariable *order, *shape, *result;
    const uint32_t rank = growth->value->type.rank;
    TRY(constants_ints(growth->module, 1, rank, growth->back, &order));
    TRY(ir_build_shape_of(ir_before(binding), binding->operands[0], &shape));
    TRY(ir_build_simple(ir_before(binding), "Gather", NULL, shape, order, NULL, &result));
    result->type = binding->results[0]->type;
    binding->results[0]->replacement = result;
    ir_remove(binding);
    return NULL;
}

/* Brings the value back into the old order where the loop ends. */
static Error *turn_back(const Growth *growth, IrCursor at, IrVariable **variables, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (is_of_growth(growth, variables[i]))
            TRY(transpose(growth, at, variables[i], growth->back, &variables[i]));
    return NULL;
}

static Error *turn_results(Growth *growth, IrBinding *binding) {
    for (uint32_t i = 0; i < binding->block_count; i++) {
        IrBlock *block = binding->blocks[i];
        TRY(turn_back(growth, ir_at_end(block), block->results, block->result_count));
    }
    return NULL;
}

static bool has_operand(const Growth *growth, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (is_of_growth(growth, binding->operands[i])) return true;
    return false;
}

static bool attends(const Growth *growth, const IrBinding *binding) {
    for (uint32_t i = 0; i < binding->operand_count; i++)
        if (is_of_growth(growth, binding->operands[i]) && !attention_reads(growth, binding, i))
            return false;
    return true;
}

static bool grows(const Growth *growth, const IrBinding *binding) {
    uint32_t axis;
    return binding->operands[0] == growth->value && grown_by(growth, binding->results[0], &axis);
}

/* Consecutive readers of one block share a copy in the old order. */
static Error *copy_for_reader(Growth *growth, IrBinding *binding) {
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        IrVariable **operand = &binding->operands[i];
        if (!is_of_growth(growth, *operand)) continue;
        if (growth->turned != *operand || growth->plain->binding->block != binding->block) {
            growth->turned = *operand;
            TRY(transpose(growth, ir_before(binding), *operand, growth->back, &growth->plain));
        }
        *operand = growth->plain;
    }
    return NULL;
}

static Error *turn_reader(Growth *growth, IrBinding *binding) {
    if (!has_operand(growth, binding) || is_self_call(growth, binding)) return NULL;
    if (binding->kind == IR_SHAPE_OF) return turn_shape(growth, binding);
    if (is_exit(growth, binding->block))
        return turn_back(growth, ir_before(binding), binding->operands, binding->operand_count);
    if (grows(growth, binding)) return NULL;
    return attends(growth, binding) ? turn_attention(growth, binding)
                                    : copy_for_reader(growth, binding);
}

static Error *for_each_binding(Growth *growth, const IrFunction *function,
    Error *(*visit)(Growth *growth, IrBinding *binding)) {
    IrBinding *binding = ir_walk_first(function->body);
    while (binding) {
        IrBinding *next = ir_walk_next(binding);
        TRY(visit(growth, binding));
        binding = next;
    }
    return NULL;
}

static Error *turn_argument(const Growth *growth, IrBinding *binding) {
    IrVariable **argument = &binding->operands[growth->parameter];
    return transpose(growth, ir_before(binding), *argument, growth->outwards, argument);
}

static Error *turn_type(Growth *growth, IrBinding *binding) {
    uint32_t axis;
    if (binding->result_count != 1 || !grown_by(growth, binding->results[0], &axis)) return NULL;
    IrType *type = &binding->results[0]->type;
    if (axis == growth->axis && type->rank_known) *type = type_of(type, growth->outwards);
    return NULL;
}

static Error *replace_turned(Growth *growth, IrBinding *binding) {
    uint32_t axis;
    if (binding->result_count != 1 || !grown_by(growth, binding->results[0], &axis)) return NULL;
    return axis == growth->axis ? replace_grower(growth, binding, true) : NULL;
}

static Error *replace_plain(Growth *growth, IrBinding *binding) {
    uint32_t axis;
    if (!is_self_call(growth, binding)) return NULL;
    IrBinding *grower = grown_by(growth, binding->operands[growth->parameter], &axis);
    return grower && !grower->results[0]->replacement ? replace_grower(growth, grower, false)
                                                      : NULL;
}

static void set_orders(Growth *growth) {
    growth->outwards[0] = growth->axis;
    for (uint32_t i = 0; i < growth->value->type.rank; i++) {
        if (i != growth->axis) growth->outwards[i < growth->axis ? i + 1 : i] = i;
        growth->back[i] = i == growth->axis ? 0 : i < growth->axis ? i + 1 : i;
    }
}

static Error *turn(Growth *growth) {
    set_orders(growth);
    for (size_t i = 0; i < growth->call_count; i++)
        if (growth->calls[i]->block->function != growth->loop)
            TRY(turn_argument(growth, growth->calls[i]));
    /* readers first, since the Concat identifies them */
    growth->value->type = type_of(&growth->value->type, growth->outwards);
    TRY(for_each_binding(growth, growth->loop, turn_type));
    TRY(for_each_binding(growth, growth->loop, turn_reader));
    TRY(for_each_binding(growth, growth->loop, turn_results));
    return for_each_binding(growth, growth->loop, replace_turned);
}

static Error *carry(
    IrModule *module, const CallLists *lists, IrFunction *loop, uint32_t parameter) {
    Growth growth = {.module = module,
        .lists = lists,
        .loop = loop,
        .value = loop->body->parameters[parameter],
        .parameter = parameter};
    growth.calls = call_lists_get(lists, loop, &growth.call_count);
    const IrType *type = &growth.value->type;
    if (type->kind != IR_TYPE_TENSOR || !type->rank_known || !find_axis(&growth)) return NULL;
    if (is_outermost(&growth))
        TRY(for_each_binding(&growth, loop, replace_plain));
    else if (callers_allow(&growth) && readers_allow(&growth))
        TRY(turn(&growth));
    ir_replace_in(loop);
    return NULL;
}

Error *append_pass(PassContext *context) {
    IrModule *module = context->module;
    CallLists OWN_CALLS(lists) = {0};
    TRY(call_lists_init(module, &lists));
    for (size_t f = 0; f < module->function_count; f++) {
        IrFunction *function = module->functions[f];
        if (!call_lists_calls_itself(&lists, function)) continue;
        for (uint32_t i = 0; i < function->body->parameter_count; i++)
            TRY_WRAP(carry(module, &lists, function, i), "@%s", function->name);
    }
    return NULL;
}
