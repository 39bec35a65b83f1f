#include "scheduler/policy/deadline.h"

#include "base/allocator.h"

/* Upper bound on the deadlines of one tenant that are examined one by one for a promise; if there
 * are more, all of them count as earlier. */
enum { LOOK_MAX = 1024 };

/* A job's deadline, beside the job, as few jobs have one. */
struct JobDeadline {
    HeapNode node; /* in Policy.deadlines, until the deadline has passed */
    Job *job;
    JobDeadline *next, **link; /* of its tenant, until the deadline has passed */
    uint64_t at_ns;
    uint64_t left_ns; /* device-time that the job still takes, if it was estimated */
    uint64_t turn_ns; /* when its order changes: the job must be raised, or the deadline has
                       * passed */
    bool feasible;    /* as was promised */
    bool raised;
    bool passed;
    Account *own;
};

static bool earlier_turn(const HeapNode *a, const HeapNode *b) {
    const JobDeadline *x = HEAP_ITEM_CONST(a, JobDeadline, node);
    const JobDeadline *y = HEAP_ITEM_CONST(b, JobDeadline, node);
    if (x->turn_ns != y->turn_ns) return x->turn_ns < y->turn_ns;
    return x->job->key.low < y->job->key.low;
}

Error *deadline_tell_missed(Policy *policy, const Job *job) {
    return policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_MISSED, .job = job->key.low});
}

Error *deadline_enter(Policy *policy, Job *job, uint64_t deadline_ns) {
    Tenant *tenant = job->account->tenant;
    void *memory;
    job->deadline_ns = UINT64_MAX;
    if (!deadline_ns) return NULL;
    TRY(memory_alloc(1, sizeof(JobDeadline), &memory));
    JobDeadline *deadline = memory;
    *deadline = (JobDeadline){.job = job,
        .at_ns = deadline_ns,
        .turn_ns = deadline_ns,
        .passed = deadline_ns <= policy->now_ns,
        .own = job->account};
    job->deadline = deadline;
    if (deadline->passed) return deadline_tell_missed(policy, job);
    job->deadline_ns = deadline_ns;
    deadline->next = tenant->deadlines;
    deadline->link = &tenant->deadlines;
    if (deadline->next) deadline->next->link = &deadline->next;
    tenant->deadlines = deadline;
    tenant->deadline_count++;
    heap_push(&policy->deadlines, &deadline->node, earlier_turn);
    return NULL;
}

/* Removes the deadline from the order. */
static void take_out(Policy *policy, JobDeadline *deadline) {
    heap_remove(&policy->deadlines, &deadline->node, earlier_turn);
    *deadline->link = deadline->next;
    if (deadline->next) deadline->next->link = deadline->link;
    deadline->own->tenant->deadline_count--;
    deadline->passed = true;
    deadline->raised = false;
}

Error *deadline_leave(Policy *policy, Job *job) {
    JobDeadline *deadline = job->deadline;
    if (!deadline) return NULL;
    bool missed = !deadline->passed && deadline->at_ns < policy->now_ns;
    if (!deadline->passed) take_out(policy, deadline);
    job->deadline = NULL;
    memory_free(deadline);
    return missed ? deadline_tell_missed(policy, job) : NULL;
}

/* The weights of the tenants that have jobs now, including this one. */
static uint64_t contending_weight(const Policy *policy, const Tenant *tenant) {
    uint64_t sum = 0;
    for (size_t i = 0; i < policy->tenants.capacity; i++) {
        const Tenant *other = (const Tenant *)policy->tenants.slots[i];
        if (!other) continue;
        if (other == tenant || other->used.queued_jobs || other->used.running_jobs)
            sum += other->weight;
    }
    return sum;
}

/* How long device-time takes on so many devices in the tenant's account of the highest class. */
static uint64_t stretch(const Policy *policy, const Tenant *tenant, uint64_t weights,
    uint64_t device_time_ns, uint64_t device_count) {
    __extension__ unsigned __int128 time =
        (unsigned __int128)device_time_ns * weights / tenant->weight / device_count;
    uint64_t permille =
        (1000 - 2 * policy->config.floor_permille) * (1000 - DEADLINE_PLAIN_PERMILLE) / 1000;
    if (time < device_time_ns / device_count) time = device_time_ns / device_count;
    time = time * 1000 / permille;
    return time > INT64_MAX ? INT64_MAX : (uint64_t)time;
}

static uint64_t usable_devices(const Policy *policy, const Job *job) {
    uint64_t count = job->demanded ? 1 : policy->devices.count;
    return count ? count : 1;
}

