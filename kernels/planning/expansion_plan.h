#pragma once
/* A plan for a fused operator on a device that has no kernel for it: the plans of its plain
 * operators, run one after the other inside one launch, with the intermediate values in the
 * workspace. Called by the plan functions of the devices (cpu_device.c, sim_plan.c, cuda_plan.c).
 * Threads: as any plan. */
#include "kernels/operator/plan.h"

/* Plans every plain operator with device->class_->plan. Errors: as those of class_->plan, with the
 * operator named. */
MUST_CHECK Error *expansion_plan_create(
    struct Device *device, const PlanRequest *request, Plan **out);
