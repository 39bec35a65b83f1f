#include "scheduler/service/run_joiner.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/thread.h"
#include "scheduler/executor/batch_join.h"

/* Requests that run together. Those of one list differ in their kind, or in their shapes. */
typedef struct JoinedRun {
    ControlReceiver receiver;
    RunJoiner *joiner;
    struct JoinedRun *next; /* of the open ones, or of those under way */
    JoinMember **members;
    size_t count, capacity;
    size_t wanted; /* members that were not cut */
    int64_t items;
    int64_t items_max;
    uint64_t due_ns; /* it need not wait for others any more */
    uint64_t begin_ns;
    bool open, submitted, ended;
    JobId job;
    Submission submission; /* of more than one member */
    ArrayList outputs;
    atomic_size_t references; /* members that have not taken their outputs, and the giver */
} JoinedRun;

struct RunJoiner {
    Control *control;
    pthread_mutex_t mutex; /* guards all below, and the members' states */
    pthread_cond_t changed;
    JoinedRun *open, *under_way;
    pthread_t thread;
    bool has_thread, closing;
};

static uint64_t now_ns(void) { return clock_now_ns(clock_real()); }

static void joined_free(JoinedRun *joined) {
    submission_deinit(&joined->submission);
    array_list_deinit(&joined->outputs);
    memory_free(joined->members);
    memory_free(joined);
}

static void joined_release(JoinedRun *joined) {
    if (atomic_fetch_sub(&joined->references, 1) == 1) joined_free(joined);
}

static void unlink_from(JoinedRun **list, JoinedRun *joined) {
    while (*list != joined) list = &(*list)->next;
    *list = joined->next;
    joined->next = NULL;
}

static const Submission *submission_of(const JoinedRun *joined) {
    return joined->members[0]->submission;
}

static const Function *function_of(const JoinMember *member) {
    return &member->outline->functions[member->submission->function];
}

static bool is_of_kind(const Submission *a, const Submission *b) {
    return a->tenant == b->tenant && a->function == b->function && a->priority == b->priority &&
           digest_equal(&a->executable, &b->executable);
}

/* ---- the end ---- */

static Error *make_cancelled(void) {
    return error_make(ERROR_CANCELLED, __FILE__, __LINE__, "the request was cancelled");
}

/* Tells each member the end. error NULL: the joined run's outputs are there. */
static void tell_all(JoinedRun *joined, const Error *error, const ControlEnd *end) {
    RunJoiner *joiner = joined->joiner;
    bool leads = true;
    atomic_store(&joined->references, joined->count + 1);
    for (size_t i = 0; i < joined->count; i++) {
        JoinMember *member = joined->members[i];
        (void)pthread_mutex_lock(&joiner->mutex);
        Error *told = error ? error_copy(error) : member->was_cut ? make_cancelled() : NULL;
        if (told) member->joined = NULL;
        member->times =
            (JobsApiRunTimes){.queue_ns = joined->begin_ns - member->begin_ns + end->queue_ns,
                .device_ns = end->device_ns,
                .items = (uint64_t)member->items,
                .batch_size = (uint64_t)joined->items,
                .leads = !told && leads};
        leads = leads && told != NULL;
        (void)pthread_mutex_unlock(&joiner->mutex);
        if (told) joined_release(joined);
        member->ended(member, told); /* the member is its owner's again */
    }
    joined_release(joined);
}

/* Submits each member by itself. A member that was submitted may be gone at once. */
static void run_each(JoinedRun *joined) {
    RunJoiner *joiner = joined->joiner;
    (void)pthread_mutex_lock(&joiner->mutex);
    for (size_t i = 0; i < joined->count; i++) {
        JoinMember *member = joined->members[i];
        member->joined = NULL;
        Error *error = member->was_cut ? make_cancelled() : member->run_alone(member);
        if (error)
            member->error = error;
        else
            joined->members[i] = NULL;
    }
    (void)pthread_mutex_unlock(&joiner->mutex);
    for (size_t i = 0; i < joined->count; i++) {
        JoinMember *member = joined->members[i];
        if (member) member->ended(member, TAKE(member->error));
    }
    joined_free(joined);
}

/* Whether each request may succeed where all of them together failed. */
static bool is_worth_repeating(const JoinedRun *joined, const Error *error) {
    const ErrorCode code = error_code(error);
    return error && joined->count > 1 && code != ERROR_CANCELLED && code != ERROR_UNREACHABLE &&
           code != ERROR_DEVICE_LOST;
}

