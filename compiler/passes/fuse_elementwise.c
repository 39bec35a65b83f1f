/* Groups of elementwise operators of one shape become one FusedElementwise, so that intermediate
 * values are never in memory. Each element is computed as before, so the bits stay the same. */
#include <inttypes.h>

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/fusion.h"
#include "kernels/planning/pointwise_program.h"

enum {
    INPUTS_MAX = 8, /* so many inputs can be written in place */
    STEPS_MAX = 24,
};

typedef struct Group {
    IrBinding *members[STEPS_MAX]; /* the root first */
    uint32_t count;
    IrVariable *inputs[INPUTS_MAX];
    uint32_t input_count;
    double constants[POINTWISE_CONSTANTS_MAX];
    uint32_t constant_count;
} Group;

static int member_index(const Group *group, const IrVariable *variable) {
    for (uint32_t i = 0; i < group->count; i++)
        if (group->members[i]->results[0] == variable) return (int)i;
    return -1;
}

/* The operand is written into the program as a number. */
static bool is_constant_operand(const IrBinding *step, const IrVariable *operand) {
    double value;
    if (!fusion_scalar(operand, &value)) return false;
    /* a constant must have the type of the step's last operand that is no constant, and must not
     * widen the result */
    DType dtype = DTYPE_NONE;
    uint32_t rank = 0;
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const IrVariable *other = fusion_operand(step, i);
        if (!other || fusion_scalar(other, &value)) continue;
        dtype = other->type.dtype;
        if (other->type.rank_known && other->type.rank > rank) rank = other->type.rank;
    }
    return dtype == operand->type.dtype && operand->type.rank <= rank;
}

static bool may_be_step(const IrBinding *binding, const IrType *shape) {
    if (binding->kind != IR_OPERATOR || binding->result_count != 1) return false;
    if (!pointwise_program_takes(binding->operator_info->id)) return false;
    if (binding->operand_count == 0 || binding->operand_count > POINTWISE_OPERANDS_MAX)
        return false;
    IrType type = binding->results[0]->type;
    if (!dtype_in(DTYPES_POINTWISE, type.dtype)) return false;
    type.dtype = shape->dtype;
    if (!fusion_same_shape(&type, shape)) return false;
    bool variable = false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *operand = fusion_operand(binding, i);
        if (!operand || !dtype_in(DTYPES_POINTWISE, operand->type.dtype)) return false;
        variable = variable || !is_constant_operand(binding, operand);
    }
    return variable;
}

static uint32_t uses_in(const Group *group, const IrVariable *variable) {
    uint32_t uses = 0;
    for (uint32_t m = 0; m < group->count; m++)
        for (uint32_t i = 0; i < group->members[m]->operand_count; i++)
            uses += fusion_operand(group->members[m], i) == variable;
    return uses;
}

/* Inputs and constants that the members need. False: too many. */
static bool find_inputs(Group *group) {
    group->input_count = 0;
    group->constant_count = 0;
    for (uint32_t m = 0; m < group->count; m++) {
        const IrBinding *member = group->members[m];
        for (uint32_t i = 0; i < member->operand_count; i++) {
            IrVariable *operand = fusion_operand(member, i);
            if (member_index(group, operand) >= 0) continue;
            double value;
            if (is_constant_operand(member, operand) && fusion_scalar(operand, &value)) {
                if (group->constant_count == POINTWISE_CONSTANTS_MAX) return false;
                group->constants[group->constant_count++] = value;
                continue;
            }
            uint32_t known = 0;
            while (known < group->input_count && group->inputs[known] != operand) known++;
            if (known < group->input_count) continue;
            if (group->input_count == INPUTS_MAX) return false;
            group->inputs[group->input_count++] = operand;
        }
    }
    return true;
}

