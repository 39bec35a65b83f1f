/* Groups of elementwise operators of one shape become one FusedElementwise, so that intermediate
 * values are never in memory. Each element is computed as before, so the bits stay the same.
 * Quantizations and dequantizations with one scale belong to groups as the steps that they are; so
 * a group reads and writes bytes. A NaN is quantized to the lowest code or 0 there. */
#include <inttypes.h>

#include "base/allocator.h"
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/quantized.h"
#include "kernels/planning/pointwise_program.h"

enum {
    INPUTS_MAX = 8, /* so many inputs can be written in place */
    STEPS_MAX = 24,
};

typedef struct Group {
    IrBinding *members[STEPS_MAX]; /* the root first */
    uint32_t count;
    uint32_t places[STEPS_MAX]; /* of the members' results in the program */
    uint32_t step_count;
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

/* A quantization or dequantization with one scale, which is a few steps. */
static bool read_quantization(IrBinding *binding, Quantized *out) {
    if (!quantized_read(binding, OPERATOR_QUANTIZE_LINEAR, out) &&
        !quantized_read(binding, OPERATOR_DEQUANTIZE_LINEAR, out))
        return false;
    return out->is_one && out->dtype != DTYPE_INT32;
}

static bool may_be_step(IrBinding *binding, const IrType *shape) {
    Quantized quantized;
    if (binding->kind != IR_OPERATOR || binding->result_count != 1) return false;
    if (binding->operand_count == 0 || binding->operand_count > POINTWISE_OPERANDS_MAX)
        return false;
    IrType type = binding->results[0]->type;
    if (!dtype_in(DTYPES_POINTWISE, type.dtype)) return false;
    type.dtype = shape->dtype;
    if (!fusion_same_shape(&type, shape)) return false;
    if (read_quantization(binding, &quantized)) return !quantized.values->constant;
    if (!pointwise_program_takes(binding->operator_info->id)) return false;
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

/* False: too many. */
static bool add_input(Group *group, IrVariable *operand) {
    uint32_t known = 0;
    if (member_index(group, operand) >= 0) return true;
    while (known < group->input_count && group->inputs[known] != operand) known++;
    if (known < group->input_count) return true;
    if (group->input_count == INPUTS_MAX) return false;
    group->inputs[group->input_count++] = operand;
    return true;
}

static bool add_operand(Group *group, const IrBinding *member, IrVariable *operand) {
    double value;
    if (member_index(group, operand) >= 0) return true;
    if (!is_constant_operand(member, operand) || !fusion_scalar(operand, &value))
        return add_input(group, operand);
    if (group->constant_count == POINTWISE_CONSTANTS_MAX) return false;
    group->constants[group->constant_count++] = value;
    return true;
}

/* Inputs and constants that the members need. False: too many, or too many steps. */
static bool find_inputs(Group *group) {
    enum { STEPS_OF_ONE = 6, CONSTANTS_OF_ONE = 4 };
    uint32_t steps = 0;
    group->input_count = 0;
    group->constant_count = 0;
    for (uint32_t m = 0; m < group->count; m++) {
        IrBinding *member = group->members[m];
        Quantized quantized;
        const bool is_quantization = read_quantization(member, &quantized);
        steps += is_quantization ? STEPS_OF_ONE : 1;
        if (is_quantization) {
            if (!add_input(group, quantized.values)) return false;
            group->constant_count += CONSTANTS_OF_ONE;
            continue;
        }
        for (uint32_t i = 0; i < member->operand_count; i++)
            if (!add_operand(group, member, fusion_operand(member, i))) return false;
    }
    return steps <= POINTWISE_STEPS_MAX && group->constant_count <= POINTWISE_CONSTANTS_MAX;
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
                /* a dequantization is computed again for another reader */
                if (maker->operator_info->id != OPERATOR_DEQUANTIZE_LINEAR &&
                    uses_in(group, operand) != fusion_uses(fusion, operand))
                    continue;
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

/* Begins a step of the program. */
static void write_step(Group *group, TextBuilder *text, const char *name) {
    text_appendf(text, "%s%s", group->step_count++ > 0 ? "; " : "", name);
}

static void write_constant(Group *group, TextBuilder *text, double value) {
    group->constants[group->constant_count] = value;
    text_appendf(text, " c%u", group->constant_count++);
}

static void write_value(const Group *group, TextBuilder *text, const IrVariable *operand) {
    const int member = member_index(group, operand);
    uint32_t input = 0;
    if (member >= 0) {
        text_appendf(text, " r%u", group->places[member]);
        return;
    }
    while (group->inputs[input] != operand) input++;
    text_appendf(text, " i%u", input);
}

/* Writes a step of the step before it and a constant. */
static void write_next(Group *group, TextBuilder *text, const char *name, double value) {
    write_step(group, text, name);
    text_appendf(text, " r%u", group->step_count - 2);
    write_constant(group, text, value);
}

static void write_dequantize(Group *group, TextBuilder *text, const Quantized *from) {
    write_step(group, text, "Cast");
    write_value(group, text, from->values);
    text_appendf(text, " {to=%s}", dtype_name(DTYPE_FLOAT32));
    if (from->one_zero != 0) write_next(group, text, "Sub", from->one_zero);
    write_next(group, text, "Mul", (double)from->one_scale);
}

/* A number that is no number becomes the zero point: a cast to int32 makes it 0. */
static void write_quantize(Group *group, TextBuilder *text, const Quantized *to) {
    double low, high;
    quantized_limits(to->dtype, &low, &high);
    write_step(group, text, "Mul");
    write_value(group, text, to->values);
    write_constant(group, text, (double)(1 / to->one_scale));
    write_step(group, text, "Round");
    text_appendf(text, " r%u", group->step_count - 2);
    write_next(group, text, "Clip", low - to->one_zero);
    write_constant(group, text, high - to->one_zero);
    if (to->one_zero != 0) {
        write_step(group, text, "Cast");
        text_appendf(text, " r%u {to=%s}", group->step_count - 2, dtype_name(DTYPE_INT32));
        write_next(group, text, "Add", to->one_zero);
    }
    write_step(group, text, "Cast");
    text_appendf(text, " r%u {to=%s}", group->step_count - 2, dtype_name(to->dtype));
}

static void write_member(Group *group, TextBuilder *text, const IrBinding *member) {
    write_step(group, text, member->operator_info->name);
    for (uint32_t i = 0; i < member->operand_count; i++) {
        const IrVariable *operand = fusion_operand(member, i);
        double value;
        if (member_index(group, operand) < 0 && is_constant_operand(member, operand) &&
            fusion_scalar(operand, &value))
            write_constant(group, text, value);
        else
            write_value(group, text, operand);
    }
    if (!*member->operator_info->attributes) return;
    text_append(text, " ");
    attributes_print(member->attributes, text);
}

static Error *write_program(Group *group, TextBuilder *text) {
    group->constant_count = 0;
    for (uint32_t m = 0; m < group->count; m++) {
        IrBinding *member = group->members[m];
        Quantized quantized;
        if (!read_quantization(member, &quantized))
            write_member(group, text, member);
        else if (member->operator_info->id == OPERATOR_QUANTIZE_LINEAR)
            write_quantize(group, text, &quantized);
        else
            write_dequantize(group, text, &quantized);
        group->places[m] = group->step_count - 1;
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

/* False for other integers than quantized ones: small ones are shape arithmetic, which runs on the
 * host. */
static bool is_worth_it(const IrBinding *binding) {
    const IrType *type = &binding->results[0]->type;
    if (type->kind != IR_TYPE_TENSOR) return false;
    return dtype_is_float(type->dtype) || binding->operator_info->id == OPERATOR_QUANTIZE_LINEAR;
}

static Error *rule(Fusion *fusion, IrBinding *binding) {
    if (!is_worth_it(binding)) return NULL;
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