static void end_run(JoinedRun *joined, ControlEnd *end) {
    RunJoiner *joiner = joined->joiner;
    OWN(Error, error) = end->owned_error;
    (void)pthread_mutex_lock(&joiner->mutex);
    joined->ended = true;
    unlink_from(&joiner->under_way, joined);
    if (joiner->open) (void)pthread_cond_signal(&joiner->changed);
    (void)pthread_mutex_unlock(&joiner->mutex);
    joined->outputs = *end->outputs;
    *end->outputs = (ArrayList){0};
    if (!error && joined->count > 1)
        error = batch_join_check_outputs(&joined->outputs, joined->items);
    if (is_worth_repeating(joined, error))
        run_each(joined);
    else
        tell_all(joined, error, end);
}

/* On the control thread. */
static void receive(ControlReceiver *receiver, ControlEnd *end) {
    end_run(CONTAINER_OF(receiver, JoinedRun, receiver), end);
}

/* ---- the beginning ---- */

static Error *join_inputs(JoinedRun *joined) {
    const Submission *first = submission_of(joined);
    const Batch **batches;
    void *memory;
    TRY(memory_alloc(joined->count, sizeof(Batch *), &memory));
    batches = memory;
    for (size_t i = 0; i < joined->count; i++) batches[i] = joined->members[i]->submission->batch;
    Error *error = batch_join(joined->members[0]->outline, first->function, batches, joined->count,
        &joined->submission.batch);
    memory_free(memory);
    return error;
}

/* Makes the submission of several members. It is as urgent as the most urgent of them. */
static Error *make_submission(JoinedRun *joined) {
    const Submission *first = submission_of(joined);
    Submission *all = &joined->submission;
    TRY(submission_init(all, first->policy.function, NULL));
    all->policy.random_key = first->policy.random_key;
    all->tenant = first->tenant;
    all->priority = first->priority;
    all->executable = first->executable;
    all->function = first->function;
    all->constant_bytes = first->constant_bytes;
    all->device_strings = first->device_strings;
    all->live_bytes = 0;
    for (size_t i = 0; i < joined->count; i++) {
        const Submission *one = joined->members[i]->submission;
        all->live_bytes += one->live_bytes;
        if (isnan(all->deadline) || one->deadline < all->deadline) all->deadline = one->deadline;
    }
    return join_inputs(joined);
}

/* Submits under the mutex: a request that is cut sees either that the run was not submitted, or its
 * job. */
static Error *submit(JoinedRun *joined) {
    RunJoiner *joiner = joined->joiner;
    Submission *submission =
        joined->count > 1 ? &joined->submission : joined->members[0]->submission;
    (void)pthread_mutex_lock(&joiner->mutex);
    joined->submitted = true;
    Error *error = joined->wanted ? control_submit_transient(joiner->control, joined->job,
                                        submission, &joined->receiver, false)
                                  : make_cancelled();
    (void)pthread_mutex_unlock(&joiner->mutex);
    return error;
}

/* Runs what begin_open has taken. NULL: nothing. */
static void begin(JoinedRun *joined) {
    ArrayList none = {0};
    if (!joined) return;
    Error *error = joined->count > 1 ? make_submission(joined) : NULL;
    if (!error) error = submit(joined);
    if (error) end_run(joined, &(ControlEnd){.outputs = &none, .owned_error = error});
}

/* Takes an open run out of the list, so that no member is added. Under the mutex. */
static JoinedRun *begin_open(JoinedRun *joined) {
    RunJoiner *joiner = joined->joiner;
    unlink_from(&joiner->open, joined);
    joined->open = false;
    joined->begin_ns = now_ns();
    joined->job = control_next_transient(joiner->control);
    joined->next = joiner->under_way;
    joiner->under_way = joined;
    return joined;
}

/* A run whose time has come waits on for others while its kind has all devices: it would only wait
 * for one of them. */
static bool has_device(const RunJoiner *joiner, const JoinedRun *joined) {
    uint32_t count = 0;
    for (const JoinedRun *at = joiner->under_way; at; at = at->next)
        count += is_of_kind(submission_of(at), submission_of(joined));
    return count < control_device_count(joiner->control);
}

