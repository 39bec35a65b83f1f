#pragma once
/* The plan of an operator that only moves elements by rules known at plan time: Transpose, Expand,
 * Tile, Slice, DepthToSpace, SpaceToDepth, Concat, Split. The plan is a list of strided copies,
 * which each device prepares and runs in its own way. Called by cpu_movement.c and cuda_movement.c
 * when they plan; the plan is launched on any thread. */
#include "kernels/arguments/strided_copy.h"

/* How a device copies. */
typedef struct CopyPlanDevice {
    size_t size; /* bytes of a prepared copy, which owns nothing */
    /* Prepares a copy of elements of element_size bytes. out_prepared: `size` cleared bytes,
     * aligned to 16. */
    void (*prepare)(const StridedCopy *copy, uint32_t element_size, void *out_prepared);
    /* Queues a prepared copy. to, from: the addresses of the two operands. */
    Error *(*run)(
        const Plan *plan, const Launch *launch, const void *prepared, uint64_t to, uint64_t from);
} CopyPlanDevice;

/* Plans an inferred request of such an operator.
 *
 * kernel_name:  static.
 * copies:       outlives the plan.
 * Errors:       INVALID arguments that do not fit the shapes. */
MUST_CHECK Error *copy_plan_create(struct Device *device, const PlanRequest *request,
    const char *kernel_name, const CopyPlanDevice *copies, Plan **out);
