#pragma once
/* The plans of one executable on one device, found by (primitive, input specs, values) and shared
 * by all executions. Owned by a residency; called by inline_cache.c.
 *
 * Threads: any. Plans are made outside the lock; when two threads make the same plan, one is
 * dropped. */
#include "kernels/operator/plan.h"

typedef struct PlanTable PlanTable;

MUST_CHECK Error *plan_table_create(struct Device *device, PlanTable **out);
void plan_table_release(PlanTable *table);
DEFINE_OWN(PlanTable, plan_table_release);
/* Finds a plan, or infers the outputs (operator_infer) and asks the device for one. primitive:
 * index in the executable's primitives. *out receives a reference. Bounded: beyond
 * PLAN_TABLE_COUNT_MAX the oldest plans are dropped. */
enum { PLAN_TABLE_COUNT_MAX = 65536 };
MUST_CHECK Error *plan_table_get(
    PlanTable *table, uint32_t primitive, PlanRequest *request, Plan **out);
