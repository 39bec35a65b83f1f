#pragma once
/* A budget of memory that requests of many tenants share, with a share for each tenant: a request
 * takes bytes before it uses them, gives them back afterwards, and waits while other requests have
 * them. So a tenant is charged before any work is done. Called by the HTTP server, by
 * scheduler/jobs/ and by compile_memory.c. Threads: any. */
#include <stdint.h>

#include "store/database/store.h"

typedef struct MemoryBudget MemoryBudget;

/* what: "unpacking inputs", for messages; not copied. bytes: for all tenants together. wait_ms: how
 * long a request waits for others; 0: a few seconds. */
MUST_CHECK Error *memory_budget_create(
    const char *what, uint64_t bytes, uint32_t wait_ms, MemoryBudget **out_budget);
void memory_budget_release(MemoryBudget *budget);
DEFINE_OWN(MemoryBudget, memory_budget_release);

/* The bytes for all tenants together. */
uint64_t memory_budget_bytes(const MemoryBudget *budget);
/* The machine's memory divided by part, but from min to max. */
uint64_t memory_budget_part_of_machine(uint32_t part, uint64_t min, uint64_t max);

/* The bytes that one request has taken. */
typedef struct MemoryCharge {
    MemoryBudget *budget;
    TenantId tenant;
    uint64_t bytes;
} MemoryCharge;

/* Takes bytes. share: upper bound on the tenant's bytes at once; bytes is at most that. Blocks:
 * until requests of the tenant, or of all, have given enough back. Errors: EXHAUSTED not in
 * time. */
MUST_CHECK Error *memory_budget_take(MemoryBudget *budget, TenantId tenant, uint64_t share,
    uint64_t bytes, MemoryCharge *out_charge);
/* The same, but without waiting. */
MUST_CHECK Error *memory_budget_try_take(MemoryBudget *budget, TenantId tenant, uint64_t share,
    uint64_t bytes, MemoryCharge *out_charge);
/* Gives the bytes back. Does nothing for a zeroed charge. */
void memory_charge_end(MemoryCharge *charge);
#define OWN_CHARGE(name) __attribute__((cleanup(memory_charge_end))) name
