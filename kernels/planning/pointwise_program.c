#include "kernels/planning/pointwise_program.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/shape_rules/operator_infer.h"

bool pointwise_program_takes(OperatorId operator_id) {
    static const OperatorId taken[] = {
#define ELEMENTWISE_EACH(id, dtypes) OPERATOR_##id,
#include "kernels/operator/elementwise.def"
    };
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (taken[i] == operator_id) return true;
    return false;
}

void pointwise_program_release(PointwiseProgram *program) {
    if (!program) return;
    for (uint32_t i = 0; i < program->step_count; i++)
        attributes_release(program->steps[i].attributes);
    memory_free(program);
}

static void skip_blanks(const char **at) {
    while (**at == ' ') (*at)++;
}

static Error *read_name(const char **at, PointwiseStep *step) {
    char name[32];
    skip_blanks(at);
    size_t length = strcspn(*at, " ;{");
    if (length == 0 || length >= sizeof name) FAIL(INVALID, "no operator name");
    memcpy(name, *at, length);
    name[length] = 0;
    *at += length;
    step->operator_info = operator_find(name);
    if (!step->operator_info || !pointwise_program_takes(step->operator_info->id))
        FAIL(INVALID, "\"%s\" is not an elementwise operator", name);
    return NULL;
}

/* Reads an operand, such as "i0", "r12" or "c3": a letter, and a number below the letter's
 * limit. */
static Error *read_operand(const char **at, const uint32_t limits[3], PointwiseStep *step) {
    static const char letters[] = "irc";
    const char *letter = strchr(letters, **at);
    size_t digits = letter && **at ? strspn(*at + 1, "0123456789") : 0;
    if (digits == 0 || digits > 6) FAIL(INVALID, "a wrong operand");
    uint32_t index = 0;
    for (size_t i = 1; i <= digits; i++) index = index * 10 + (uint32_t)((*at)[i] - '0');
    PointwiseOperandKind kind = (PointwiseOperandKind)(letter - letters);
    if (index >= limits[kind])
        FAIL(INVALID, "operand %c%u of %u", letters[kind], index, limits[kind]);
    if (step->operand_count == POINTWISE_OPERANDS_MAX)
        FAIL(INVALID, "more than %d operands", POINTWISE_OPERANDS_MAX);
    step->operands[step->operand_count++] = (PointwiseOperand){kind, index};
    *at += digits + 1;
    return NULL;
}

static Error *read_step(const char **at, const uint32_t limits[3], PointwiseStep *step) {
    TRY(read_name(at, step));
    for (skip_blanks(at); **at && **at != ';' && **at != '{'; skip_blanks(at))
        TRY(read_operand(at, limits, step));
    const OperatorInfo *info = step->operator_info;
    if (step->operand_count < info->inputs_min || step->operand_count > info->inputs_max)
        FAIL(INVALID, "%s with %u operands", info->name, step->operand_count);
    if (**at == '{')
        TRY(attributes_parse(at, &step->attributes));
    else
        TRY(attributes_create(&step->attributes));
    TRY(attributes_check(step->attributes, info));
    skip_blanks(at);
    if (**at && **at != ';') FAIL(INVALID, "'%c' behind a step", **at);
    return NULL;
}

Error *pointwise_program_parse(
    const char *text, uint32_t input_count, uint32_t constant_count, PointwiseProgram **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(PointwiseProgram), &block));
    OWN(PointwiseProgram, program) = block;
    for (const char *at = text;;) {
        uint32_t index = program->step_count;
        if (index == POINTWISE_STEPS_MAX) FAIL(INVALID, "more than %d steps", POINTWISE_STEPS_MAX);
        const uint32_t limits[3] = {input_count, index, constant_count};
        /* counted first, so that a step that fails to parse is released, too */
        program->step_count++;
        TRY_WRAP(read_step(&at, limits, &program->steps[index]), "step %u", index);
        if (*at == 0) break;
        at++;
    }
    *out = TAKE(program);
    return NULL;
}

Error *pointwise_program_of(const PlanRequest *request, PointwiseProgram **out) {
    uint32_t constant_count;
    (void)attributes_floats(request->attributes, "constants", &constant_count);
    if (constant_count > POINTWISE_CONSTANTS_MAX)
        FAIL(INVALID, "more than %d constants", POINTWISE_CONSTANTS_MAX);
    return pointwise_program_parse(
        attributes_text(request->attributes, "program"), request->input_count, constant_count, out);
}

static Error *infer_step(const PointwiseStep *step, const TensorSpec *inputs,
    const TensorSpec *steps, PlanRequest *request, TensorSpec *out, DType *out_constants) {
    TensorSpec operands[POINTWISE_OPERANDS_MAX];
    DType dtype = DTYPE_NONE;
    bool has_constant = false;
    assert(step->operand_count <= POINTWISE_OPERANDS_MAX);
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const PointwiseOperand *operand = &step->operands[i];
        has_constant = has_constant || operand->kind == POINTWISE_CONSTANT;
        if (operand->kind == POINTWISE_CONSTANT) continue;
        operands[i] =
            operand->kind == POINTWISE_INPUT ? inputs[operand->index] : steps[operand->index];
        dtype = operands[i].dtype;
    }
    if (dtype == DTYPE_NONE) FAIL(INVALID, "only constants");
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (step->operands[i].kind == POINTWISE_CONSTANT)
            operands[i] = (TensorSpec){.present = true, .dtype = dtype};
    *request = (PlanRequest){.operator_info = step->operator_info,
        .attributes = step->attributes,
        .input_count = step->operand_count,
        .output_count = 1,
        .inputs = operands};
    TRY(operator_infer(request));
    *out = request->outputs[0];
    *out_constants = has_constant ? dtype : DTYPE_NONE;
    return NULL;
}

Error *pointwise_program_infer(const PointwiseProgram *program, const TensorSpec *inputs,
    TensorSpec out_steps[POINTWISE_STEPS_MAX], DType out_constant_dtypes[POINTWISE_STEPS_MAX]) {
    void *block;
    TRY(memory_alloc(1, sizeof(PlanRequest), &block));
    Error *error = NULL;
    for (uint32_t i = 0; i < program->step_count && !error; i++) {
        error = infer_step(
            &program->steps[i], inputs, out_steps, block, &out_steps[i], &out_constant_dtypes[i]);
        if (error) error = error_wrap(error, "step %u", i);
    }
    memory_free(block);
    return error;
}
