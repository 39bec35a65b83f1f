#pragma once
/* The memory budget of the processes that compile uploaded models: all of them together stay within
 * half of the machine's memory, those of one tenant within three quarters of that, so that another
 * tenant's small model always finds room. A process's part is its limit of address space. Called by
 * route_models.c, on handler threads. */
#include "scheduler/node/memory_budget.h"

MUST_CHECK Error *compile_memory_create(MemoryBudget **out_budget);
/* How many bytes a process may write to that compiles a file of model_bytes for a tenant with that
 * quota host_bytes (UINT64_MAX: none); 0: no limit. */
uint64_t compile_memory_data_bytes(uint64_t host_quota, uint64_t model_bytes);
/* out_charge->bytes: the limit of a process that compiles a file of model_bytes. A tenant with a
 * quota host_bytes (UINT64_MAX: none) has one process at a time. Blocks: a few seconds at most.
 * Errors: EXHAUSTED other processes have the memory. */
MUST_CHECK Error *compile_memory_take(MemoryBudget *budget, TenantId tenant, uint64_t host_quota,
    uint64_t model_bytes, MemoryCharge *out_charge);
