#include "scheduler/policy/fair_share.h"

#include <assert.h>

#include "base/allocator.h"
#include "scheduler/policy/deadline.h"
#include "scheduler/policy/quota.h"

/* How far behind the least of the others an account may fall because it has no job to hand out (all
 * its jobs run or move), in slices, one more for each device. Two accounts that wait all the time
 * are never more than one slice a device apart, so this limit does not affect them. */
enum { LAG_SLICES = 8 };

/* Upper bound on the debt to an account's jobs without a deadline, in slices: more would make those
 * with one wait all too long. */
enum { PLAIN_SLICES = 4 };

static VirtualTime virtual_time(uint64_t device_time_ns, uint64_t weight) {
    return (VirtualTime)device_time_ns * VIRTUAL_TIME_UNIT / weight;
}

static bool job_less(const HeapNode *a, const HeapNode *b) {
    const Job *x = HEAP_ITEM_CONST(a, Job, node), *y = HEAP_ITEM_CONST(b, Job, node);
    if (x->deadline_ns != y->deadline_ns) return x->deadline_ns < y->deadline_ns;
    if (x->time != y->time) return x->time < y->time;
    return x->key.low < y->key.low;
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

void fair_share_set_aside(Seat *seat) {
    assert(seat->queued);
    heap_remove(&seat->queue->seats[seat->account->class_], &seat->node, seat_less);
    seat->queued = false;
    seat->queue->job_count -= seat->job_count;
}

void fair_share_put_back(Seat *seat) {
    if (seat->job_count && !seat->queued && !seat->parked) queue_seat(seat);
}

/* Sets the account's virtual time and moves its seats in the pool, which are few and which all
 * devices see. */
static void set_time(Account *account, VirtualTime time) {
    account->time = time;
    for (Seat *seat = account->pool_seats; seat; seat = seat->next_pool)
        if (seat->queued && seat->time > time) {
            fair_share_set_aside(seat);
            queue_seat(seat);
        }
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

void fair_share_wake(Policy *policy, Account *account) {
    if (!account->awake_jobs) {
        VirtualTime least;
        /* after a pause of all accounts none is ahead: the greatest finish tag, as in SFQ */
        if (!least_start(policy, account, &least)) least = policy->greatest[account->class_];
        if (least > account->time) account->time = least;
        heap_push(&policy->awake[account->class_], &account->awake_node, awake_less);
    }
    account->awake_jobs++;
}

void fair_share_sleep(Policy *policy, Account *account) {
    assert(account->awake_jobs);
    if (account->awake_jobs == 1)
        heap_remove(&policy->awake[account->class_], &account->awake_node, awake_less);
    account->awake_jobs--;
}

void fair_share_hold(Policy *policy, Job *job) {
    if (!job->awake) fair_share_wake(policy, job->account);
    job->awake = true;
}

void fair_share_drop(Policy *policy, Job *job) {
    if (job->awake) fair_share_sleep(policy, job->account);
    job->awake = false;
}

/* Limits the credit of an account with no job to hand out to LAG_SLICES. The account has left the
 * awake ones. */
static void limit_lag(Policy *policy, Account *account) {
    VirtualTime least, lag, start = account->time - account->charged;
    if (!least_start(policy, account, &least)) return;
    lag = virtual_time(policy->longest_ns, policy->least_weight) *
          (LAG_SLICES + policy->devices.count);
    if (least > start + lag) set_time(account, account->time + (least - start - lag));
}

void fair_share_charge(Job *job, uint64_t budget_ns) {
    Account *account = job->account;
    if (account->job_time < job->time) account->job_time = job->time;
    job->budget_ns = budget_ns;
    job->charged = virtual_time(budget_ns, account->tenant->weight);
    account->charged += job->charged;
    set_time(account, account->time + job->charged);
}

/* Jobs without a deadline earn their part of the time of those with one while they wait, and are
 * paid in whole slices. */
static void account_plain(const Policy *policy, const Job *job, uint64_t device_time_ns) {
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

void fair_share_settle(Policy *policy, Job *job, uint64_t device_time_ns) {
    Account *account = job->account;
    VirtualTime *greatest = &policy->greatest[account->class_];
    leave_awake(policy, account);
    account->charged -= job->charged;
    set_time(account,
        account->time - job->charged + virtual_time(device_time_ns, account->tenant->weight));
    if (device_time_ns > policy->longest_ns) policy->longest_ns = device_time_ns;
    limit_lag(policy, account);
    join_awake(policy, account);
    if (account->time - account->charged > *greatest) *greatest = account->time - account->charged;
    job->time += virtual_time(device_time_ns, job->weight);
    account_plain(policy, job, device_time_ns);
    deadline_serve(job, device_time_ns);
    job->charged = job->budget_ns = 0;
    /* returned time counts here at once */
    if (job->seat->queued && job->seat->time > account->time) {
        fair_share_set_aside(job->seat);
        queue_seat(job->seat);
    }
}

void fair_share_begin_job(Job *job) { job->time = job->account->job_time; }

static Error *find_seat(Policy *policy, Job *job, Queue *queue, Seat **out_seat) {
    Account *account = job->account;
    uint64_t high = account->tenant->key.low << 2 | (uint64_t)account->class_;
    uint64_t low = (uint64_t)queue->index << 1 | job->open;
    Seat *seat = id_map_find(&policy->seats, high, low);
    if (!seat) {
        void *memory;
        TRY(memory_alloc(1, sizeof *seat, &memory));
        seat = memory;
        *seat = (Seat){.key = {high, low}, .account = account, .queue = queue, .open = job->open};
        Error *error = id_map_add(&policy->seats, &seat->key);
        if (error) {
            memory_free(seat);
            return error;
        }
        if (queue->pool) {
            seat->next_pool = account->pool_seats;
            if (seat->next_pool) seat->next_pool->previous_pool = seat;
            account->pool_seats = seat;
        }
    }
    *out_seat = seat;
    return NULL;
}

static void release_seat(Policy *policy, Seat *seat) {
    if (seat->parked) quota_forget_seat(seat);
    if (seat->queue->pool) {
        if (seat->previous_pool)
            seat->previous_pool->next_pool = seat->next_pool;
        else
            seat->account->pool_seats = seat->next_pool;
        if (seat->next_pool) seat->next_pool->previous_pool = seat->previous_pool;
    }
    id_map_remove(&policy->seats, &seat->key);
    memory_free(seat);
}

static bool is_plain(const Job *job) { return job->deadline_ns == UINT64_MAX; }

static void add_to_seat(Seat *seat, Job *job) {
    heap_push(is_plain(job) ? &seat->plain : &seat->urgent, &job->node, job_less);
    seat->job_count++;
    if (is_plain(job)) seat->account->plain_jobs++;
}

static void take_from_seat(Seat *seat, Job *job) {
    heap_remove(is_plain(job) ? &seat->plain : &seat->urgent, &job->node, job_less);
    seat->job_count--;
    if (is_plain(job)) seat->account->plain_jobs--;
}

/* Moves the job to the account that its deadline chose: the highest class's, or its own. */
static void change_account(Policy *policy, Job *job) {
    Account *account = deadline_account(job);
    if (account == job->account) return;
    if (job->awake) fair_share_wake(policy, account);
    if (job->awake) fair_share_sleep(policy, job->account);
    job->account = account;
    fair_share_begin_job(job);
}

Error *fair_share_enqueue(Policy *policy, Job *job, Queue *queue) {
    Seat *seat;
    change_account(policy, job);
    TRY(find_seat(policy, job, queue, &seat));
    if (job->seat != seat) {
        fair_share_leave(policy, job);
        job->seat = seat;
        seat->holder_count++;
    }
    add_to_seat(seat, job);
    if (seat->queued) queue->job_count++;
    if (queue->local && !seat->parked) fair_share_wake(policy, job->account);
    fair_share_put_back(seat);
    return NULL;
}

void fair_share_dequeue(Policy *policy, Job *job) {
    Seat *seat = job->seat;
    if (seat->queued && seat->job_count == 1)
        fair_share_set_aside(seat);
    else if (seat->queued)
        seat->queue->job_count--;
    take_from_seat(seat, job);
    if (seat->queue->local && !seat->parked) fair_share_sleep(policy, job->account);
}

void fair_share_leave(Policy *policy, Job *job) {
    Seat *seat = job->seat;
    if (!seat) return;
    job->seat = NULL;
    if (--seat->holder_count == 0) release_seat(policy, seat);
}

Error *fair_share_reorder(Policy *policy, Job *job, uint64_t deadline_ns) {
    bool queued = job->state == POLICY_JOB_WAITING || job->state == POLICY_JOB_READY;
    if (!queued) {
        job->deadline_ns = deadline_ns;
        return NULL;
    }
    Queue *queue = job->seat->queue;
    bool awake = queue->local && !job->seat->parked; /* the account stays awake, and keeps its
                                                      * credit */
    if (awake) fair_share_hold(policy, job);
    fair_share_dequeue(policy, job);
    job->deadline_ns = deadline_ns;
    TRY(fair_share_enqueue(policy, job, queue));
    fair_share_drop(policy, job);
    return NULL;
}

bool fair_share_is_due(const Job *a, const Job *b) {
    return a->account->plain_due && is_plain(a) && !is_plain(b);
}

Job *fair_share_first_job(const Seat *seat) {
    bool plain = seat->plain.root && (!seat->urgent.root || seat->account->plain_due);
    return HEAP_ITEM((plain ? &seat->plain : &seat->urgent)->root, Job, node);
}

Seat *fair_share_top(Policy *policy, Queue *queue, PolicyClass class_) {
    while (queue->seats[class_].root) {
        Seat *seat = HEAP_ITEM(queue->seats[class_].root, Seat, node);
        if (!quota_allows_seat(policy, seat)) {
            quota_park(policy, seat);
            continue;
        }
        if (seat->time >= seat->account->time) return seat;
        fair_share_set_aside(seat);
        queue_seat(seat);
    }
    return NULL;
}

bool fair_share_before(const Job *a, const Job *b) {
    if (a->account->class_ != b->account->class_) return a->account->class_ < b->account->class_;
    if (a->account != b->account) {
        if (a->account->time != b->account->time) return a->account->time < b->account->time;
        return a->account->tenant->key.low < b->account->tenant->key.low;
    }
    return job_less(&a->node, &b->node);
}

bool fair_share_far_before(const Policy *policy, const Job *a, const Job *b) {
    uint64_t swap_ns = policy->config.swap_ns;
    if (a->account->class_ != b->account->class_) return a->account->class_ < b->account->class_;
    if (a->account != b->account)
        return a->account->time + virtual_time(swap_ns, a->account->tenant->weight) <
               b->account->time;
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns;
    return a->time + virtual_time(swap_ns, a->weight) < b->time;
}
