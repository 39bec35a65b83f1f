#pragma once
/* A plan for a fused operator on a device that has no kernel for it: the plans of its plain
 * operators, run one after the other inside one launch, with the values between them in the
 * workspace. */
#include "kernels/operator/plan.h"

/* Plans every plain operator with device->class_->plan. Errors: as that, named. */
MUST_CHECK Error *expansion_plan_create(
    struct Device *device, const PlanRequest *request, Plan **out);
