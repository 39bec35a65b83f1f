#pragma once
/* Plans shared by all executions of one executable on one device, found by (primitive, input specs,
 * values).
 *
 * Threads: any. Plans are made outside the lock; when two threads make the same one, one is
 * dropped. */
#include "kernels/operator/plan.h"

typedef struct PlanTable PlanTable;

MUST_CHECK Error *plan_table_create(struct Device *device, PlanTable **out);
void plan_table_release(PlanTable *table);
DEFINE_OWN(PlanTable, plan_table_release);
/* primitive: index in the executable's primitives. Infers outputs (operator_infer), then asks the
 * device on a miss. *out receives a reference. Bounded: beyond PLAN_TABLE_COUNT_MAX the least
 * recently made plans are dropped. */
enum { PLAN_TABLE_COUNT_MAX = 65536 };
MUST_CHECK Error *plan_table_get(
    PlanTable *table, uint32_t primitive, PlanRequest *request, Plan **out);
