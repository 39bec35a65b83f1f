#pragma once
/* What the fusing passes share: looking at how a value is made, and putting one operator in the
 * place of several.
 *
 * A pattern is recognised at its last binding. What it takes in must be in the same block and used
 * by nothing else; the new operator stands where the last one stood. */
#include "compiler/ir/ir_build.h"
#include "compiler/passes/pass.h"

typedef struct Fusion {
    PassContext *context;
    IrModule *module;
    uint32_t *uses; /* by variable id */
    size_t use_capacity;
} Fusion;

/* Looks at one operator binding; may replace it (fusion_replace). */
typedef Error *FusionRule(Fusion *fusion, IrBinding *binding);
/* Calls the rule for every operator in program order, then cleans up. */
MUST_CHECK Error *fusion_run(PassContext *context, FusionRule *rule);
/* The same, from the end of each block. */
MUST_CHECK Error *fusion_run_backwards(PassContext *context, FusionRule *rule);

/* Operand i as it stands now; NULL where absent. */
IrVariable *fusion_operand(const IrBinding *binding, uint32_t index);
/* The operator of that id which makes the variable in the same block; NULL when something else
 * does. */
IrBinding *fusion_maker(const IrBinding *consumer, const IrVariable *variable, OperatorId id);
/* The same, and nobody but the consumer uses the result. */
IrBinding *fusion_sole_maker(
    const Fusion *fusion, const IrBinding *consumer, const IrVariable *variable, OperatorId id);
uint32_t fusion_uses(const Fusion *fusion, const IrVariable *variable);
/* The element types that fused operators are made of: float32, float16, bfloat16. Kernels of the
 * last two compute in float32 and round once, at the end, where the plain operators round after
 * each step: the result is another one within the type's precision, and rather closer to exact. */
bool fusion_takes(DType dtype);
/* The value of a constant of one element that is a float. */
bool fusion_scalar(const IrVariable *variable, double *out);
/* The same, and close to what is wanted. */
bool fusion_scalar_is(const IrVariable *variable, double wanted);
/* The one element, int64, of a constant. */
bool fusion_integer(const IrVariable *variable, int64_t *out);
/* Both shapes are known to be the same. */
bool fusion_same_shape(const IrType *a, const IrType *b);
/* Both ranks are known to be the same: constants of one element may have raised one of them. */
bool fusion_same_rank(const IrType *a, const IrType *b);
/* `small` is known to broadcast to `large` without making it larger. */
bool fusion_broadcasts(const IrType *small, const IrType *large);
/* For a binary operator: *out_made gets the operand that `id` makes for this consumer alone,
 * *out_other the other one. */
bool fusion_split(const Fusion *fusion, const IrBinding *binary, OperatorId id,
    IrBinding **out_made, IrVariable **out_other);
/* The operator whose one result stands for the binding's first result from now on. */
MUST_CHECK Error *fusion_replace(Fusion *fusion, IrBinding *binding, const char *operator_name,
    Attributes *attributes, uint32_t input_count, IrVariable *const *inputs);
/* Another value stands for the result from now on; what makes the result stays. */
MUST_CHECK Error *fusion_stand_for(Fusion *fusion, IrVariable *result, IrVariable *variable);
/* Another value stands for the binding's first result. */
MUST_CHECK Error *fusion_replace_by(Fusion *fusion, IrBinding *binding, IrVariable *variable);
/* An operator in front of the binding, with one use and the type given. */
MUST_CHECK Error *fusion_insert(Fusion *fusion, IrBinding *before, const char *operator_name,
    Attributes *attributes, uint32_t input_count, IrVariable *const *inputs, const IrType *type,
    IrVariable **out);
