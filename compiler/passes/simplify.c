/* Operators that change nothing: their input stands for their result. A Sum of two is an Add. */
#include "compiler/passes/fusion.h"

static bool is_identity_permutation(const IrBinding *binding) {
    uint32_t count;
    const int64_t *permutation = attributes_ints(binding->attributes, "perm", &count);
    for (uint32_t i = 0; i < count; i++)
        if (permutation[i] != i) return false;
    return permutation != NULL;
}

static Error *simplify(Fusion *fusion, IrBinding *binding) {
    IrVariable *input = fusion_operand(binding, 0);
    if (!input || binding->result_count != 1) return NULL;
    const IrType *from = &input->type, *to = &binding->results[0]->type;
    OperatorId id = binding->operator_info->id;
    if (id == OPERATOR_SUM && binding->operand_count == 2)
        return fusion_replace(fusion, binding, "Add", NULL, 2, binding->operands);
    bool same_dtype =
        from->kind == IR_TYPE_TENSOR && from->dtype != DTYPE_NONE && from->dtype == to->dtype;
    bool nothing = id == OPERATOR_IDENTITY || id == OPERATOR_DROPOUT ||
                   (id == OPERATOR_SUM && binding->operand_count == 1);
    if (id == OPERATOR_CAST) nothing = same_dtype;
    if (id == OPERATOR_TRANSPOSE) nothing = is_identity_permutation(binding);
    if (id == OPERATOR_RESHAPE || id == OPERATOR_SQUEEZE || id == OPERATOR_UNSQUEEZE ||
        id == OPERATOR_FLATTEN || id == OPERATOR_EXPAND)
        nothing = fusion_same_shape(from, to);
    return nothing ? fusion_replace_by(fusion, binding, input) : NULL;
}

Error *simplify_pass(PassContext *context) { return fusion_run(context, simplify); }
