#include "scheduler/node/memory_budget.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/thread.h"

enum { WAIT_MS = 5000 };

typedef struct Holder {
    TenantId tenant;
    uint64_t bytes;
    struct Holder *next;
} Holder;

struct MemoryBudget {
    pthread_mutex_t mutex;
    pthread_cond_t given_back;
    const char *what;
    uint64_t total, used;
    uint32_t wait_ms;
    Holder *holders; /* tenants that hold something: as many as requests at once */
};

uint64_t memory_budget_part_of_machine(uint32_t part, uint64_t min, uint64_t max) {
    uint64_t bytes = memory_machine_bytes() / part;
    return bytes < min ? min : bytes > max ? max : bytes;
}

Error *memory_budget_create(
    const char *what, uint64_t bytes, uint32_t wait_ms, MemoryBudget **out_budget) {
    void *memory;
    TRY(memory_alloc(1, sizeof(MemoryBudget), &memory));
    MemoryBudget *budget = memory;
    budget->what = what;
    budget->total = bytes;
    budget->wait_ms = wait_ms ? wait_ms : WAIT_MS;
    (void)pthread_mutex_init(&budget->mutex, NULL);
    thread_condition_init(&budget->given_back);
    *out_budget = budget;
    return NULL;
}

void memory_budget_release(MemoryBudget *budget) {
    if (!budget) return;
    (void)pthread_cond_destroy(&budget->given_back);
    (void)pthread_mutex_destroy(&budget->mutex);
    memory_free(budget);
}

uint64_t memory_budget_bytes(const MemoryBudget *budget) { return budget->total; }

static Holder **find(MemoryBudget *budget, TenantId tenant) {
    Holder **at = &budget->holders;
    while (*at && (*at)->tenant != tenant) at = &(*at)->next;
    return at;
}

/* Under the mutex. */
static Error *wait_for_room(
    MemoryBudget *budget, TenantId tenant, uint64_t share, uint64_t bytes, uint32_t wait_ms) {
    const struct timespec deadline =
        clock_timespec(clock_now_ns(clock_real()) + wait_ms * MILLISECOND_NS);
    for (int status = wait_ms ? 0 : ETIMEDOUT;;) {
        const Holder *holder = *find(budget, tenant);
        uint64_t held = holder ? holder->bytes : 0;
        if (held + bytes <= share && budget->used + bytes <= budget->total) return NULL;
        if (status == ETIMEDOUT)
            FAIL(EXHAUSTED,
                "memory for %s is in use: this tenant has %llu bytes of its share of %llu, all "
                "tenants have %llu of %llu; try again",
                budget->what, (unsigned long long)held, (unsigned long long)share,
                (unsigned long long)budget->used, (unsigned long long)budget->total);
        status = pthread_cond_timedwait(&budget->given_back, &budget->mutex, &deadline);
    }
}

static Error *add(MemoryBudget *budget, TenantId tenant, uint64_t bytes) {
    Holder **at = find(budget, tenant);
    if (!*at) {
        void *memory;
        TRY(memory_alloc(1, sizeof(Holder), &memory));
        *at = memory;
        (*at)->tenant = tenant;
    }
    (*at)->bytes += bytes;
    budget->used += bytes;
    return NULL;
}

static Error *take(MemoryBudget *budget, TenantId tenant, uint64_t share, uint64_t bytes,
    uint32_t wait_ms, MemoryCharge *out_charge) {
    if (bytes > share)
        FAIL(EXHAUSTED, "%llu bytes of memory for %s are needed at once, and %llu are allowed",
            (unsigned long long)bytes, budget->what, (unsigned long long)share);
    if (bytes == 0) return NULL;
    (void)pthread_mutex_lock(&budget->mutex);
    Error *error = wait_for_room(budget, tenant, share, bytes, wait_ms);
    if (!error) error = add(budget, tenant, bytes);
    (void)pthread_mutex_unlock(&budget->mutex);
    if (!error) *out_charge = (MemoryCharge){budget, tenant, bytes};
    return error;
}

Error *memory_budget_take(MemoryBudget *budget, TenantId tenant, uint64_t share, uint64_t bytes,
    MemoryCharge *out_charge) {
    return take(budget, tenant, share, bytes, budget->wait_ms, out_charge);
}

Error *memory_budget_try_take(MemoryBudget *budget, TenantId tenant, uint64_t share, uint64_t bytes,
    MemoryCharge *out_charge) {
    return take(budget, tenant, share, bytes, 0, out_charge);
}

void memory_charge_end(MemoryCharge *charge) {
    MemoryBudget *budget = charge->budget;
    if (!budget) return;
    (void)pthread_mutex_lock(&budget->mutex);
    Holder **at = find(budget, charge->tenant), *holder = *at;
    holder->bytes -= charge->bytes;
    budget->used -= charge->bytes;
    if (holder->bytes == 0) {
        *at = holder->next;
        memory_free(holder);
    }
    (void)pthread_cond_broadcast(&budget->given_back);
    (void)pthread_mutex_unlock(&budget->mutex);
    *charge = (MemoryCharge){0};
}
