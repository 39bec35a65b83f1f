/* Removes operators that change nothing: their input replaces their result. A Sum of two becomes an
 * Add, and a CastLike a Cast. */
#include "compiler/passes/fusion.h"

/* True for an identity of the operand's rank. Another rank fails at run time. */
static bool is_identity_permutation(const IrBinding *binding, const IrType *from) {
    uint32_t count;
    const int64_t *permutation = attributes_ints(binding->attributes, "perm", &count);
    for (uint32_t i = 0; i < count; i++)
        if (permutation[i] != i) return false;
    return permutation && from->kind == IR_TYPE_TENSOR && from->rank_known && from->rank == count;
}

/* CastLike becomes Cast once the second operand's type is known; that operand is then no longer
 * needed. */
static Error *cast_to(Fusion *fusion, IrBinding *binding, DType to) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(
        attributes, "round_mode", attributes_text(binding->attributes, "round_mode")));
    TRY(attributes_set_int(
        attributes, "saturate", attributes_int(binding->attributes, "saturate")));
    TRY(attributes_set_dtype(attributes, "to", to));
    return fusion_replace(fusion, binding, "Cast", attributes, 1, binding->operands);
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
    if (id == OPERATOR_CAST || id == OPERATOR_CAST_LIKE) nothing = same_dtype;
    if (id == OPERATOR_CAST_LIKE && !nothing && to->dtype != DTYPE_NONE)
        return cast_to(fusion, binding, to->dtype);
    if (id == OPERATOR_TRANSPOSE) nothing = is_identity_permutation(binding, from);
    if (id == OPERATOR_RESHAPE || id == OPERATOR_SQUEEZE || id == OPERATOR_UNSQUEEZE ||
        id == OPERATOR_FLATTEN || id == OPERATOR_EXPAND)
        nothing = fusion_same_shape(from, to);
    return nothing ? fusion_replace_by(fusion, binding, input) : NULL;
}

Error *simplify_pass(PassContext *context) { return fusion_run(context, simplify); }
