#include "scheduler/migration/node_drain.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/allocator.h"
#include "base/thread.h"
#include "scheduler/migration/node_loads.h"

enum { POLL_MS = 5, REBALANCED_MAX = 1000 /* jobs at once */ };

/* A job that is to move. */
typedef struct Leaver {
    TenantId tenant;
    JobId job;
    bool over;
} Leaver;

struct NodeDrain {
    Migrations *migrations;
    Control *control;
    uint64_t own_node;
    pthread_mutex_t mutex; /* guards the members below up to the thread's own */
    bool running, has_thread;
    NodeDrainStatus status;
    pthread_t thread;
    atomic_bool ending;
    char to[NODE_NAME_SIZE]; /* ""; the thread's, as are the next ones */
    NodeLoads loads;
    Leaver *leavers;
    size_t leaver_count, leaver_capacity;
};

Error *node_drain_create(
    Migrations *migrations, Control *control, uint64_t own_node, NodeDrain **out_drain) {
    void *memory;
    TRY(memory_alloc(1, sizeof(NodeDrain), &memory));
    NodeDrain *self = memory;
    self->migrations = migrations;
    self->control = control;
    self->own_node = own_node;
    self->status.over = true;
    (void)pthread_mutex_init(&self->mutex, NULL);
    *out_drain = self;
    return NULL;
}

static void join(NodeDrain *self) {
    if (self->has_thread) (void)pthread_join(self->thread, NULL);
    self->has_thread = false;
}

void node_drain_release(NodeDrain *self) {
    if (!self) return;
    atomic_store(&self->ending, true);
    join(self);
    node_loads_deinit(&self->loads);
    memory_free(self->leavers);
    (void)pthread_mutex_destroy(&self->mutex);
    memory_free(self);
}

static Store *store(const NodeDrain *self) { return control_options(self->control)->store; }

/* ---- drain: on its thread ---- */

static void note_stayed(NodeDrain *self, const char *why) {
    (void)pthread_mutex_lock(&self->mutex);
    self->status.stayed++;
    (void)snprintf(self->status.error, sizeof self->status.error, "%s", why);
    (void)pthread_mutex_unlock(&self->mutex);
}

static Error *list_state(NodeDrain *self, JobState state) {
    int64_t after = 0;
    size_t count = JOBS_LISTED_MAX;
    while (count == JOBS_LISTED_MAX) {
        OWN(JobList, list) = NULL;
        TRY(jobs_list(store(self), JOBS_OF_ALL_TENANTS, state, after, JOBS_LISTED_MAX, &list));
        count = list->count;
        for (size_t i = 0; i < count; i++) {
            void *leavers = self->leavers;
            TRY(memory_grow(&leavers, self->leaver_count, &self->leaver_capacity, sizeof(Leaver)));
            self->leavers = leavers;
            self->leavers[self->leaver_count++] =
                (Leaver){.tenant = list->items[i].tenant, .job = list->items[i].id};
            after = list->items[i].row;
        }
    }
    return NULL;
}

static const char *choose(NodeDrain *self) {
    if (*self->to) return self->to;
    NodeLoad *load = node_loads_choose(&self->loads);
    load->active++;
    return load->name;
}

static void begin(NodeDrain *self, Leaver *leaver) {
    MigrationStatus status;
    Error *error =
        migrations_begin(self->migrations, leaver->tenant, leaver->job, choose(self), 0, &status);
    if (!error) return;
    leaver->over = true;
    note_stayed(self, error_message(error));
    error_free(error);
}

/* Checks whether the job's migration has ended, and how. */
static void look(NodeDrain *self, Leaver *leaver) {
    MigrationStatus status;
    if (leaver->over) return;
    bool known = migrations_find(self->migrations, leaver->job, &status);
    if (known && !migration_is_over(status.phase)) return;
    leaver->over = true;
    if (known && status.phase == MIGRATION_ABORTED) {
        note_stayed(self, status.error);
        return;
    }
    (void)pthread_mutex_lock(&self->mutex);
    self->status.moved++;
    (void)pthread_mutex_unlock(&self->mutex);
}

static size_t count_open(const NodeDrain *self) {
    size_t open = 0;
    for (size_t i = 0; i < self->leaver_count; i++) open += !self->leavers[i].over;
    return open;
}

