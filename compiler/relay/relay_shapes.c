/* The shape rules of the operators, over bindings with known shapes. */
#include "base/allocator.h"
#include "compiler/relay/relay_build_internal.h"
#include "kernels/operator/plan.h"
#include "kernels/shape_rules/operator_infer.h"

typedef struct Specs {
    PlanRequest request;
    TensorSpec inputs[PLAN_INPUTS_MAX];
    const void *values[PLAN_INPUTS_MAX];
} Specs;

/* Fills the inputs. False: something is not known. */
static bool fill(const IrBinding *binding, Specs *specs) {
    if (binding->operand_count > PLAN_INPUTS_MAX || binding->result_count > PLAN_OUTPUTS_MAX)
        return false;
    specs->request = (PlanRequest){.operator_info = binding->operator_info,
        .attributes = binding->attributes,
        .input_count = binding->operand_count,
        .output_count = binding->result_count,
        .inputs = specs->inputs,
        .values = specs->values};
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const IrVariable *operand = binding->operands[i];
        specs->inputs[i] = (TensorSpec){0};
        specs->values[i] = NULL;
        if (!operand) continue;
        if (operand->type.kind != IR_TYPE_TENSOR || operand->type.dtype == DTYPE_NONE ||
            !ir_type_is_static(&operand->type))
            return false;
        specs->inputs[i].present = true;
        specs->inputs[i].dtype = operand->type.dtype;
        specs->inputs[i].shape = shape_make(operand->type.rank, operand->type.dims);
        if (!operator_reads_value(binding->operator_info, i)) continue;
        Tensor *constant = ir_variable_tensor(operand);
        if (!constant) return false;
        specs->values[i] = tensor_data(constant);
    }
    return true;
}

static void give(IrBinding *binding, const PlanRequest *request) {
    for (uint32_t i = 0; i < binding->result_count; i++) {
        const TensorSpec *output = &request->outputs[i];
        binding->results[i]->type =
            ir_type_shaped(output->dtype, output->shape.rank, output->shape.dims);
        for (uint32_t d = 0; d < output->shape.rank; d++)
            if (output->shape.dims[d] < 0) binding->results[i]->type.dims[d] = IR_DIM_UNKNOWN;
    }
}

Error *relay_shapes_infer_from(IrBinding *first, bool *out_known) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Specs), &memory));
    Specs *specs = memory;
    Error *error = NULL;
    *out_known = true;
    for (IrBinding *binding = first; !error && binding; binding = binding->next) {
        if (binding->kind == IR_SHAPE_OF) continue;
        if (binding->kind != IR_OPERATOR || !fill(binding, specs)) {
            *out_known = false;
            continue;
        }
        error = operator_infer(&specs->request);
        if (error && error_code(error) != ERROR_OUT_OF_MEMORY)
            error = error_recode(error, ERROR_FAILED);
        if (!error) give(binding, &specs->request);
    }
    memory_free(specs);
    return error;
}

Error *relay_shapes_infer(IrBlock *block, bool *out_known) {
    return relay_shapes_infer_from(block->first, out_known);
}