/* The run that is to begin now; NULL: none. out_next_ns: when the next one may be. */
static JoinedRun *find_due(const RunJoiner *joiner, uint64_t *out_next_ns) {
    const uint64_t now = now_ns();
    *out_next_ns = UINT64_MAX;
    for (JoinedRun *joined = joiner->open; joined; joined = joined->next) {
        if (joined->due_ns > now) {
            if (joined->due_ns < *out_next_ns) *out_next_ns = joined->due_ns;
        } else if (has_device(joiner, joined))
            return joined;
    }
    return NULL;
}

static void *work(void *self) {
    RunJoiner *joiner = self;
    (void)pthread_mutex_lock(&joiner->mutex);
    while (!joiner->closing) {
        uint64_t next_ns;
        JoinedRun *due = find_due(joiner, &next_ns);
        if (due) {
            due = begin_open(due);
            (void)pthread_mutex_unlock(&joiner->mutex);
            begin(due);
            (void)pthread_mutex_lock(&joiner->mutex);
        } else if (next_ns == UINT64_MAX)
            (void)pthread_cond_wait(&joiner->changed, &joiner->mutex);
        else {
            const struct timespec until = clock_timespec(next_ns);
            (void)pthread_cond_timedwait(&joiner->changed, &joiner->mutex, &until);
        }
    }
    (void)pthread_mutex_unlock(&joiner->mutex);
    return NULL;
}

/* ---- requests ---- */

static Error *create_joined(RunJoiner *joiner, JoinedRun **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(JoinedRun), &memory));
    JoinedRun *joined = memory;
    *joined = (JoinedRun){.receiver.receive = receive,
        .joiner = joiner,
        .next = joiner->open,
        .due_ns = UINT64_MAX,
        .open = true};
    *out = joined;
    return NULL;
}

static JoinedRun *find_open(const RunJoiner *joiner, const JoinMember *member) {
    for (JoinedRun *joined = joiner->open; joined; joined = joined->next)
        if (is_of_kind(submission_of(joined), member->submission) &&
            batch_join_fits(
                function_of(member), submission_of(joined)->batch, member->submission->batch))
            return joined;
    return NULL;
}

/* When the request need not wait any more: after its delay, or at its deadline. */
static uint64_t find_due_ns(const JoinMember *member) {
    const double left_s = member->submission->deadline - clock_real().calendar_s(clock_real().self);
    uint64_t wait_ns = (uint64_t)member->batching.queue_delay_us * 1000;
    if (left_s <= 0) return member->begin_ns;
    if (left_s * 1e9 < (double)wait_ns) wait_ns = (uint64_t)(left_s * 1e9);
    return member->begin_ns + wait_ns;
}

static Error *append(JoinedRun *joined, JoinMember *member) {
    const uint64_t due_ns = find_due_ns(member);
    TRY(memory_grow(
        (void **)&joined->members, joined->count, &joined->capacity, sizeof *joined->members));
    member->joined = joined;
    member->first_item = joined->items;
    joined->members[joined->count++] = member;
    joined->wanted++;
    joined->items += member->items;
    joined->items_max = member->batching.items_max;
    if (due_ns < joined->due_ns) joined->due_ns = due_ns;
    return NULL;
}

/* Begins the thread that looks after the time. Without a thread requests do not wait for others. */
static bool needs_no_thread(RunJoiner *joiner) {
    if (!joiner->has_thread)
        joiner->has_thread = thread_start(&joiner->thread, "run-joiner", work, joiner);
    return !joiner->has_thread;
}

/* Adds the request to a new run, which it begins at once if nothing is to be waited for. */
static Error *add_to_new(RunJoiner *joiner, JoinMember *member, JoinedRun **out_begun) {
    JoinedRun *joined;
    TRY(create_joined(joiner, &joined));
    Error *error = append(joined, member);
    if (error) {
        joined_free(joined);
        return error;
    }
    joiner->open = joined;
    const bool is_due = joined->due_ns <= member->begin_ns && has_device(joiner, joined);
    if (is_due || member->items >= member->batching.items_max || needs_no_thread(joiner))
        *out_begun = begin_open(joined);
    else
        (void)pthread_cond_signal(&joiner->changed);
    return NULL;
}