static Error *drain(NodeDrain *self) {
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    self->leaver_count = 0;
    TRY(list_state(self, JOB_STATE_QUEUED));
    TRY(list_state(self, JOB_STATE_SUSPENDED));
    (void)pthread_mutex_lock(&self->mutex);
    self->status.jobs = self->leaver_count;
    (void)pthread_mutex_unlock(&self->mutex);
    for (size_t i = 0; i < self->leaver_count && !atomic_load(&self->ending); i++)
        begin(self, &self->leavers[i]);
    while (count_open(self) > 0 && !atomic_load(&self->ending)) {
        for (size_t i = 0; i < self->leaver_count; i++) look(self, &self->leavers[i]);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static void *run_drain(void *argument) {
    NodeDrain *self = argument;
    Error *error = drain(self);
    (void)pthread_mutex_lock(&self->mutex);
    if (error)
        (void)snprintf(self->status.error, sizeof self->status.error, "%s", error_message(error));
    self->status.over = true;
    self->running = false;
    (void)pthread_mutex_unlock(&self->mutex);
    error_free(error);
    return NULL;
}

/* ---- what people ask for ---- */

static Error *check_target(NodeDrain *self, const char *to) {
    Node node;
    if (to) return nodes_get(store(self), to, &node);
    node_loads_deinit(&self->loads);
    self->loads = (NodeLoads){0};
    TRY(node_loads_ask(store(self), self->own_node, &self->loads));
    if (!node_loads_choose(&self->loads))
        FAIL(UNREACHABLE, "no node answers that could take the jobs; see `layover node list`");
    return NULL;
}

static void set_status(NodeDrain *self, NodeDrainStatus status) {
    (void)pthread_mutex_lock(&self->mutex);
    self->status = status;
    (void)pthread_mutex_unlock(&self->mutex);
}

static Error *start(NodeDrain *self, const char *to) {
    TRY(check_target(self, to));
    (void)snprintf(self->to, sizeof self->to, "%s", to ? to : "");
    control_refuse_jobs(self->control, true);
    set_status(self, (NodeDrainStatus){.draining = true});
    self->has_thread = thread_start(&self->thread, "drain", run_drain, self);
    if (self->has_thread) return NULL;
    control_refuse_jobs(self->control, false);
    set_status(self, (NodeDrainStatus){.over = true});
    FAIL(OUT_OF_MEMORY, "the system gives no more threads");
}

Error *node_drain_begin(NodeDrain *self, const char *to) {
    (void)pthread_mutex_lock(&self->mutex);
    bool busy = self->running;
    self->running = true;
    (void)pthread_mutex_unlock(&self->mutex);
    if (busy) FAIL(CONFLICT, "the node is being drained already");
    join(self); /* of the drain before */
    Error *error = start(self, to);
    if (!error) return NULL;
    (void)pthread_mutex_lock(&self->mutex);
    self->running = false;
    (void)pthread_mutex_unlock(&self->mutex);
    return error;
}

void node_drain_end(NodeDrain *self) {
    control_refuse_jobs(self->control, false);
    (void)pthread_mutex_lock(&self->mutex);
    self->status.draining = false;
    (void)pthread_mutex_unlock(&self->mutex);
}

void node_drain_get_status(NodeDrain *self, NodeDrainStatus *out_status) {
    (void)pthread_mutex_lock(&self->mutex);
    *out_status = self->status;
    (void)pthread_mutex_unlock(&self->mutex);
}

/* ---- rebalance ---- */

static bool is_running(const NodeDrain *self, const Job *row) {
    ControlStatus status;
    return control_find_status(self->control, row->id, &status) && status.running;
}

/* Whether the target is no worse off after the move, with one more job there and one less here. */
static bool is_better(const NodeLoad *here, const NodeLoad *there) {
    NodeLoad after = *there;
    after.active++;
    return there->answers && there->devices > 0 &&
           node_load_pressure(&after) < node_load_pressure(here);
}

typedef struct Balance {
    NodeLoad here;
    NodeLoads loads;
    size_t moved;
    NodeDrainVisitor *visit;
    void *context;
} Balance;

/* Jobs that run, or those that do not. */
static Error *move_some(NodeDrain *self, const JobList *list, bool running, Balance *balance) {
    for (size_t i = list->count; i > 0 && balance->moved < REBALANCED_MAX; i--) {
        const Job *row = &list->items[i - 1];
        NodeLoad *there = node_loads_choose(&balance->loads);
        MigrationStatus status;
        if (!there || !is_better(&balance->here, there)) return NULL;
        if (row->migrating[0] || is_running(self, row) != running) continue;
        Error *error =
            migrations_begin(self->migrations, row->tenant, row->id, there->name, 0, &status);
        bool gone = error_code(error) == ERROR_CONFLICT; /* the job has ended, or moves already */
        if (gone) error_free(error);
        if (gone) continue;
        TRY(error);
        there->active++;
        balance->here.active--;
        balance->moved++;
        TRY(balance->visit(balance->context, row->id, there->name));
    }
    return NULL;
}

static Error *rebalance(NodeDrain *self, Balance *balance) {
    OWN(JobList, list) = NULL;
    TRY(node_loads_ask(store(self), self->own_node, &balance->loads));
    TRY(jobs_list(store(self), JOBS_OF_ALL_TENANTS, JOB_STATE_QUEUED, 0, JOBS_LISTED_MAX, &list));
    for (size_t i = 0; i < list->count; i++) balance->here.active += !list->items[i].migrating[0];
    TRY(move_some(self, list, false, balance));
    return move_some(self, list, true, balance);
}

Error *node_drain_rebalance(NodeDrain *self, NodeDrainVisitor *visit, void *context) {
    Balance balance = {.here = {.answers = true, .devices = control_device_count(self->control)},
        .visit = visit,
        .context = context};
    Error *error = rebalance(self, &balance);
    node_loads_deinit(&balance.loads);
    return error;
}
