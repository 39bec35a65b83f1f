#pragma once
/* Plans of kernels that compute in float32, for float32, float16 and bfloat16 tensors alike: half
 * types are widened into the workspace first and results rounded once at the end. Called by many
 * kernels of the cpu when they plan; launches run on any thread. */
#include "kernels/cpu/core/cpu_internal.h"

enum { CPU_FLOAT_INPUTS_MAX = 12, CPU_FLOAT_OUTPUTS_MAX = 4 };

/* Operands of one launch. Inputs of other element types and packed ones are passed unchanged;
 * absent and zero-size ones are NULL. */
typedef struct CpuFloatCall {
    CpuDevice *device;
    const Launch *launch;
    const float *inputs[CPU_FLOAT_INPUTS_MAX];
    float *outputs[CPU_FLOAT_OUTPUTS_MAX];
    void *workspace; /* the kernel's own */
} CpuFloatCall;

typedef Error *CpuFloatRun(const void *state, const CpuFloatCall *call);

/* out_state: state_size cleared bytes, aligned to 16, which the caller fills. */
MUST_CHECK Error *cpu_float_plan_create(Device *device, const PlanRequest *request,
    const char *kernel_name, size_t state_size, CpuFloatRun *run, Plan **out, void **out_state);
/* The same for kernels that compute integers in float64: those inputs are widened, too; results are
 * truncated and saturate, NaN is 0. */
MUST_CHECK Error *cpu_float_plan_create_number(Device *device, const PlanRequest *request,
    const char *kernel_name, size_t state_size, CpuFloatRun *run, Plan **out, void **out_state);
/* False if float64 is mixed with other float types, which no kernel takes. */
bool cpu_float_plan_takes(const PlanRequest *request);
/* Reserves workspace for the kernel itself. */
void cpu_float_plan_set_workspace(Plan *plan, uint64_t bytes);

/* Element `at` of an operand in the form that a kernel receives: float64, or float32. */
static inline double cpu_float_load(bool wide, const void *from, int64_t at) {
    return wide ? ((const double *)from)[at] : (double)((const float *)from)[at];
}
static inline void cpu_float_store(bool wide, void *to, int64_t at, double value) {
    if (wide)
        ((double *)to)[at] = value;
    else
        ((float *)to)[at] = (float)value;
}
