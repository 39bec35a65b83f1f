#include "compiler/passes/evaluate.h"

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/device/float_environment.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/operator/plan.h"

typedef struct Evaluation {
    PlanRequest request;
    TensorSpec specs[PLAN_INPUTS_MAX];
    const void *values[PLAN_INPUTS_MAX];
    uint64_t input_addresses[PLAN_INPUTS_MAX];
    uint64_t output_addresses[PLAN_OUTPUTS_MAX];
    Shape shapes[PLAN_OUTPUTS_MAX];
    Tensor *outputs[PLAN_OUTPUTS_MAX];
    uint32_t made; /* outputs made so far */
} Evaluation;

/* True for errors that only mean that the value cannot be computed at compile time. */
static bool is_refusal(Error *error) {
    if (!error) return false;
    ErrorCode code = error_code(error);
    return code != ERROR_OUT_OF_MEMORY && code != ERROR_INTERNAL;
}

static bool outputs_fit(const Evaluation *evaluation, uint64_t bytes_max) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < evaluation->request.output_count; i++) {
        uint64_t bytes;
        Error *error =
            shape_bytes(&evaluation->shapes[i], evaluation->request.outputs[i].dtype, &bytes);
        if (error || !checked_add_u64(sum, bytes, &sum) || sum > bytes_max) {
            error_free(error); /* too large to count does not fit either */
            return false;
        }
    }
    return true;
}

static Error *create_workspace(const Plan *plan, Tensor **out) {
    int64_t bytes = (int64_t)plan->workspace_bytes;
    Shape shape = shape_make(1, &bytes);
    return tensor_create_on_host(device_host(), DTYPE_UINT8, &shape, out);
}

static Error *measure(Evaluation *evaluation, const Plan *plan) {
    OWN(Tensor, workspace) = NULL;
    TRY(create_workspace(plan, &workspace));
    Launch call = {.inputs = evaluation->input_addresses,
        .workspace = tensor_address(workspace),
        .threads = 1};
    return plan->measure(plan, &call, evaluation->shapes);
}

static Error *launch(Evaluation *evaluation, const Plan *plan) {
    OWN(Tensor, workspace) = NULL;
    TRY(create_workspace(plan, &workspace));
    for (uint32_t i = 0; i < evaluation->request.output_count; i++) {
        TRY(tensor_create_on_host(device_host(), evaluation->request.outputs[i].dtype,
            &evaluation->shapes[i], &evaluation->outputs[i]));
        evaluation->made++;
        evaluation->output_addresses[i] = tensor_address(evaluation->outputs[i]);
    }
    Launch call = {.inputs = evaluation->input_addresses,
        .outputs = evaluation->output_addresses,
        .workspace = tensor_address(workspace),
        .threads = 1};
    return plan->launch(plan, &call, evaluation->shapes);
}

static Error *run(Evaluation *evaluation, Device *portable, Tensor *const *inputs,
    uint64_t bytes_max, bool *out_done) {
    PlanRequest *request = &evaluation->request;
    TRY(operator_infer(request));
    OWN(Plan, plan) = NULL;
    TRY(portable->class_->plan(portable, request, &plan));
    for (uint32_t i = 0; i < request->output_count; i++)
        evaluation->shapes[i] = plan->outputs[i].shape;
    if (plan->measure) TRY(measure(evaluation, plan));
    if (!outputs_fit(evaluation, bytes_max)) return NULL;
    if (plan->view) {
        if (request->output_count != 1) return NULL;
        TRY(tensor_view(
            inputs[0], request->outputs[0].dtype, &evaluation->shapes[0], &evaluation->outputs[0]));
        evaluation->made = 1;
    } else {
        TRY(launch(evaluation, plan));
    }
    *out_done = true;
    return NULL;
}

Error *evaluate_operator(Device *portable, const OperatorInfo *operator_info,
    const Attributes *attributes, uint32_t input_count, Tensor *const *inputs,
    uint32_t output_count, uint64_t bytes_max, Tensor **out_outputs, bool *out_done) {
    *out_done = false;
    if (operator_info->purity != PURITY_PURE) return NULL;
    if (input_count > PLAN_INPUTS_MAX || output_count > PLAN_OUTPUTS_MAX) return NULL;
    void *block;
    TRY(memory_alloc(1, sizeof(Evaluation), &block));
    Evaluation *evaluation = block;
    evaluation->request = (PlanRequest){.operator_info = operator_info,
        .attributes = attributes,
        .input_count = input_count,
        .output_count = output_count,
        .inputs = evaluation->specs,
        .values = evaluation->values};
    for (uint32_t i = 0; i < input_count; i++) {
        if (!inputs[i]) continue;
        evaluation->specs[i] = tensor_spec(inputs[i]);
        evaluation->input_addresses[i] = tensor_address(inputs[i]);
        if (operator_reads_value(operator_info, i)) evaluation->values[i] = tensor_data(inputs[i]);
    }
    bool done = false;
    FloatEnvironment environment;
    float_environment_enter(&environment);
    Error *error = run(evaluation, portable, inputs, bytes_max, &done);
    float_environment_leave(&environment);
    if (is_refusal(error)) {
        error_free(error); /* the operator is not folded */
        error = NULL;
        done = false;
    }
    for (uint32_t i = 0; i < evaluation->made; i++) {
        if (!error && done)
            out_outputs[i] = evaluation->outputs[i];
        else
            tensor_release(evaluation->outputs[i]);
    }
    memory_free(evaluation);
    if (!error) *out_done = done;
    return error;
}
