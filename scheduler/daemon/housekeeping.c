#include "scheduler/daemon/housekeeping.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/allocator.h"
#include "base/duration.h"
#include "base/thread.h"
#include "store/database/alive_time.h"
#include "store/upkeep/gc.h"
#include "store/jobs/jobs.h"
#include "store/upkeep/removals.h"
#include "store/accounts/tenants.h"

#define GC_GAP_NS (600 * SECOND_NS)
#define GC_DAY_NS (24 * 3600 * SECOND_NS)

enum {
    EVERY_S = ALIVE_TIME_STEP_S,
    TENANTS_AT_ONCE = 32, /* looked at in one piece of catalog work */
    JOBS_AT_ONCE = 16,    /* deleted in it */
    TEXT_SIZE = 512,
};

struct Housekeeping {
    HousekeepingOptions options;
    uint64_t last_gc_ns;
    uint64_t alive_ns; /* by the monotonic clock: counted in the home up to here */
    double alive_s;    /* the home's time there */
    char said[TEXT_SIZE];
    atomic_bool ending;
    pthread_t thread;
    bool thread_runs;
    bool woken; /* guarded by the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
};

static void count(Housekeeping *housekeeping, MetricId metric, uint64_t value) {
    if (housekeeping->options.metrics)
        metrics_add(housekeeping->options.metrics, metric, 0, (int64_t)value);
}

/* ---- jobs whose time is over ---- */

typedef struct AliveTime {
    double passed_s, total_s;
} AliveTime;

static Error *add_alive_time(Connection *catalog, void *context) {
    AliveTime *time = context;
    return alive_time_add(catalog, time->passed_s, &time->total_s);
}

/* Counts the time since the last turn of this process: at most the time between two turns, even if
 * a clock was wrong or the machine slept. */
static Error *count_alive_time(Housekeeping *housekeeping) {
    const HousekeepingOptions *options = &housekeeping->options;
    uint64_t now_ns = clock_now_ns(options->clock);
    AliveTime time = {.passed_s = (double)(now_ns - housekeeping->alive_ns) / (double)SECOND_NS};
    if (time.passed_s > EVERY_S) time.passed_s = EVERY_S;
    TRY(catalog_run_freeing(options->catalog, add_alive_time, &time));
    housekeeping->alive_ns = now_ns;
    housekeeping->alive_s = time.total_s;
    return NULL;
}

typedef struct Expiry {
    const Tenant *tenants;
    size_t tenant_count, next; /* the tenant that is looked at next */
    double alive_s;
    size_t deleted;
    Error *damage; /* the first that was found */
} Expiry;

static Error *expire_some(Connection *catalog, void *context) {
    Expiry *expiry = context;
    size_t last = expiry->next + TENANTS_AT_ONCE;
    expiry->deleted = 0;
    while (expiry->next < expiry->tenant_count && expiry->next < last) {
        size_t left = JOBS_AT_ONCE - expiry->deleted, count;
        Error *error =
            jobs_expire(catalog, expiry->tenants[expiry->next].id, expiry->alive_s, left, &count);
        if (error && error_code(error) != ERROR_CORRUPT) return error;
        if (error) count = 0; /* one tenant's damage does not keep the others' jobs */
        if (expiry->damage)
            error_free(error); /* the first one is told */
        else
            expiry->damage = error;
        expiry->deleted += count;
        if (count == left) return NULL; /* there may be more of this tenant's */
        expiry->next++;
    }
    return NULL;
}

static Error *expire_jobs(Housekeeping *housekeeping) {
    const HousekeepingOptions *options = &housekeeping->options;
    OWN(TenantList, tenants) = NULL;
    TRY(tenants_list(options->store, &tenants));
    Expiry expiry = {.tenants = tenants->items,
        .tenant_count = tenants->count,
        .alive_s = housekeeping->alive_s};
    size_t total = 0;
    while (expiry.next < expiry.tenant_count && total < HOUSEKEEPING_EXPIRED_MAX &&
           !atomic_load(&housekeeping->ending)) {
        Error *error = catalog_run_freeing(options->catalog, expire_some, &expiry);
        if (error) error_free(expiry.damage); /* the other one is worse */
        TRY(error);
        total += expiry.deleted;
        count(housekeeping, METRIC_JOBS_EXPIRED, expiry.deleted);
    }
    return expiry.damage;
}

/* ---- what nothing refers to ---- */

static bool gc_is_due(const Housekeeping *housekeeping, uint64_t now_ns) {
    uint64_t since_ns = now_ns - housekeeping->last_gc_ns;
    if (since_ns >= GC_DAY_NS) return true;
    return since_ns >= GC_GAP_NS &&
           gc_estimate_bytes(housekeeping->options.store) >= HOUSEKEEPING_GC_BYTES;
}

static Error *sweep(Housekeeping *housekeeping) {
    Clock clock = housekeeping->options.clock;
    uint64_t start_ns = clock_now_ns(clock);
    GcResult result;
    if (!gc_is_due(housekeeping, start_ns)) return NULL;
    housekeeping->last_gc_ns = start_ns; /* also after a failure: not at once again */
    TRY(gc_run_until(housekeeping->options.store, &housekeeping->ending, &result));
    count(housekeeping, METRIC_GC_BYTES, result.bytes);
    if (housekeeping->options.metrics)
        metrics_observe_ns(
            housekeeping->options.metrics, METRIC_GC_SECONDS, clock_now_ns(clock) - start_ns);
    return NULL;
}

static Error *settle(Housekeeping *housekeeping) {
    const HousekeepingOptions *options = &housekeeping->options;
    if (!options->settle) return NULL;
    return options->settle(options->settle_context);
}

Error *housekeeping_turn(Housekeeping *housekeeping) {
    TRY_WRAP(count_alive_time(housekeeping), "the home's time");
    TRY_WRAP(settle(housekeeping), "verifications that nobody waits for");
    TRY_WRAP(expire_jobs(housekeeping), "finished jobs that are to go");
    TRY_WRAP(removals_run(housekeeping->options.store, &housekeeping->ending),
        "what is left of removed jobs");
    TRY_WRAP(sweep(housekeeping), "gc");
    if (housekeeping->options.weights) weight_cache_forget_removed(housekeeping->options.weights);
    return NULL;
}

/* ---- the thread ---- */

void housekeeping_wake(Housekeeping *housekeeping) {
    (void)pthread_mutex_lock(&housekeeping->mutex);
    housekeeping->woken = true;
    (void)pthread_cond_signal(&housekeeping->wake);
    (void)pthread_mutex_unlock(&housekeeping->mutex);
}

static void say(Housekeeping *housekeeping, const Error *error) {
    const HousekeepingOptions *options = &housekeeping->options;
    char text[TEXT_SIZE] = "";
    if (error) (void)snprintf(text, sizeof text, "housekeeping: %s", error_message(error));
    if (text[0] && strcmp(text, housekeeping->said) != 0 && options->warn)
        options->warn(options->context, text);
    memcpy(housekeeping->said, text, sizeof text);
}

/* Returns false when something was removed before the next turn was due. */
static bool wait_for_turn(Housekeeping *housekeeping, const struct timespec *until) {
    bool due = false;
    (void)pthread_mutex_lock(&housekeeping->mutex);
    while (!due && !housekeeping->woken && !atomic_load(&housekeeping->ending))
        due = pthread_cond_timedwait(&housekeeping->wake, &housekeeping->mutex, until) != 0;
    housekeeping->woken = false;
    (void)pthread_mutex_unlock(&housekeeping->mutex);
    return due;
}

static void *thread_main(void *argument) {
    Housekeeping *housekeeping = argument;
    struct timespec until = {0};
    bool due = true;
    while (!atomic_load(&housekeeping->ending)) {
        Error *error = due ? housekeeping_turn(housekeeping)
                           : removals_run(housekeeping->options.store, &housekeeping->ending);
        say(housekeeping, error);
        error_free(error); /* said; the next turn tries again */
        if (due) (void)clock_gettime(CLOCK_MONOTONIC, &until);
        if (due) until.tv_sec += EVERY_S;
        due = wait_for_turn(housekeeping, &until);
    }
    return NULL;
}

/* ---- life ---- */

Error *housekeeping_create(const HousekeepingOptions *options, Housekeeping **out_housekeeping) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Housekeeping), &memory));
    Housekeeping *housekeeping = memory;
    housekeeping->options = *options;
    housekeeping->last_gc_ns = housekeeping->alive_ns = clock_now_ns(options->clock);
    (void)pthread_mutex_init(&housekeeping->mutex, NULL);
    thread_condition_init(&housekeeping->wake);
    *out_housekeeping = housekeeping;
    return NULL;
}

Error *housekeeping_start(Housekeeping *housekeeping) {
    if (!thread_start(&housekeeping->thread, "housekeeping", thread_main, housekeeping))
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    housekeeping->thread_runs = true;
    return NULL;
}

void housekeeping_release(Housekeeping *housekeeping) {
    if (!housekeeping) return;
    (void)pthread_mutex_lock(&housekeeping->mutex);
    atomic_store(&housekeeping->ending, true);
    (void)pthread_cond_signal(&housekeeping->wake);
    (void)pthread_mutex_unlock(&housekeeping->mutex);
    if (housekeeping->thread_runs) (void)pthread_join(housekeeping->thread, NULL);
    (void)pthread_cond_destroy(&housekeeping->wake);
    (void)pthread_mutex_destroy(&housekeeping->mutex);
    memory_free(housekeeping);
}