/* out_begun: runs to begin, the one that the request did not fit into and its own. */
static Error *add(RunJoiner *joiner, JoinMember *member, JoinedRun *out_begun[2]) {
    JoinedRun *joined = find_open(joiner, member);
    if (joined && joined->items > member->batching.items_max - member->items) {
        out_begun[0] = begin_open(joined);
        joined = NULL;
    }
    if (!joined) return add_to_new(joiner, member, &out_begun[1]);
    TRY(append(joined, member));
    if (joined->items >= joined->items_max)
        out_begun[1] = begin_open(joined);
    else
        (void)pthread_cond_signal(&joiner->changed); /* its deadline may be the next one */
    return NULL;
}

Error *run_joiner_add(RunJoiner *joiner, JoinMember *member) {
    JoinedRun *begun[2] = {0};
    member->begin_ns = now_ns();
    (void)pthread_mutex_lock(&joiner->mutex);
    Error *error = add(joiner, member, begun);
    (void)pthread_mutex_unlock(&joiner->mutex);
    for (size_t i = 0; i < 2; i++) begin(begun[i]);
    return error;
}

static void ignore(void *context, Error *owned_error) {
    (void)context;
    error_free(owned_error); /* the run has ended meanwhile */
}

/* Takes a member out of an open run. */
static void leave(JoinedRun *joined, JoinMember *member) {
    size_t at = 0;
    while (joined->members[at] != member) at++;
    member->joined = NULL;
    joined->wanted--;
    joined->count--;
    joined->items = member->first_item;
    for (size_t i = at; i < joined->count; i++) {
        joined->members[i] = joined->members[i + 1];
        joined->members[i]->first_item = joined->items;
        joined->items += joined->members[i]->items;
    }
    if (joined->count) return;
    unlink_from(&joined->joiner->open, joined);
    joined_free(joined);
}

bool run_joiner_cut(RunJoiner *joiner, JoinMember *member) {
    (void)pthread_mutex_lock(&joiner->mutex);
    JoinedRun *joined = member->joined;
    const bool waits = joined && joined->open;
    member->was_cut = true;
    if (waits)
        leave(joined, member);
    else if (joined && !joined->ended && --joined->wanted == 0 && joined->submitted)
        error_free(control_ask(joiner->control, CONTROL_ASK_CANCEL, submission_of(joined)->tenant,
            joined->job, ignore, NULL)); /* without memory the run goes on to its end */
    (void)pthread_mutex_unlock(&joiner->mutex);
    if (waits) member->ended(member, make_cancelled());
    return joined != NULL;
}

Error *run_joiner_take(JoinMember *member, ArrayList *out_outputs) {
    JoinedRun *joined = member->joined;
    Error *error = NULL;
    if (joined->count == 1) {
        *out_outputs = joined->outputs;
        joined->outputs = (ArrayList){0};
    } else
        error = batch_join_cut(&joined->outputs, joined->items, member->first_item,
            member->first_item + member->items, out_outputs);
    run_joiner_drop(member);
    return error;
}

void run_joiner_drop(JoinMember *member) {
    if (member->joined) joined_release(TAKE(member->joined));
}

size_t run_joiner_count_waiting(RunJoiner *joiner, TenantId tenant) {
    size_t count = 0;
    (void)pthread_mutex_lock(&joiner->mutex);
    for (const JoinedRun *joined = joiner->open; joined; joined = joined->next)
        if (submission_of(joined)->tenant == tenant) count += joined->count;
    (void)pthread_mutex_unlock(&joiner->mutex);
    return count;
}

/* ---- the joiner ---- */

Error *run_joiner_create(RunJoiner **out_joiner) {
    void *memory;
    TRY(memory_alloc(1, sizeof(RunJoiner), &memory));
    RunJoiner *joiner = memory;
    (void)pthread_mutex_init(&joiner->mutex, NULL);
    thread_condition_init(&joiner->changed);
    *out_joiner = joiner;
    return NULL;
}

void run_joiner_set_control(RunJoiner *joiner, Control *control) { joiner->control = control; }

void run_joiner_release(RunJoiner *joiner) {
    if (!joiner) return;
    (void)pthread_mutex_lock(&joiner->mutex);
    joiner->closing = true;
    (void)pthread_cond_signal(&joiner->changed);
    (void)pthread_mutex_unlock(&joiner->mutex);
    if (joiner->has_thread) (void)pthread_join(joiner->thread, NULL);
    (void)pthread_cond_destroy(&joiner->changed);
    (void)pthread_mutex_destroy(&joiner->mutex);
    memory_free(joiner);
}
