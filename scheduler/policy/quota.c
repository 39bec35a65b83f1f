#include "scheduler/policy/quota.h"

#include <assert.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/duration.h"
#include "scheduler/policy/account.h"
#include "scheduler/policy/deadline.h"
#include "scheduler/policy/device_index.h"

static bool timer_less(const HeapNode *a, const HeapNode *b) {
    const Tenant *x = HEAP_ITEM_CONST(a, Tenant, timer_node);
    const Tenant *y = HEAP_ITEM_CONST(b, Tenant, timer_node);
    if (x->wake_ns != y->wake_ns) return x->wake_ns < y->wake_ns;
    return x->key.low < y->key.low;
}

/* Subtracts minutes that left the hour from the hour's sum. */
static void advance_hour(const Policy *policy, Tenant *tenant) {
    uint64_t minute = policy->now_ns / MINUTE_NS;
    uint64_t steps = minute - tenant->minute;
    if (steps > QUOTA_MINUTES) steps = QUOTA_MINUTES;
    for (uint64_t i = 1; i <= steps; i++) {
        uint64_t *oldest = &tenant->minutes[(tenant->minute + i) % QUOTA_MINUTES];
        tenant->hour_ns -= *oldest;
        *oldest = 0;
    }
    tenant->minute = minute;
}

static uint64_t hour_limit_ns(const Tenant *tenant) {
    uint64_t limit;
    if (!checked_mul_u64(tenant->limits[POLICY_QUOTA_DEVICE_SECONDS_PER_HOUR], SECOND_NS, &limit))
        return UINT64_MAX;
    return limit;
}

uint64_t quota_slice_ns(Policy *policy, Tenant *tenant) {
    uint64_t limit = hour_limit_ns(tenant), quantum = policy->config.quantum_ns;
    if (limit == UINT64_MAX) return quantum;
    advance_hour(policy, tenant);
    uint64_t used = tenant->hour_ns + tenant->budget_ns;
    uint64_t left = used < limit ? limit - used : 0;
    return left < quantum ? left : quantum;
}

void quota_start_slice(Tenant *tenant, uint64_t budget_ns) { tenant->budget_ns += budget_ns; }

void quota_end_slice(Policy *policy, Tenant *tenant, uint64_t budget_ns, uint64_t device_time_ns) {
    tenant->budget_ns -= budget_ns;
    advance_hour(policy, tenant);
    tenant->minutes[tenant->minute % QUOTA_MINUTES] += device_time_ns;
    tenant->hour_ns += device_time_ns;
}

bool quota_allows_seat(Policy *policy, const Seat *seat) {
    Tenant *tenant = seat->account->tenant;
    if (!seat->open && tenant->used.running_jobs >= tenant->limits[POLICY_QUOTA_RUNNING_JOBS])
        return false;
    return quota_slice_ns(policy, tenant) > 0;
}

/* Sets the time when the hour has moved on so far that some of the quota is free again. */
static void set_wake(Policy *policy, Tenant *tenant) {
    if (tenant->wake_ns || quota_slice_ns(policy, tenant) > 0) return;
    for (uint64_t i = 1; i <= QUOTA_MINUTES && !tenant->wake_ns; i++)
        if (tenant->minutes[(tenant->minute + i) % QUOTA_MINUTES])
            tenant->wake_ns = (tenant->minute + i) * MINUTE_NS;
    /* nothing used and nothing left: running slices have all of it, or the quota is 0 */
    if (tenant->wake_ns) heap_push(&policy->timers, &tenant->timer_node, timer_less);
}

void quota_park(Policy *policy, Seat *seat) {
    Tenant *tenant = seat->account->tenant;
    account_set_aside(seat);
    seat->parked = true;
    seat->next_parked = tenant->parked;
    tenant->parked = seat;
    for (uint32_t i = 0; seat->queue->local && i < seat->job_count; i++)
        account_sleep(policy, seat->account);
    set_wake(policy, tenant);
}

void quota_forget_seat(Seat *seat) {
    Seat **at = &seat->account->tenant->parked;
    while (*at != seat) at = &(*at)->next_parked;
    *at = seat->next_parked;
    seat->parked = false;
}

void quota_unpark(Policy *policy, Tenant *tenant) {
    device_index_free_stuck(policy);
    if (tenant->unparking || !tenant->parked) return;
    tenant->unparking = true;
    tenant->next_unparking = policy->unparking;
    policy->unparking = tenant;
}