/* Adds makers of the members' operands to the group, if only the group uses their results. */
static void grow(const Fusion *fusion, Group *group) {
    const IrBinding *root = group->members[0];
    const IrType *shape = &root->results[0]->type;
    for (bool grown = true; grown;) {
        grown = false;
        for (uint32_t m = 0; m < group->count && group->count < STEPS_MAX; m++) {
            const IrBinding *member = group->members[m];
            for (uint32_t i = 0; i < member->operand_count && group->count < STEPS_MAX; i++) {
                const IrVariable *operand = fusion_operand(member, i);
                IrBinding *maker = operand ? operand->binding : NULL;
                if (!maker || maker->block != root->block || !may_be_step(maker, shape)) continue;
                if (member_index(group, operand) >= 0) continue;
                if (uses_in(group, operand) != fusion_uses(fusion, operand)) continue;
                group->members[group->count++] = maker;
                if (find_inputs(group))
                    grown = true;
                else
                    group->count--;
            }
        }
    }
}

/* Sorts steps in program order: every member stands before its users. */
static void sort_members(Group *group) {
    uint32_t sorted = 0;
    IrBinding *order[STEPS_MAX];
    IrBinding *at = group->members[0];
    for (uint32_t left = group->count; left > 0; at = at->previous) {
        if (member_index(group, at->results[0]) < 0) continue;
        order[sorted++] = at;
        left--;
    }
    for (uint32_t i = 0; i < sorted; i++) group->members[i] = order[sorted - 1 - i];
}

static Error *write_program(Group *group, TextBuilder *text) {
    uint32_t constant = 0;
    for (uint32_t m = 0; m < group->count; m++) {
        const IrBinding *member = group->members[m];
        text_appendf(text, "%s%s", m > 0 ? "; " : "", member->operator_info->name);
        for (uint32_t i = 0; i < member->operand_count; i++) {
            const IrVariable *operand = fusion_operand(member, i);
            int step = member_index(group, operand);
            double value;
            uint32_t input = 0;
            if (step >= 0) {
                text_appendf(text, " r%d", step);
            } else if (is_constant_operand(member, operand) && fusion_scalar(operand, &value)) {
                group->constants[constant] = value;
                text_appendf(text, " c%u", constant++);
            } else {
                while (group->inputs[input] != operand) input++;
                text_appendf(text, " i%u", input);
            }
        }
        if (!*member->operator_info->attributes) continue;
        text_append(text, " ");
        attributes_print(member->attributes, text);
    }
    return text_builder_check(text);
}

static Error *fuse(Fusion *fusion, Group *group) {
    IrBinding *root = group->members[0];
    sort_members(group);
    if (!find_inputs(group)) return NULL;
    TextBuilder OWN_TEXT(program) = {0};
    TRY(write_program(group, &program));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "program", text_builder_get(&program)));
    if (group->constant_count > 0)
        TRY(attributes_set_floats(
            attributes, "constants", group->constants, group->constant_count));
    return fusion_replace(
        fusion, root, "FusedElementwise", attributes, group->input_count, group->inputs);
}

/* False for integers: small ones are shape arithmetic, which runs on the host. */
static bool is_worth_it(const IrType *type) {
    return type->kind == IR_TYPE_TENSOR && dtype_is_float(type->dtype);
}

static Error *rule(Fusion *fusion, IrBinding *binding) {
    if (!is_worth_it(&binding->results[0]->type)) return NULL;
    if (!may_be_step(binding, &binding->results[0]->type)) return NULL;
    void *block;
    TRY(memory_alloc(1, sizeof(Group), &block));
    Group *group = block;
    group->members[group->count++] = binding;
    Error *error = NULL;
    if (find_inputs(group)) grow(fusion, group);
    if (group->count > 1) error = fuse(fusion, group);
    memory_free(group);
    return error;
}

Error *fuse_elementwise_pass(PassContext *context) {
    /* backwards, so that an operator inside a later one's group never starts a group */
    return fusion_run_backwards(context, rule);
}
