/* What stands between dequantizations and quantizations computes with integers: movement moves
 * bytes, convolutions and products become operators of bytes. Constants stay in their bytes: the
 * pass fold_constants leaves their dequantizations to this one, which folds what it does not use.
 *
 * A result differs from the operators' definitions by at most one step of its scale. */
#include "compiler/ir/ir_walk.h"
#include "compiler/passes/integers/integers.h"

/* Values that are dequantized and quantized again with the same numbers are the bytes. */
static Error *join(Fusion *fusion, IrBinding *binding) {
    Quantized to, from;
    if (!quantized_read(binding, OPERATOR_QUANTIZE_LINEAR, &to)) return NULL;
    if (!quantized_of(binding, to.values, &from) || !quantized_is_same(&to, &from)) return NULL;
    return fusion_replace_by(fusion, binding, from.values);
}

static Error *quantize(Fusion *fusion, IrBinding *binding) {
    if (binding->operator_info->id != OPERATOR_QUANTIZE_LINEAR) return NULL;
    return integers_product(fusion, binding);
}

static bool has_quantization(const IrModule *module) {
    for (size_t f = 0; f < module->function_count; f++)
        for (const IrBinding *binding = ir_walk_first(module->functions[f]->body); binding;
             binding = ir_walk_next((IrBinding *)binding))
            if (binding->kind == IR_OPERATOR &&
                binding->operator_info->id == OPERATOR_DEQUANTIZE_LINEAR)
                return true;
    return false;
}

Error *integers_pass(PassContext *context) {
    context->folds_dequantized = true;
    if (!has_quantization(context->module)) return NULL;
    TRY(fusion_run(context, integers_sink));
    TRY(fusion_run_backwards(context, integers_raise));
    TRY(fusion_run(context, join));
    TRY(fusion_run(context, quantize));
    TRY(fusion_run(context, integers_product_to_float));
    TRY(fold_constants_pass(context));
    TRY(merge_common_pass(context));
    return drop_dead_pass(context);
}