/* The work of the tenant's jobs whose deadlines are not after this one. */
static uint64_t work_before(const Job *job) {
    const Tenant *tenant = job->account->tenant;
    bool many = tenant->deadline_count > LOOK_MAX;
    uint64_t sum_ns = 0, seen = 0;
    const JobDeadline *other = tenant->deadlines;
    for (; other && seen < LOOK_MAX && sum_ns < POLICY_TIME_MAX; other = other->next, seen++)
        if (other != job->deadline && (many || other->at_ns <= job->deadline_ns))
            sum_ns += other->left_ns;
    if (sum_ns > POLICY_TIME_MAX) return POLICY_TIME_MAX;
    if (!many) return sum_ns;
    uint64_t all_ns = sum_ns / LOOK_MAX * tenant->deadline_count; /* the others are like those */
    return all_ns > POLICY_TIME_MAX ? POLICY_TIME_MAX : all_ns;
}

static void set_turn(Policy *policy, JobDeadline *deadline, uint64_t turn_ns) {
    heap_remove(&policy->deadlines, &deadline->node, earlier_turn);
    deadline->turn_ns = turn_ns < deadline->at_ns ? turn_ns : deadline->at_ns;
    heap_push(&policy->deadlines, &deadline->node, earlier_turn);
}

/* How long the job takes to its end from now on: after the tenant's earlier deadlines, within the
 * tenant's share, and after slices that run already. Less than 2^63. */
static uint64_t time_needed(const Policy *policy, const Job *job) {
    const Tenant *tenant = job->account->tenant;
    uint64_t weights = contending_weight(policy, tenant);
    __extension__ unsigned __int128 sum =
        stretch(policy, tenant, weights, job->deadline->left_ns, 1);
    sum += stretch(policy, tenant, weights, work_before(job), usable_devices(policy, job));
    sum += 2 * policy->config.quantum_ns + 2 * policy->longest_ns;
    return sum > INT64_MAX ? INT64_MAX : (uint64_t)sum;
}

/* The latest time to begin that is early enough. */
static uint64_t latest_start(const JobDeadline *deadline, uint64_t needed_ns) {
    return deadline->at_ns > needed_ns ? deadline->at_ns - needed_ns : 0;
}

Error *deadline_estimate(Policy *policy, Job *job, uint64_t device_time_ns) {
    JobDeadline *deadline = job->deadline;
    if (!deadline) return NULL;
    deadline->left_ns = device_time_ns;
    uint64_t needed_ns = time_needed(policy, job);
    uint64_t end_ns =
        needed_ns > INT64_MAX - policy->now_ns ? INT64_MAX : policy->now_ns + needed_ns;
    deadline->feasible = !deadline->passed && end_ns <= deadline->at_ns;
    if (deadline->feasible && !deadline->raised)
        set_turn(policy, deadline, latest_start(deadline, needed_ns));
    return policy_act(
        policy, (PolicyAction){.kind = POLICY_ACTION_PROMISE, .job = job->key.low, .ns = end_ns});
}

void deadline_serve(Job *job, uint64_t device_time_ns) {
    JobDeadline *deadline = job->deadline;
    if (!deadline) return;
    deadline->left_ns -= device_time_ns < deadline->left_ns ? device_time_ns : deadline->left_ns;
}

Account *deadline_account(const Job *job) {
    const JobDeadline *deadline = job->deadline;
    if (!deadline) return job->account;
    return deadline->raised ? &deadline->own->tenant->accounts[POLICY_HIGH] : deadline->own;
}

/* Runs the job in the highest class from now on, unless slices that it had meanwhile have postponed
 * its latest start. Returns whether it does. */
static bool raise(Policy *policy, JobDeadline *deadline) {
    uint64_t start_ns = latest_start(deadline, time_needed(policy, deadline->job));
    deadline->raised = start_ns <= policy->now_ns;
    set_turn(policy, deadline, deadline->raised ? deadline->at_ns : start_ns);
    return deadline->raised;
}

bool deadline_take_turn(Policy *policy, DeadlineTurn *out_turn) {
    while (policy->deadlines.root) {
        JobDeadline *deadline = HEAP_ITEM(policy->deadlines.root, JobDeadline, node);
        if (deadline->turn_ns > policy->now_ns) break;
        bool passed = deadline->at_ns <= policy->now_ns;
        *out_turn =
            (DeadlineTurn){deadline->job, passed ? UINT64_MAX : deadline->job->deadline_ns, passed};
        if (passed) take_out(policy, deadline);
        if (passed || raise(policy, deadline)) return true;
    }
    return false;
}

uint64_t deadline_due_ns(const Policy *policy) {
    const HeapNode *root = policy->deadlines.root;
    return root ? HEAP_ITEM_CONST(root, JobDeadline, node)->turn_ns : 0;
}
