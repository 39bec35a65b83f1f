#pragma once
/* The program of a FusedElementwise call: plain elementwise operators in single assignment, the
 * last step being the output. Parsed by the compiler's fusion, the cpu's elementwise kernels and
 * the expansions. Pure: no state.
 *
 *   program   "Mul i0 c0; Erf r0; Where i1 r1 c1; Clip r2 c2 c3; LeakyRelu r3 {alpha=0.5}"
 *             operand iN: input N, rN: step N (an earlier one), cN: element N of `constants`
 *   meaning   exactly that of the steps run one by one, each broadcasting as its operator does; a
 *             constant is a scalar of the element type of the step's last operand that is no
 *             constant */
#include <stdint.h>

#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "kernels/operator/plan.h"

enum { POINTWISE_STEPS_MAX = 64, POINTWISE_OPERANDS_MAX = 3, POINTWISE_CONSTANTS_MAX = 64 };

typedef enum PointwiseOperandKind {
    POINTWISE_INPUT,
    POINTWISE_STEP,
    POINTWISE_CONSTANT,
} PointwiseOperandKind;

typedef struct PointwiseOperand {
    PointwiseOperandKind kind;
    uint32_t index;
} PointwiseOperand;

typedef struct PointwiseStep {
    const OperatorInfo *operator_info;
    Attributes *attributes; /* checked */
    uint32_t operand_count;
    PointwiseOperand operands[POINTWISE_OPERANDS_MAX];
} PointwiseStep;

typedef struct PointwiseProgram {
    uint32_t step_count;
    PointwiseStep steps[POINTWISE_STEPS_MAX];
} PointwiseProgram;

/* Whether the operator may be a step: elementwise, one output, shape from broadcasting alone. */
bool pointwise_program_takes(OperatorId operator_id);
/* Parses a program and checks every step: known operator, arity, operands that exist. Errors:
 * INVALID naming the step. */
MUST_CHECK Error *pointwise_program_parse(
    const char *text, uint32_t input_count, uint32_t constant_count, PointwiseProgram **out);
void pointwise_program_release(PointwiseProgram *program);
DEFINE_OWN(PointwiseProgram, pointwise_program_release);
/* Parses the program of a FusedElementwise request. */
MUST_CHECK Error *pointwise_program_of(const PlanRequest *request, PointwiseProgram **out);
/* Infers shape and element type of each step's result, and of each step's constants in
 * out_constant_dtypes (indexed by step; DTYPE_NONE for a step without constants). */
MUST_CHECK Error *pointwise_program_infer(const PointwiseProgram *program, const TensorSpec *inputs,
    TensorSpec out_steps[POINTWISE_STEPS_MAX], DType out_constant_dtypes[POINTWISE_STEPS_MAX]);
