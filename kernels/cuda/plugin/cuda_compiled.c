/* The interpreting kernel's parameters without the steps, which become source. Whether a group is
 * compiled depends on the request alone, and the bits not even on that: both kernels are made of
 * the same functions (kernels/cuda/device/device_step.h) with the same flags. */
#include "kernels/cuda/plugin/cuda_compiled.h"

#include "kernels/cpu/elementwise/cpu_elementwise.h"
#include "kernels/cuda/planners/cuda_pointwise.h"
#include "kernels/cuda/planners/cuda_pointwise_source.h"
#include "kernels/cuda/runtime/cuda_launch_internal.h"
#include "kernels/cuda/runtime/cuda_modules.h"

static const char NAME[] = "cuda.compiled_elementwise";
static const char ENTRY[] = "layover_group";

typedef struct State {
    CUfunction function;
    CudaPointwiseOperands operands; /* the addresses are not set */
} State;

Error *cuda_compiled_open(CudaDevice *device) {
    CudaNvrtc nvrtc;
    if (device->options.interprets) return NULL;
    Error *error = cuda_nvrtc_open(device->sm, device->driver_version, &nvrtc);
    if (error_code(error) == ERROR_UNSUPPORTED) {
        error_free(error); /* then groups are interpreted, as `devices --kernels` shows */
        return NULL;
    }
    TRY(error);
    return cuda_modules_create(&nvrtc, CUDA_MODULES_MAX, &device->modules);
}

static Error *launch_group(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CudaPointwiseOperands operands = state->operands;
    const CudaGrid grid = cuda_grid(cuda_blocks(cuda_pointwise_units(&operands)));
    (void)output_shapes;
    cuda_pointwise_address(launch, &operands);
    return cuda_launch_function(
        cuda_device(plan->device), launch->stream, state->function, NAME, &grid, &operands);
}

static Error *compile(CudaDevice *device, const CudaPointwiseParams *params, CUfunction *out) {
    TextBuilder OWN_TEXT(source) = {0};
    text_append(&source, "#include \"kernels/cuda/device/device_group.h\"\n\n");
    cuda_pointwise_source_write(ENTRY, params, &source);
    TRY(text_builder_check(&source));
    return cuda_modules_get(device, device->modules, ENTRY, text_builder_get(&source), out);
}

/* Declines groups that are too small to gain, and all groups when there is no room for another
 * kernel. */
static Error *plan_group(Device *device, const PlanRequest *request, Plan **out) {
    OWN(CpuPointwise, program) = NULL;
    OWN(Plan, plan) = NULL;
    CudaPointwiseParams params;
    CUfunction function;
    TRY(cpu_elementwise_lower(request, CPU_LEVEL_PORTABLE, &program));
    if (!cuda_pointwise_fill(request, program, &params)) return cuda_decline(out);
    if (params.operands.count < CUDA_COMPILED_WORK_MIN / params.step_count)
        return cuda_decline(out);
    TRY_WRAP(compile(cuda_device(device), &params, &function),
        "%s compiles a fused group (with compile=off it does not)", device->name);
    if (!function) return cuda_decline(out);
    TRY(plan_create(device, request, NAME, sizeof(State), &plan));
    *(State *)plan_state(plan) = (State){function, params.operands};
    plan->launch = launch_group;
    *out = TAKE(plan);
    return NULL;
}

static const Kernel cuda_compiled[] = {
    {OPERATOR_FUSED_ELEMENTWISE, DTYPES_ANY, plan_group, NAME, 0},
    KERNELS_END,
};

const Kernel *const *cuda_compiled_tables(void) {
    static const Kernel *const tables[] = {cuda_compiled, NULL};
    return tables;
}
