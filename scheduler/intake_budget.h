#pragma once
/* The memory in which the inputs of submissions are unpacked, over all requests. A submission takes
 * its part before the first byte is unpacked and gives it back when its job is stored, so that many
 * at once hold no more than one tenant's share, and all tenants together no more than the whole.
 *
 * Threads: any. */
#include <stdint.h>

#include "store/store.h"

typedef struct IntakeBudget IntakeBudget;

/* bytes: of all tenants together; 0: a sixteenth of the machine's memory, within bounds.
 * wait_ms: how long a submission waits for others; 0: a few seconds. */
MUST_CHECK Error *intake_budget_create(uint64_t bytes, uint32_t wait_ms, IntakeBudget **out_budget);
void intake_budget_release(IntakeBudget *budget);
DEFINE_OWN(IntakeBudget, intake_budget_release);

/* What a tenant may hold at once: half of everything, and no more than its quota host_bytes, but
 * always as much as small inputs take. host_bytes: QUOTA_UNLIMITED: no quota. */
uint64_t intake_budget_share(const IntakeBudget *budget, int64_t host_bytes);

/* What one submission has taken. */
typedef struct IntakeCharge {
    IntakeBudget *budget;
    TenantId tenant;
    uint64_t bytes;
} IntakeCharge;

/* share: of intake_budget_share; bytes is at most that. Blocks: until others of the tenant, or of
 * all, have given enough back. Errors: EXHAUSTED they have not. */
MUST_CHECK Error *intake_budget_take(IntakeBudget *budget, TenantId tenant, uint64_t share,
    uint64_t bytes, IntakeCharge *out_charge);
/* Does nothing for a zeroed one. */
void intake_charge_end(IntakeCharge *charge);
#define OWN_CHARGE(name) __attribute__((cleanup(intake_charge_end))) name
