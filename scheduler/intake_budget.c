#include "scheduler/intake_budget.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/allocator.h"
#include "store/tenants.h"

enum { MEMORY_PART = 16, WAIT_MS = 5000 };
static const uint64_t BYTES_MIN = (uint64_t)128 << 20, BYTES_MAX = (uint64_t)1 << 30;
static const uint64_t SHARE_MIN = (uint64_t)32 << 20;

typedef struct Holder {
    TenantId tenant;
    uint64_t bytes;
    struct Holder *next;
} Holder;

struct IntakeBudget {
    pthread_mutex_t mutex;
    pthread_cond_t given_back;
    uint64_t total, used;
    uint32_t wait_ms;
    Holder *holders; /* tenants that hold something: as many as requests at once */
};

static uint64_t part_of_machine(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / MEMORY_PART : 0;
    return bytes < BYTES_MIN ? BYTES_MIN : bytes > BYTES_MAX ? BYTES_MAX : bytes;
}

Error *intake_budget_create(uint64_t bytes, uint32_t wait_ms, IntakeBudget **out_budget) {
    void *memory;
    pthread_condattr_t attributes;
    TRY(memory_alloc(1, sizeof(IntakeBudget), &memory));
    IntakeBudget *budget = memory;
    budget->total = bytes ? bytes : part_of_machine();
    budget->wait_ms = wait_ms ? wait_ms : WAIT_MS;
    (void)pthread_mutex_init(&budget->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&budget->given_back, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    *out_budget = budget;
    return NULL;
}

void intake_budget_release(IntakeBudget *budget) {
    if (!budget) return;
    (void)pthread_cond_destroy(&budget->given_back);
    (void)pthread_mutex_destroy(&budget->mutex);
    memory_free(budget);
}

uint64_t intake_budget_share(const IntakeBudget *budget, int64_t host_bytes) {
    uint64_t share = budget->total / 2;
    if (host_bytes != QUOTA_UNLIMITED && (uint64_t)host_bytes < share) share = (uint64_t)host_bytes;
    uint64_t least = SHARE_MIN < budget->total / 2 ? SHARE_MIN : budget->total / 2;
    return share < least ? least : share;
}

static Holder **find(IntakeBudget *budget, TenantId tenant) {
    Holder **at = &budget->holders;
    while (*at && (*at)->tenant != tenant) at = &(*at)->next;
    return at;
}

static struct timespec deadline_in(uint32_t wait_ms) {
    struct timespec deadline;
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += wait_ms / 1000;
    deadline.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_nsec -= 1000000000;
        deadline.tv_sec++;
    }
    return deadline;
}

/* Under the mutex. */
static Error *wait_for_room(IntakeBudget *budget, TenantId tenant, uint64_t share, uint64_t bytes) {
    const struct timespec deadline = deadline_in(budget->wait_ms);
    for (int status = 0;;) {
        const Holder *holder = *find(budget, tenant);
        uint64_t held = holder ? holder->bytes : 0;
        if (held + bytes <= share && budget->used + bytes <= budget->total) return NULL;
        if (status == ETIMEDOUT)
            FAIL(EXHAUSTED,
                "inputs of other submissions are being taken in, %llu bytes of this tenant's share "
                "of %llu and %llu of %llu of all tenants; try again",
                (unsigned long long)held, (unsigned long long)share,
                (unsigned long long)budget->used, (unsigned long long)budget->total);
        status = pthread_cond_timedwait(&budget->given_back, &budget->mutex, &deadline);
    }
}

static Error *add(IntakeBudget *budget, TenantId tenant, uint64_t bytes) {
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

Error *intake_budget_take(IntakeBudget *budget, TenantId tenant, uint64_t share, uint64_t bytes,
    IntakeCharge *out_charge) {
    if (bytes > share)
        FAIL(EXHAUSTED, "%llu bytes of memory are needed at once, and %llu are allowed",
            (unsigned long long)bytes, (unsigned long long)share);
    if (bytes == 0) return NULL;
    (void)pthread_mutex_lock(&budget->mutex);
    Error *error = wait_for_room(budget, tenant, share, bytes);
    if (!error) error = add(budget, tenant, bytes);
    (void)pthread_mutex_unlock(&budget->mutex);
    if (!error) *out_charge = (IntakeCharge){budget, tenant, bytes};
    return error;
}

void intake_charge_end(IntakeCharge *charge) {
    IntakeBudget *budget = charge->budget;
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
    *charge = (IntakeCharge){0};
}
