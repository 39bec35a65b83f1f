/* Compares the declared types of the program's outputs with the inferred ones. A contradicting
 * element type is refused, since a reader of the output would misread its bytes. A contradicting
 * shape is corrected with a warning, as onnxruntime does: many exporters write stale shapes. */
#include "compiler/ir/ir_print.h"
#include "compiler/passes/pass.h"

static bool shape_contradicts(const IrType *declared, const IrType *made) {
    if (!declared->rank_known || !made->rank_known) return false;
    if (declared->rank != made->rank) return true;
    for (uint32_t i = 0; i < made->rank; i++)
        if (declared->dims[i] >= 0 && made->dims[i] >= 0 && declared->dims[i] != made->dims[i])
            return true;
    return false;
}

static Error *check_result(
    IrModule *module, const char *name, const IrType *declared, const IrVariable *result) {
    const IrType *made = &result->type;
    if (declared->kind != IR_TYPE_TENSOR || made->kind != IR_TYPE_TENSOR) return NULL;
    if (declared->dtype != DTYPE_NONE && made->dtype != DTYPE_NONE &&
        declared->dtype != made->dtype)
        FAIL(INVALID, "output %s is declared as %s, but the graph makes %s", name,
            dtype_name(declared->dtype), dtype_name(made->dtype));
    if (!shape_contradicts(declared, made)) return NULL;
    TextBuilder OWN_TEXT(wanted) = {0};
    TextBuilder OWN_TEXT(found) = {0};
    ir_print_type(module, declared, &wanted);
    ir_print_type(module, made, &found);
    TRY(text_builder_check(&wanted));
    TRY(text_builder_check(&found));
    return ir_module_warn(module, "output %s is declared as %s; the graph makes %s, which counts",
        name, text_builder_get(&wanted), text_builder_get(&found));
}

Error *declared_results_pass(PassContext *context) {
    IrModule *module = context->module;
    for (size_t f = 0; f < module->function_count; f++) {
        const IrFunction *function = module->functions[f];
        if (!function->exported || !function->result_types) continue;
        for (uint32_t i = 0; i < function->body->result_count; i++) {
            const char *name = function->result_names ? function->result_names[i] : NULL;
            TRY(check_result(
                module, name ? name : "", &function->result_types[i], function->body->results[i]));
        }
    }
    return NULL;
}
