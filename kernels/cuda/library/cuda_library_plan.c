#include "kernels/cuda/library/cuda_library_plan.h"

#include <string.h>

#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/runtime/cuda_stream.h"
#include "kernels/cuda/runtime/cuda_transfer.h"

/* ---- launch ---- */

static Error *align_inputs(const CudaLibraryState *state, const Launch *launch,
    CudaOperands *operands, CudaLibraryAddresses *out) {
    for (uint32_t i = 0; i < CUDA_LIBRARY_INPUTS_MAX; i++)
        if (state->reads >> i & 1)
            TRY(cuda_operands_align(
                operands, launch->inputs[i], state->input_bytes[i], &out->inputs[i]));
    return NULL;
}

static Error *run(const Plan *plan, const Launch *launch, CudaOperands *operands) {
    const CudaLibraryState *state = plan_state(plan);
    CudaDevice *device = cuda_device(plan->device);
    const uint64_t to = launch->outputs[0];
    CudaLibraryAddresses at = {.to = to};
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    TRY(align_inputs(state, launch, operands, &at));
    if (!cuda_operands_fit(to)) TRY(cuda_operands_stand_in(operands, state->to_bytes, &at.to));
    TRY(state->kind->run(plan, launch, &at));
    if (at.to != to)
        TRY(cuda_transfer_inside(plan->device, launch->stream, to, at.to, state->to_bytes));
    if (state->kind->finish) TRY(state->kind->finish(plan, launch));
    return cuda_stream_settle(device, launch->stream);
}

static Error *launch_library(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaOperands operands = {.device = plan->device, .stream = launch->stream};
    (void)output_shapes;
    Error *error = run(plan, launch, &operands);
    cuda_operands_free(&operands);
    return error;
}

/* ---- plan ---- */

static void destroy(Plan *plan) {
    CudaLibraryState *state = plan_state(plan);
    state->kind->deinit(cuda_device(plan->device), state);
    plan_free(plan);
}

static Error *measure(const PlanRequest *request, CudaLibraryState *state) {
    const TensorSpec *to = &request->outputs[0];
    for (uint32_t i = 0; i < CUDA_LIBRARY_INPUTS_MAX; i++) {
        if (!plan_request_has(request, i)) continue;
        const TensorSpec *input = &request->inputs[i];
        TRY(shape_bytes(&input->shape, input->dtype, &state->input_bytes[i]));
    }
    return shape_bytes(&to->shape, to->dtype, &state->to_bytes);
}

Error *cuda_library_plan_create(Device *device, const PlanRequest *request, void *state,
    size_t state_size, uint64_t workspace_bytes, Plan **out) {
    CudaLibraryState *head = state;
    Error *error = measure(request, head);
    if (!error) error = plan_create(device, request, head->kind->kernel_name, state_size, out);
    if (error) {
        head->kind->deinit(cuda_device(device), state);
        return error;
    }
    memcpy(plan_state(*out), state, state_size);
    (*out)->workspace_bytes = workspace_bytes;
    (*out)->launch = launch_library;
    (*out)->destroy = destroy;
    return NULL;
}
