#include "scheduler/migration/migrations.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/thread.h"
#include "scheduler/migration/migration_settler.h"
#include "store/jobs/damaged_migrations.h"
#include "store/jobs/departures.h"

#define SETTLE_PAUSE_NS (2 * SECOND_NS)

/* BEGINS: the attempt is being stored, and has no departure_run yet. */
typedef enum TaskState { TASK_BEGINS, TASK_WAITS, TASK_RUNS, TASK_OVER } TaskState;

/* A migration that this process knows. */
typedef struct MigrationTask {
    struct MigrationTask *next; /* the task that began before this one */
    TaskState state;            /* guarded by the mutex */
    JobId job;
    DepartureRun *departure_run; /* NULL once the task is over */
    MigrationStatus last;
} MigrationTask;

struct Migrations {
    MigrationsOptions options;
    ArrivalService *arrivals;
    MigrationSettler *settler;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    MigrationTask *tasks; /* the newest first */
    size_t waiting, over;
    bool ending;
    pthread_t threads[MIGRATIONS_AT_ONCE], settle_thread;
    uint32_t thread_count;
    bool settles;
};

/* ---- what an earlier process left ---- */

/* Holds a job. A job whose own row cannot be read does not run, and the control thread reports
 * it. */
static Error *hold(Connection *catalog, const Departure *departure) {
    Job job;
    Error *error = job_row_read(catalog, departure->tenant, departure->job, &job);
    if (error_code(error) == ERROR_CORRUPT) {
        error_free(error);
        return NULL;
    }
    TRY(error);
    if (job.state != JOB_STATE_QUEUED && job.state != JOB_STATE_SUSPENDED) return NULL;
    return jobs_transition(catalog, departure->tenant, departure->job, JOB_STATE_HELD,
        "the daemon ended while it migrated: waits until the other node says whose it is");
}

static Error *hold_all(Connection *catalog, void *context) {
    const DepartureList *list = context;
    TRY(damaged_migrations_hold(catalog));
    for (size_t i = 0; i < list->count; i++) TRY(hold(catalog, &list->items[i]));
    return NULL;
}

Error *migrations_hold(Store *store) {
    OWN(DepartureList, list) = NULL;
    TRY(departures_list(store, &list));
    return catalog_run_directly(store, hold_all, list);
}

/* ---- tasks ---- */

/* Under the mutex: the one that waits longest. */
static MigrationTask *find_next(Migrations *self) {
    MigrationTask *next = NULL;
    for (MigrationTask *task = self->tasks; task; task = task->next)
        if (task->state == TASK_WAITS) next = task;
    return next;
}

/* Under the mutex: the oldest one that is over. */
static void forget_oldest(Migrations *self) {
    MigrationTask **oldest = NULL;
    for (MigrationTask **link = &self->tasks; *link; link = &(*link)->next)
        if ((*link)->state == TASK_OVER) oldest = link;
    if (!oldest) return;
    MigrationTask *task = *oldest;
    *oldest = task->next;
    self->over--;
    memory_free(task);
}

/* The rows of METRIC_MIGRATIONS. */
static const char *const outcomes[] = {"outcome=\"moved\"", "outcome=\"aborted\""};

static void count(const Migrations *self, const MigrationStatus *status) {
    Metrics *metrics = control_options(self->options.control)->metrics;
    bool moved = status->phase == MIGRATION_MOVED;
    if (!metrics) return;
    metrics_add(metrics, METRIC_MIGRATIONS, moved ? 0 : 1, 1);
    metrics_add(metrics, METRIC_MIGRATION_BYTES, 0, (int64_t)status->bytes_sent);
    if (moved && status->downtime_ms > 0)
        metrics_observe_ns(
            metrics, METRIC_MIGRATION_DOWNTIME, (uint64_t)(status->downtime_ms * 1e6));
}