Seat *quota_take_parked(Tenant *tenant) {
    Seat *first = tenant->parked;
    tenant->parked = NULL;
    tenant->unparking = false;
    return first;
}

void quota_return_seat(Policy *policy, Seat *seat) {
    seat->parked = false;
    for (uint32_t i = 0; seat->queue->local && i < seat->job_count; i++)
        account_wake(policy, seat->account);
    account_put_back(seat);
}

void quota_advance(Policy *policy) {
    if (policy->stuck_ns && policy->now_ns >= policy->stuck_ns) device_index_free_stuck(policy);
    while (policy->timers.root) {
        Tenant *tenant = HEAP_ITEM(policy->timers.root, Tenant, timer_node);
        if (tenant->wake_ns > policy->now_ns) break;
        heap_remove(&policy->timers, &tenant->timer_node, timer_less);
        tenant->wake_ns = 0;
        quota_unpark(policy, tenant);
    }
}

Error *quota_set_timer(Policy *policy) {
    HeapNode *root = policy->timers.root;
    uint64_t next = root ? HEAP_ITEM(root, Tenant, timer_node)->wake_ns : 0;
    uint64_t deadline = deadline_due_ns(policy);
    if (policy->stuck_ns && (!next || policy->stuck_ns < next)) next = policy->stuck_ns;
    if (deadline && (!next || deadline < next)) next = deadline;
    if (!next || next == policy->timer_ns) return NULL;
    policy->timer_ns = next;
    return policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_SET_TIMER, .ns = next});
}

static Use *find_use(const Policy *policy, const Job *job, const Device *device) {
    return id_map_find(
        &policy->uses, job->model->key.low, device->key.low << 32 | job->account->tenant->key.low);
}

uint64_t quota_device_charge(const Policy *policy, const Job *job, const Device *device) {
    return job->bytes + (find_use(policy, job, device) ? 0 : job->model->bytes);
}

bool quota_has_device_bytes(const Tenant *tenant, uint64_t bytes) {
    uint64_t sum;
    return checked_add_u64(tenant->used.device_bytes, bytes, &sum) &&
           sum <= tenant->limits[POLICY_QUOTA_DEVICE_BYTES];
}

bool quota_lets_move(const Policy *policy, const Job *job, const Device *device) {
    const bool last = find_use(policy, job, job->device)->count == 1;
    const uint64_t freed = job->bytes + (last ? job->model->bytes : 0);
    const uint64_t charge = quota_device_charge(policy, job, device);
    return charge <= freed || quota_has_device_bytes(job->account->tenant, charge - freed);
}

Error *quota_charge_device(Policy *policy, Job *job, Device *device) {
    Tenant *tenant = job->account->tenant;
    Use *use = find_use(policy, job, device);
    if (!use) {
        void *memory;
        TRY(memory_alloc(1, sizeof *use, &memory));
        use = memory;
        *use = (Use){.key = {job->model->key.low, device->key.low << 32 | tenant->key.low},
            .bytes = job->model->bytes};
        Error *error = id_map_add(&policy->uses, &use->key);
        if (error) {
            memory_free(use);
            return error;
        }
        tenant->used.device_bytes += use->bytes;
    }
    use->count++;
    tenant->used.device_bytes += job->bytes;
    return NULL;
}

void quota_uncharge_device(Policy *policy, Job *job, Device *device) {
    Tenant *tenant = job->account->tenant;
    Use *use = find_use(policy, job, device);
    tenant->used.device_bytes -= job->bytes;
    if (--use->count > 0) return;
    tenant->used.device_bytes -= use->bytes;
    id_map_remove(&policy->uses, &use->key);
    memory_free(use);
}

void quota_enter(Job *job) {
    if (job->queued) return;
    job->queued = true;
    job->account->tenant->used.queued_jobs++;
}

void quota_open(Job *job) {
    if (job->open) return;
    job->open = true;
    job->account->tenant->used.running_jobs++;
}

void quota_begin(Job *job) {
    if (!job->queued) return;
    job->queued = false;
    job->account->tenant->used.queued_jobs--;
}

void quota_close(Job *job) {
    if (!job->open) return;
    job->open = false;
    job->account->tenant->used.running_jobs--;
}
