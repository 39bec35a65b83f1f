#include "scheduler/node/compile_memory.h"

#include "base/worker_pool.h"
#include "scheduler/node/compile_child.h"

/* A graph takes up to fifty times its file, weights a few times theirs. */
enum { FILE_FACTOR = 64, STACK_BYTES = 16 << 20, MACHINE_PART = 2 };
/* The writable part, for a tenant with a quota: the weights of a file and a graph of some thousands
 * of nodes fit beside any quota, with the stacks of two threads. */
enum { DATA_BYTES = 48 << 20, DATA_FILE_FACTOR = 4 };
static const uint64_t BASE_BYTES = (uint64_t)1 << 30, TOTAL_MIN = (uint64_t)4 << 30;

Error *compile_memory_create(MemoryBudget **out_budget) {
    return memory_budget_create("compiling models",
        memory_budget_part_of_machine(MACHINE_PART, TOTAL_MIN, UINT64_MAX), 0, out_budget);
}

uint64_t compile_memory_data_bytes(uint64_t host_quota, uint64_t model_bytes) {
    const uint64_t most = COMPILE_CHILD_MEMORY_BYTES;
    if (host_quota == UINT64_MAX) return 0;
    if (host_quota > most || model_bytes > most) return most;
    return DATA_BYTES + host_quota + DATA_FILE_FACTOR * model_bytes;
}

Error *compile_memory_take(MemoryBudget *budget, TenantId tenant, uint64_t host_quota,
    uint64_t model_bytes, MemoryCharge *out_charge) {
    uint64_t share = memory_budget_bytes(budget) / 4 * 3;
    uint64_t bytes = BASE_BYTES + (uint64_t)worker_pool_core_count() * STACK_BYTES;
    bytes = model_bytes < (COMPILE_CHILD_MEMORY_BYTES - bytes) / FILE_FACTOR
                ? bytes + FILE_FACTOR * model_bytes
                : COMPILE_CHILD_MEMORY_BYTES;
    if (bytes > share) bytes = share;
    if (host_quota != UINT64_MAX) share = bytes;
    return memory_budget_take(budget, tenant, share, bytes, out_charge);
}
