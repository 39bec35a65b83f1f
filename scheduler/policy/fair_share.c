#include "scheduler/policy/fair_share.h"

#include "base/allocator.h"
#include "scheduler/policy/account.h"
#include "scheduler/policy/deadline.h"
#include "scheduler/policy/quota.h"

static bool job_less(const HeapNode *a, const HeapNode *b) {
    const Job *x = HEAP_ITEM_CONST(a, Job, node), *y = HEAP_ITEM_CONST(b, Job, node);
    if (x->deadline_ns != y->deadline_ns) return x->deadline_ns < y->deadline_ns;
    if (x->time != y->time) return x->time < y->time;
    return x->key.low < y->key.low;
}

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
    if (job->awake) account_wake(policy, account);
    if (job->awake) account_sleep(policy, job->account);
    job->account = account;
    account_begin_job(job);
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
    if (queue->local && !seat->parked) account_wake(policy, job->account);
    account_put_back(seat);
    return NULL;
}

void fair_share_dequeue(Policy *policy, Job *job) {
    Seat *seat = job->seat;
    if (seat->queued && seat->job_count == 1)
        account_set_aside(seat);
    else if (seat->queued)
        seat->queue->job_count--;
    take_from_seat(seat, job);
    if (seat->queue->local && !seat->parked) account_sleep(policy, job->account);
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
    if (awake) account_hold(policy, job);
    fair_share_dequeue(policy, job);
    job->deadline_ns = deadline_ns;
    TRY(fair_share_enqueue(policy, job, queue));
    account_drop(policy, job);
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
        account_requeue(seat);
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
        return a->account->time + account_virtual_time(swap_ns, a->account->tenant->weight) <
               b->account->time;
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns;
    return a->time + account_virtual_time(swap_ns, a->weight) < b->time;
}

Error *fair_share_advance_deadlines(Policy *policy) {
    DeadlineTurn turn;
    while (deadline_take_turn(policy, &turn)) {
        TRY(fair_share_reorder(policy, turn.job, turn.deadline_ns));
        if (turn.passed) TRY(deadline_tell_missed(policy, turn.job));
    }
    return NULL;
}