static void *run_tasks(void *argument) {
    Migrations *self = argument;
    (void)pthread_mutex_lock(&self->mutex);
    while (!self->ending) {
        MigrationTask *task = find_next(self);
        if (!task) {
            (void)pthread_cond_wait(&self->changed, &self->mutex);
            continue;
        }
        task->state = TASK_RUNS;
        self->waiting--;
        (void)pthread_mutex_unlock(&self->mutex);
        departure_run_perform(task->departure_run);
        (void)pthread_mutex_lock(&self->mutex);
        departure_run_get_status(task->departure_run, &task->last);
        count(self, &task->last);
        departure_run_release(task->departure_run);
        task->departure_run = NULL;
        task->state = TASK_OVER;
        self->over++;
        while (self->over > MIGRATIONS_REMEMBERED_MAX) forget_oldest(self);
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return NULL;
}

static bool is_worked_on(void *context, JobId job) {
    Migrations *self = context;
    (void)pthread_mutex_lock(&self->mutex);
    const MigrationTask *task = self->tasks;
    while (task && (task->state == TASK_OVER || !job_id_equal(task->job, job))) task = task->next;
    (void)pthread_mutex_unlock(&self->mutex);
    return task != NULL;
}

static void wait_a_while(Migrations *self) {
    uint64_t pause_ns =
        self->options.settle_pause_ns ? self->options.settle_pause_ns : SETTLE_PAUSE_NS;
    struct timespec until = clock_timespec(clock_now_ns(clock_real()) + pause_ns);
    while (!self->ending && pthread_cond_clockwait(
                                &self->changed, &self->mutex, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
        continue;
}

static void *run_settling(void *argument) {
    Migrations *self = argument;
    (void)pthread_mutex_lock(&self->mutex);
    while (!self->ending) {
        (void)pthread_mutex_unlock(&self->mutex);
        migration_settler_turn(self->settler);
        (void)pthread_mutex_lock(&self->mutex);
        wait_a_while(self);
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- life ---- */

static Error *start(Migrations *self) {
    const MigrationSettlerOptions settler = {.control = self->options.control,
        .arrivals = self->arrivals,
        .is_worked_on = is_worked_on,
        .context = self,
        .warn = self->options.warn};
    TRY(migration_settler_create(&settler, &self->settler));
    for (; self->thread_count < MIGRATIONS_AT_ONCE; self->thread_count++)
        if (!thread_start(&self->threads[self->thread_count], "migration", run_tasks, self))
            FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    if (!thread_start(&self->settle_thread, "settling", run_settling, self))
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    self->settles = true;
    return NULL;
}

Error *migrations_create(const MigrationsOptions *options, Migrations **out) {
    OWN(Migrations, self) = NULL;
    TRY(memory_alloc(1, sizeof *self, (void **)&self));
    self->options = *options;
    (void)pthread_mutex_init(&self->mutex, NULL);
    (void)pthread_cond_init(&self->changed, NULL);
    Metrics *metrics = control_options(options->control)->metrics;
    if (metrics)
        TRY(metrics_set_rows(
            metrics, METRIC_MIGRATIONS, outcomes, sizeof outcomes / sizeof *outcomes));
    TRY(arrival_service_create(options->control, &self->arrivals));
    TRY(start(self));
    *out = TAKE(self);
    return NULL;
}

static void end_threads(Migrations *self) {
    (void)pthread_mutex_lock(&self->mutex);
    self->ending = true;
    for (MigrationTask *task = self->tasks; task; task = task->next)
        if (task->departure_run) departure_run_cancel(task->departure_run);
    (void)pthread_cond_broadcast(&self->changed);
    (void)pthread_mutex_unlock(&self->mutex);
    for (uint32_t i = 0; i < self->thread_count; i++) (void)pthread_join(self->threads[i], NULL);
    if (self->settles) (void)pthread_join(self->settle_thread, NULL);
}

void migrations_release(Migrations *self) {
    if (!self) return;
    end_threads(self);
    for (MigrationTask *task = self->tasks, *next; task; task = next) {
        next = task->next;
        departure_run_release(task->departure_run);
        memory_free(task);
    }
    migration_settler_release(self->settler);
    arrival_service_release(self->arrivals);
    (void)pthread_cond_destroy(&self->changed);
    (void)pthread_mutex_destroy(&self->mutex);
    memory_free(self);
}

ArrivalService *migrations_arrivals(Migrations *self) { return self->arrivals; }

/* ---- what people ask for ---- */

static Error *make_options(Migrations *self, TenantId tenant, JobId job, const char *name,
    uint64_t bytes_per_s, DepartureRunOptions *out) {
    const ControlOptions *node = control_options(self->options.control);
    Tenant row;
    *out = (DepartureRunOptions){.control = self->options.control,
        .own_node = self->options.own_node,
        .tenant = tenant,
        .job = job,
        .bytes_per_s = bytes_per_s,
        .patience_ms = self->options.patience_ms};
    TRY(nodes_get(node->store, name, &out->target));
    TRY(settings_cache_get_tenant(node->settings, tenant, &row));
    (void)snprintf(out->tenant_name, sizeof out->tenant_name, "%s", row.name);
    return NULL;
}

/* Adds the task before its attempt is stored, so that the settler leaves the attempt alone. */
static Error *add_task(Migrations *self, JobId job, MigrationTask **out_task) {
    MigrationTask *task;
    TRY(memory_alloc(1, sizeof *task, (void **)&task));
    task->job = job;
    (void)pthread_mutex_lock(&self->mutex);
    bool full = self->waiting >= MIGRATIONS_WAITING_MAX;
    if (!full) {
        task->next = self->tasks;
        self->tasks = task;
        self->waiting++;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    if (full) {
        memory_free(task);
        FAIL(EXHAUSTED, "%d migrations wait already", MIGRATIONS_WAITING_MAX);
    }
    *out_task = task;
    return NULL;
}

static void drop_task(Migrations *self, MigrationTask *task) {
    (void)pthread_mutex_lock(&self->mutex);
    MigrationTask **link = &self->tasks;
    while (*link != task) link = &(*link)->next;
    *link = task->next;
    self->waiting--;
    (void)pthread_mutex_unlock(&self->mutex);
    memory_free(task);
}

static void start_task(Migrations *self, MigrationTask *task, DepartureRun *owned_run) {
    (void)pthread_mutex_lock(&self->mutex);
    task->departure_run = owned_run;
    task->state = TASK_WAITS;
    (void)pthread_cond_broadcast(&self->changed);
    (void)pthread_mutex_unlock(&self->mutex);
}

Error *migrations_begin(Migrations *self, TenantId tenant, JobId job, const char *node,
    uint64_t bytes_per_s, MigrationStatus *out_status) {
    DepartureRunOptions options;
    DepartureRun *departure_run;
    MigrationTask *task;
    TRY(make_options(self, tenant, job, node, bytes_per_s, &options));
    TRY(add_task(self, job, &task));
    Error *error = departure_run_create(&options, &departure_run);
    if (error) {
        drop_task(self, task);
        return error;
    }
    departure_run_get_status(departure_run, out_status);
    start_task(self, task, departure_run);
    return NULL;
}

bool migrations_find(Migrations *self, JobId job, MigrationStatus *out_status) {
    (void)pthread_mutex_lock(&self->mutex);
    MigrationTask *task = self->tasks;
    while (task && (task->state == TASK_BEGINS || !job_id_equal(task->job, job))) task = task->next;
    if (task && task->departure_run)
        departure_run_get_status(task->departure_run, out_status);
    else if (task)
        *out_status = task->last;
    (void)pthread_mutex_unlock(&self->mutex);
    return task != NULL;
}

Error *migrations_adopt(Migrations *self, TenantId tenant, JobId job) {
    return migration_settler_adopt(self->settler, tenant, job);
}

Error *migrations_fence(Migrations *self, uint64_t node, JobId job, int64_t epoch) {
    return migration_settler_fence(self->options.control, node, job, epoch);
}
