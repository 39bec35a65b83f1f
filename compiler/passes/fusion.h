#pragma once
/* Tools of the fusing passes: finding how a value is made, and replacing several operators by one.
 * Threads: one at a time per module.
 *
 * A pattern is recognised at its last binding. Its other bindings must be in the same block and
 * have no other users; the new operator stands at the place of the last one. */
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
/* Calls the rule from the end of each block. */
MUST_CHECK Error *fusion_run_backwards(PassContext *context, FusionRule *rule);

/* Returns operand i after replacements; NULL when absent. */
IrVariable *fusion_operand(const IrBinding *binding, uint32_t index);
/* Returns the operator of that id which makes the variable in the same block; NULL for other
 * makers. */
IrBinding *fusion_maker(const IrBinding *consumer, const IrVariable *variable, OperatorId id);
/* Returns the same maker if the consumer is the only user of the result. */
IrBinding *fusion_sole_maker(
    const Fusion *fusion, const IrBinding *consumer, const IrVariable *variable, OperatorId id);
uint32_t fusion_uses(const Fusion *fusion, const IrVariable *variable);
/* Returns whether fused operators exist for the type: float32, float16, bfloat16. Kernels of the
 * last two compute in float32 and round once, at the end, while plain operators round after each
 * step. The results differ within the type's precision, and are rather closer to exact. */
bool fusion_takes(DType dtype);
/* Reads a constant of one float element. */
bool fusion_scalar(const IrVariable *variable, double *out);
/* Returns whether such a constant is close to the wanted value. */
bool fusion_scalar_is(const IrVariable *variable, double wanted);
/* Reads a constant of one int64 element. */
bool fusion_integer(const IrVariable *variable, int64_t *out);
/* Returns whether both shapes are known to be equal. */
bool fusion_same_shape(const IrType *a, const IrType *b);
/* Returns whether both ranks are known to be equal: constants of one element may have raised one.
 */
bool fusion_same_rank(const IrType *a, const IrType *b);
/* Returns whether `small` is known to broadcast to `large` without making it larger. */
bool fusion_broadcasts(const IrType *small, const IrType *large);
/* Splits a binary operator: *out_made is the operand that `id` makes for this consumer alone,
 * *out_other is the other operand. */
bool fusion_split(const Fusion *fusion, const IrBinding *binary, OperatorId id,
    IrBinding **out_made, IrVariable **out_other);
/* Makes an operator whose one result replaces the binding's first result. */
MUST_CHECK Error *fusion_replace(Fusion *fusion, IrBinding *binding, const char *operator_name,
    Attributes *attributes, uint32_t input_count, IrVariable *const *inputs);
/* Replaces a result by another value; the result's maker stays. */
MUST_CHECK Error *fusion_stand_for(Fusion *fusion, IrVariable *result, IrVariable *variable);
/* Replaces the binding's first result by another value. */
MUST_CHECK Error *fusion_replace_by(Fusion *fusion, IrBinding *binding, IrVariable *variable);
/* Makes an operator in front of the binding, with one use and the given type. */
MUST_CHECK Error *fusion_insert(Fusion *fusion, IrBinding *before, const char *operator_name,
    Attributes *attributes, uint32_t input_count, IrVariable *const *inputs, const IrType *type,
    IrVariable **out);
/* The same with several results. types: one for each. */
MUST_CHECK Error *fusion_insert_results(Fusion *fusion, IrBinding *before,
    const char *operator_name, Attributes *attributes, uint32_t input_count,
    IrVariable *const *inputs, uint32_t result_count, const IrType *types,
    IrVariable ***out_results);
