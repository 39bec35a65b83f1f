#include "scheduler/policy/account.h"

#include <assert.h>

#include "scheduler/policy/deadline.h"

/* How far behind the least of the others an account may fall because it has no job to hand out (all
 * its jobs run or move), in slices, one more for each device. Two accounts that wait all the time
 * are never more than one slice a device apart, so this limit does not affect them. */
enum { LAG_SLICES = 8 };

/* Upper bound on the debt to an account's jobs without a deadline, in slices: more would make those
 * with one wait all too long. */
enum { PLAIN_SLICES = 4 };

VirtualTime account_virtual_time(uint64_t device_time_ns, uint64_t weight) {
    return (VirtualTime)device_time_ns * VIRTUAL_TIME_UNIT / weight;
}

static bool seat_less(const HeapNode *a, const HeapNode *b) {
    const Seat *x = HEAP_ITEM_CONST(a, Seat, node), *y = HEAP_ITEM_CONST(b, Seat, node);
    if (x->time != y->time) return x->time < y->time;
    uint64_t tenant = x->account->tenant->key.low, other = y->account->tenant->key.low;
    if (tenant != other) return tenant < other;
    if (x->open != y->open) return x->open;
    return x->queue->index < y->queue->index;
}

static bool awake_less(const HeapNode *a, const HeapNode *b) {
    const Account *x = HEAP_ITEM_CONST(a, Account, awake_node);
    const Account *y = HEAP_ITEM_CONST(b, Account, awake_node);
    VirtualTime a_start = x->time - x->charged, b_start = y->time - y->charged;
    if (a_start != b_start) return a_start < b_start;
    return x->tenant->key.low < y->tenant->key.low;
}

static void queue_seat(Seat *seat) {
    assert(!seat->queued);
    seat->time = seat->account->time;
    seat->queued = true;
    seat->queue->job_count += seat->job_count;
    heap_push(&seat->queue->seats[seat->account->class_], &seat->node, seat_less);
}

void account_set_aside(Seat *seat) {
    assert(seat->queued);
    heap_remove(&seat->queue->seats[seat->account->class_], &seat->node, seat_less);
    seat->queued = false;
    seat->queue->job_count -= seat->job_count;
}

void account_put_back(Seat *seat) {
    if (seat->job_count && !seat->queued && !seat->parked) queue_seat(seat);
}

void account_requeue(Seat *seat) {
    account_set_aside(seat);
    queue_seat(seat);
}

/* Sets the account's virtual time and moves its seats in the pool, which are few and which all
 * devices see. */
static void set_time(Account *account, VirtualTime time) {
    account->time = time;
    for (Seat *seat = account->pool_seats; seat; seat = seat->next_pool)
        if (seat->queued && seat->time > time) account_requeue(seat);
}

static void leave_awake(Policy *policy, Account *account) {
    if (account->awake_jobs)
        heap_remove(&policy->awake[account->class_], &account->awake_node, awake_less);
}

static void join_awake(Policy *policy, Account *account) {
    if (account->awake_jobs)
        heap_push(&policy->awake[account->class_], &account->awake_node, awake_less);
}

/* The least start tag of the accounts that are awake; this one has left them. False: there is none.
 */
static bool least_start(const Policy *policy, const Account *account, VirtualTime *out) {
    const HeapNode *root = policy->awake[account->class_].root;
    if (!root) return false;
    const Account *least = HEAP_ITEM_CONST(root, Account, awake_node);
    *out = least->time - least->charged;
    return true;
}

void account_wake(Policy *policy, Account *account) {
    if (!account->awake_jobs) {
        VirtualTime least;
        /* after a pause of all accounts none is ahead: the greatest finish tag, as in SFQ */
        if (!least_start(policy, account, &least)) least = policy->greatest[account->class_];
        if (least > account->time) account->time = least;
        heap_push(&policy->awake[account->class_], &account->awake_node, awake_less);
    }
    account->awake_jobs++;
}

void account_sleep(Policy *policy, Account *account) {
    assert(account->awake_jobs);
    if (account->awake_jobs == 1)
        heap_remove(&policy->awake[account->class_], &account->awake_node, awake_less);
    account->awake_jobs--;
}

void account_hold(Policy *policy, Job *job) {
    if (!job->awake) account_wake(policy, job->account);
    job->awake = true;
}

void account_drop(Policy *policy, Job *job) {
    if (job->awake) account_sleep(policy, job->account);
    job->awake = false;
}

/* Limits the credit of an account with no job to hand out to LAG_SLICES. The account has left the
 * awake ones. */
static void limit_lag(Policy *policy, Account *account) {
    VirtualTime least, lag, start = account->time - account->charged;
    if (!least_start(policy, account, &least)) return;
    lag = account_virtual_time(policy->longest_ns, policy->least_weight) *
          (LAG_SLICES + policy->devices.count);
    if (least > start + lag) set_time(account, account->time + (least - start - lag));
}

void account_charge(Job *job, uint64_t budget_ns) {
    Account *account = job->account;
    if (account->job_time < job->time) account->job_time = job->time;
    job->budget_ns = budget_ns;
    job->charged = account_virtual_time(budget_ns, account->tenant->weight);
    account->charged += job->charged;
    set_time(account, account->time + job->charged);
}

/* Jobs without a deadline earn their part of the time of those with one while they wait, and are
 * paid in whole slices. */
static void count_plain(const Policy *policy, const Job *job, uint64_t device_time_ns) {
    Account *account = job->account;
    int64_t slice = (int64_t)policy->config.quantum_ns, time = (int64_t)device_time_ns;
    if (job->deadline_ns == UINT64_MAX)
        account->plain_ns -= time / 1000 * (1000 - DEADLINE_PLAIN_PERMILLE);
    else if (account->plain_jobs)
        account->plain_ns += time / 1000 * DEADLINE_PLAIN_PERMILLE;
    else
        account->plain_ns = 0;
    if (account->plain_ns > PLAIN_SLICES * slice) account->plain_ns = PLAIN_SLICES * slice;
    if (account->plain_ns < 0) account->plain_ns = 0;
    account->plain_due = account->plain_ns >= slice;
}

void account_settle(Policy *policy, Job *job, uint64_t device_time_ns) {
    Account *account = job->account;
    VirtualTime *greatest = &policy->greatest[account->class_];
    leave_awake(policy, account);
    account->charged -= job->charged;
    set_time(account, account->time - job->charged +
                          account_virtual_time(device_time_ns, account->tenant->weight));
    if (device_time_ns > policy->longest_ns) policy->longest_ns = device_time_ns;
    limit_lag(policy, account);
    join_awake(policy, account);
    if (account->time - account->charged > *greatest) *greatest = account->time - account->charged;
    job->time += account_virtual_time(device_time_ns, job->weight);
    count_plain(policy, job, device_time_ns);
    deadline_serve(job, device_time_ns);
    job->charged = job->budget_ns = 0;
    /* returned time counts here at once */
    if (job->seat->queued && job->seat->time > account->time) account_requeue(job->seat);
}

void account_begin_job(Job *job) { job->time = job->account->job_time; }
