#pragma once
/* Memory that requests of many tenants take for something, and what of it each may hold: who wants
 * some takes it before and gives it back after, and waits while others have it. The tenant is
 * charged before anything is done for it.
 *
 * Threads: any. */
#include <stdint.h>

#include "store/database/store.h"

typedef struct MemoryBudget MemoryBudget;

/* what: "unpacking inputs", for messages; not copied. bytes: of all tenants together. wait_ms: how
 * long somebody waits for others; 0: a few seconds. */
MUST_CHECK Error *memory_budget_create(
    const char *what, uint64_t bytes, uint32_t wait_ms, MemoryBudget **out_budget);
void memory_budget_release(MemoryBudget *budget);
DEFINE_OWN(MemoryBudget, memory_budget_release);

/* Of all tenants together. */
uint64_t memory_budget_bytes(const MemoryBudget *budget);
/* The machine's memory divided by part, but from min to max. */
uint64_t memory_budget_part_of_machine(uint32_t part, uint64_t min, uint64_t max);

/* What one request has taken. */
typedef struct MemoryCharge {
    MemoryBudget *budget;
    TenantId tenant;
    uint64_t bytes;
} MemoryCharge;

/* share: what the tenant may hold at once; bytes is at most that. Blocks: until others of the
 * tenant, or of all, have given enough back. Errors: EXHAUSTED they have not. */
MUST_CHECK Error *memory_budget_take(MemoryBudget *budget, TenantId tenant, uint64_t share,
    uint64_t bytes, MemoryCharge *out_charge);
/* Does nothing for a zeroed one. */
void memory_charge_end(MemoryCharge *charge);
#define OWN_CHARGE(name) __attribute__((cleanup(memory_charge_end))) name
