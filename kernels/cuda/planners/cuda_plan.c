#include "kernels/cuda/planners/cuda_plan.h"

#include <assert.h>
#include <string.h>

#include "kernels/cuda/planners/cuda_internal.h"
#include "kernels/operator/kernel_table.h"
#include "kernels/planning/expansion_plan.h"
#include "kernels/planning/host_fallback.h"

#define CUDA_KERNEL(id, name, Parameters)                                                          \
    static_assert(sizeof(Parameters) <= CUDA_PARAMS_BYTES_MAX, #name " is passed by value");
#include "kernels/cuda/runtime/cuda_kernels.def"
#undef CUDA_KERNEL

static const Kernel *const own_tables[] = {
#define KERNEL_TABLE(table) table,
#include "kernels/cuda/planners/cuda_tables.def"
#undef KERNEL_TABLE
    NULL,
};

const Kernel *const *cuda_plan_tables(void) { return own_tables; }

/* No kernel here reads packed operands: CUDA devices have no pack rule. */
static bool is_plain(const PlanRequest *request) {
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].layout != 0) return false;
    return true;
}

Error *cuda_plan(Device *device, Device *host, const Kernel *const *tables,
    const PlanRequest *request, Plan **out) {
    const OperatorInfo *info = request->operator_info;
    Plan *made = NULL;
    if (strcmp(info->in_place, "view") == 0 && request->output_count == 1)
        return plan_create_view(device, request, out);
    if (is_plain(request)) TRY(kernel_rows_plan(device, tables, 0, request, &made));
    if (!made && info->expansion[0]) TRY(expansion_plan_create(device, request, &made));
    if (!made) TRY(host_fallback_plan(device, host, request, &made));
    *out = made;
    return NULL;
}
