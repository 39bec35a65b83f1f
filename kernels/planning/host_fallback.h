#pragma once
/* A plan for an operator that a device has no kernel for: the host's kernel, with the operands
 * copied to the host and back inside the launch. Programs cannot tell the difference, but each
 * launch moves every byte twice. Called by the plan functions of sim and cuda.
 *
 * Threads: as any plan. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"

/* host: a device with host memory and kernels; borrowed, must outlive the plan. Errors: as
 * host->class_->plan; UNSUPPORTED for packed operands. */
MUST_CHECK Error *host_fallback_plan(
    Device *device, Device *host, const PlanRequest *request, Plan **out);
