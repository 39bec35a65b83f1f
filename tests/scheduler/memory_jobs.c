#include "tests/scheduler/memory_jobs.h"
#include "tests/scheduler/memory_runs.h"
#include "tests/scheduler/number_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json_object.h>

#include "base/allocator.h"
#include "base/file.h"

typedef struct MemoryWatcher {
    MemoryJobs *jobs;
    MemoryJob *job;
    int64_t since;
    HttpWaker waker;
    struct MemoryWatcher *next;
} MemoryWatcher;

void memory_jobs_init(MemoryJobs *jobs) {
    memset(jobs, 0, sizeof *jobs);
    (void)pthread_mutex_init(&jobs->mutex, NULL);
}

void memory_jobs_deinit(MemoryJobs *jobs) {
    submission_deinit(&jobs->last);
    executable_release(jobs->model);
    (void)pthread_mutex_destroy(&jobs->mutex);
}

static void lock(MemoryJobs *jobs) { (void)pthread_mutex_lock(&jobs->mutex); }
static void unlock(MemoryJobs *jobs) { (void)pthread_mutex_unlock(&jobs->mutex); }

/* Under the mutex, as all that follows. */
static void set_state(MemoryJobs *jobs, MemoryJob *job, const char *state, bool ended) {
    (void)snprintf(job->shown.state, sizeof job->shown.state, "%s", state);
    job->shown.ended = ended;
    if (job->event_count < MEMORY_EVENTS_MAX) {
        JobsApiEvent *event = &job->events[job->event_count++];
        event->sequence = (int64_t)job->event_count;
        event->time = 1000 + (double)job->event_count;
        (void)snprintf(event->state, sizeof event->state, "%s", state);
        (void)snprintf(event->kind, sizeof event->kind, "state");
    }
    for (MemoryWatcher *at = jobs->watchers; at; at = at->next)
        if (at->job == job) at->waker.wake(at->waker.self);
}

void memory_jobs_set_state(MemoryJobs *jobs, size_t index, const char *state, bool ended) {
    lock(jobs);
    set_state(jobs, &jobs->jobs[index], state, ended);
    unlock(jobs);
}

uint32_t memory_jobs_watchers(MemoryJobs *jobs) {
    lock(jobs);
    uint32_t count = jobs->watcher_count;
    unlock(jobs);
    return count;
}

static Error *find(MemoryJobs *jobs, const Caller *caller, const char *id, MemoryJob **out) {
    for (size_t i = 0; i < jobs->count; i++) {
        MemoryJob *job = &jobs->jobs[i];
        if (job->removed || job->tenant != caller->tenant || strcmp(job->shown.job, id)) continue;
        *out = job;
        return NULL;
    }
    FAIL(NOT_FOUND, "no job %.64s", id);
}

static Error *add(MemoryJobs *jobs, TenantId tenant, const char *model, MemoryJob **out) {
    if (jobs->count == MEMORY_JOBS_MAX)
        FAIL(EXHAUSTED, "the quota queued_jobs of %d is used up", MEMORY_JOBS_MAX);
    MemoryJob *job = &jobs->jobs[jobs->count++];
    job->tenant = tenant;
    job->shown = (JobsApiJob){.items_total = -1,
        .instructions = -1,
        .kernel_calls = -1,
        .peak_bytes = -1,
        .submitted = 1000,
        .started = NAN,
        .finished = NAN,
        .checkpoint_age_s = NAN};
    (void)snprintf(job->shown.job, sizeof job->shown.job, "0000000000aa-%zu", jobs->count);
    (void)snprintf(job->shown.model, sizeof job->shown.model, "%s", model);
    (void)snprintf(job->shown.tenant, sizeof job->shown.tenant, "%lld", (long long)tenant);
    set_state(jobs, job, "queued", false);
    if (jobs->next_state)
        set_state(jobs, job, jobs->next_state, strcmp(jobs->next_state, "suspended") != 0);
    *out = job;
    return NULL;
}

static Error *submit_locked(
    MemoryJobs *jobs, const Caller *caller, Submission *submission, JobsApiJob *out_job) {
    MemoryJob *job;
    for (size_t i = 0; submission->key && i < jobs->count; i++) {
        job = &jobs->jobs[i];
        if (job->tenant != caller->tenant || strcmp(job->key, submission->key) != 0) continue;
        if (job->inputs_size != submission->inputs_size)
            FAIL(CONFLICT, "the key %s stands for another request", submission->key);
        *out_job = job->shown;
        return NULL;
    }
    if (strcmp(submission->model, "nothing") == 0) FAIL(NOT_FOUND, "no model nothing");
    TRY(add(jobs, caller->tenant, submission->model, &job));
    job->inputs_size = submission->inputs_size;
    job->shown.priority = submission->priority;
    if (submission->policy.items) job->shown.items_total = 10;
    if (submission->key) (void)snprintf(job->key, sizeof job->key, "%s", submission->key);
    submission_deinit(&jobs->last);
    jobs->last = *submission;
    submission->policy = (JobPolicy){0}; /* a job takes it */
    *out_job = job->shown;
    return NULL;
}

static Error *submit(
    void *self, const Caller *caller, Submission *inout_submission, JobsApiJob *out_job) {
    lock(self);
    Error *error = submit_locked(self, caller, inout_submission, out_job);
    unlock(self);
    return error;
}

static Error *get(void *self, const Caller *caller, const char *id, JobsApiJob *out_job) {
    MemoryJob *job;
    lock(self);
    Error *error = find(self, caller, id, &job);
    if (!error) *out_job = job->shown;
    unlock(self);
    return error;
}

static Error *list(void *self, const Caller *caller, const char *state, int64_t after,
    size_t count_max, JobsApiJobVisitor *visit, void *context) {
    MemoryJobs *jobs = self;
    Error *error = NULL;
    if (state && strcmp(state, "queued") && strcmp(state, "suspended"))
        FAIL(INVALID, "there is no state %.64s", state);
    lock(jobs);
    for (size_t i = 0; !error && i < jobs->count; i++) {
        MemoryJob *job = &jobs->jobs[i];
        job->shown.place = (int64_t)i + 1;
        if (job->removed || job->tenant != caller->tenant || count_max == 0) continue;
        if (job->shown.place <= after || (state && strcmp(state, job->shown.state) != 0)) continue;
        count_max--;
        error = visit(context, &job->shown);
    }
    unlock(jobs);
    return error;
}

static Error *events(void *self, const Caller *caller, const char *id, int64_t after,
    size_t count_max, JobsApiEventVisitor *visit, void *context) {
    MemoryJob *job;
    lock(self);
    Error *error = find(self, caller, id, &job);
    for (size_t i = (size_t)after; !error && i < job->event_count && count_max-- > 0; i++)
        error = visit(context, &job->events[i]);
    unlock(self);
    return error;
}

static Error *outputs(void *self, const Caller *caller, const char *id, int64_t since,
    HttpStream *out_stream, JobsApiOutputs *out) {
    MemoryJob *job;
    lock(self);
    Error *error = find(self, caller, id, &job);
    unlock(self);
    TRY(error);
    *out = (JobsApiOutputs){.next = 7, .count = 7 - since};
    return number_stream_open("outputs since", since, out_stream);
}

static void watch_start(void *self, HttpWaker waker) {
    MemoryWatcher *watcher = self;
    lock(watcher->jobs);
    watcher->waker = waker;
    watcher->next = watcher->jobs->watchers;
    watcher->jobs->watchers = watcher;
    watcher->jobs->watcher_count++;
    unlock(watcher->jobs);
}

static Error *watch_pull(void *self, ByteWriter *out, HttpStreamState *out_state) {
    MemoryWatcher *watcher = self;
    lock(watcher->jobs);
    const MemoryJob *job = watcher->job;
    for (; watcher->since < (int64_t)job->event_count; watcher->since++) {
        json_object *line;
        Error *error = jobs_api_event_json(&job->events[watcher->since], &line);
        if (error) unlock(watcher->jobs);
        TRY(error);
        const char *text = json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN);
        byte_write_bytes(out, text, strlen(text));
        byte_write_bytes(out, "\n", 1);
        json_object_put(line);
    }
    *out_state = job->shown.ended ? HTTP_STREAM_END : HTTP_STREAM_WAIT;
    unlock(watcher->jobs);
    return NULL;
}

static void watch_close(void *self) {
    MemoryWatcher *watcher = self;
    MemoryJobs *jobs = watcher->jobs;
    lock(jobs);
    MemoryWatcher **at = &jobs->watchers;
    while (*at && *at != watcher) at = &(*at)->next;
    if (*at) jobs->watcher_count--;
    if (*at) *at = watcher->next;
    unlock(jobs);
    free(watcher);
}

static Error *watch(
    void *self, const Caller *caller, const char *id, int64_t since, HttpStream *out_stream) {
    MemoryJob *job;
    lock(self);
    Error *error = find(self, caller, id, &job);
    unlock(self);
    TRY(error);
    MemoryWatcher *watcher = calloc(1, sizeof *watcher);
    if (!watcher) FAIL(OUT_OF_MEMORY, "no memory for a watcher");
    *watcher = (MemoryWatcher){.jobs = self, .job = job, .since = since};
    *out_stream = (HttpStream){
        .start = watch_start, .pull = watch_pull, .close = watch_close, .self = watcher};
    return NULL;
}

static Error *change_locked(
    MemoryJobs *jobs, const Caller *caller, MemoryJob *job, JobsApiChange what, JobsApiJob *out) {
    const char *state = job->shown.state;
    bool fits = what == JOBS_API_SUSPEND  ? strcmp(state, "queued") == 0
                : what == JOBS_API_RESUME ? strcmp(state, "suspended") == 0
                : what == JOBS_API_REMOVE ? job->shown.ended
                : what == JOBS_API_CANCEL ? !job->shown.ended
                                          : true;
    if (!fits) FAIL(CONFLICT, "job %s is %s", job->shown.job, state);
    switch (what) {
    case JOBS_API_SUSPEND:
        set_state(jobs, job, "suspended", false);
        break;
    case JOBS_API_RESUME:
        set_state(jobs, job, "queued", false);
        break;
    case JOBS_API_CANCEL:
        set_state(jobs, job, "cancelled", true);
        break;
    case JOBS_API_FORK:
        TRY(add(jobs, caller->tenant, job->shown.model, &job));
        break;
    case JOBS_API_REMOVE:
        job->removed = true;
        break;
    }
    *out = job->shown;
    return NULL;
}

static Error *change(void *self, const Caller *caller, const char *id, JobsApiChange what,
    const JobsApiChangeOptions *options, JobsApiJob *out_job) {
    MemoryJob *job;
    (void)options;
    lock(self);
    Error *error = find(self, caller, id, &job);
    if (!error) error = change_locked(self, caller, job, what, out_job);
    unlock(self);
    return error;
}

/* A question that is over at once, or when memory_jobs_let_go says so. */
typedef struct MemoryWait {
    struct MemoryWait *next;
    MemoryJobs *jobs;
    Caller caller;
    char job[JOBS_API_ID_SIZE];
    JobsApiQuestion what;
    HttpWaker waker;
} MemoryWait;

static void begin_wait(void *self, HttpWaker waker) {
    MemoryWait *wait = self;
    MemoryJobs *jobs = wait->jobs;
    wait->waker = waker;
    lock(jobs);
    const bool held = jobs->holds;
    if (held) {
        wait->next = jobs->waits;
        jobs->waits = wait;
        jobs->wait_count++;
    }
    unlock(jobs);
    if (!held) waker.wake(waker.self);
}

static Error *end_wait(void *self, bool *out_suspended) {
    MemoryWait *wait = self;
    const JobsApiChange what =
        wait->what == JOBS_API_ASK_CANCEL ? JOBS_API_CANCEL : JOBS_API_SUSPEND;
    JobsApiJob job;
    Error *error = NULL;
    *out_suspended = false;
    if (wait->what != JOBS_API_ASK_CHECKPOINT && wait->what != JOBS_API_ASK_RELEASE)
        error = change(wait->jobs, &wait->caller, wait->job, what, NULL, &job);
    free(wait);
    return error;
}

static Error *ask(
    void *self, const Caller *caller, const char *id, JobsApiQuestion what, JobsApiWait *out_wait) {
    MemoryJob *job;
    lock(self);
    Error *error = find(self, caller, id, &job);
    unlock(self);
    TRY(error);
    MemoryWait *wait = calloc(1, sizeof *wait);
    if (!wait) FAIL(OUT_OF_MEMORY, "no memory for a wait");
    wait->jobs = self;
    wait->caller = *caller;
    wait->what = what;
    (void)snprintf(wait->job, sizeof wait->job, "%s", id);
    *out_wait = (JobsApiWait){.begin = begin_wait, .end = end_wait, .drop = free, .self = wait};
    return NULL;
}

void memory_jobs_hold(MemoryJobs *jobs) {
    lock(jobs);
    jobs->holds = true;
    unlock(jobs);
}

uint32_t memory_jobs_let_go(MemoryJobs *jobs) {
    lock(jobs);
    MemoryWait *wait = jobs->waits;
    const uint32_t count = jobs->wait_count;
    jobs->waits = NULL;
    jobs->wait_count = 0;
    jobs->holds = false;
    unlock(jobs);
    while (wait) {
        MemoryWait *next = wait->next; /* freed behind its end */
        wait->waker.wake(wait->waker.self);
        wait = next;
    }
    return count;
}

uint32_t memory_jobs_waits(MemoryJobs *jobs) {
    lock(jobs);
    const uint32_t count = jobs->wait_count;
    unlock(jobs);
    return count;
}

static Error *show_replay(const MemoryJob *job, const MemoryJob *replay, JobsApiVerification *out) {
    bool ended = replay->shown.ended;
    *out = (JobsApiVerification){.state = ended ? "differs" : "running",
        .checkpoint = 3,
        .outputs = 4,
        .compared = ended ? 4 : 1,
        .sequence = ended ? 7 : -1,
        .replay_class = "none"};
    (void)snprintf(out->job, sizeof out->job, "%s", job->shown.job);
    (void)snprintf(out->replay, sizeof out->replay, "%s", replay->shown.job);
    (void)snprintf(out->replay_state, sizeof out->replay_state, "%s", replay->shown.state);
    return NULL;
}

static Error *verify(void *self, const Caller *caller, const char *id, int64_t checkpoint,
    JobsApiVerification *out) {
    MemoryJobs *jobs = self;
    MemoryJob *job, *replay;
    if (checkpoint > 3) FAIL(NOT_FOUND, "job %.64s has no checkpoint %d", id, (int)checkpoint);
    lock(jobs);
    Error *error = find(jobs, caller, id, &job);
    if (!error) error = add(jobs, caller->tenant, job->shown.model, &replay);
    if (!error) error = show_replay(job, replay, out);
    unlock(jobs);
    return error;
}

/* The first job is the one that is replayed. */
static Error *verification(
    void *self, const Caller *caller, const char *id, JobsApiVerification *out) {
    MemoryJobs *jobs = self;
    MemoryJob *replay;
    lock(jobs);
    Error *error = find(jobs, caller, id, &replay);
    if (!error) error = show_replay(&jobs->jobs[0], replay, out);
    if (!error && replay->shown.ended) replay->removed = true;
    unlock(jobs);
    return error;
}

static Error *checkpoints(void *self, const Caller *caller, const char *id, int64_t after,
    size_t count_max, JobsApiCheckpointVisitor *visit, void *context) {
    MemoryJob *job;
    (void)after, (void)count_max;
    lock(self);
    Error *error = find(self, caller, id, &job);
    unlock(self);
    TRY(error);
    return visit(
        context, &(JobsApiCheckpoint){.id = 3, .time = 1001, .bytes = 5, .items_done = -1});
}

static Error *checkpoint(void *self, const Caller *caller, const char *id,
    const JobsApiCheckpointOptions *options, const char *path, HttpStream *out_stream) {
    MemoryJob *job;
    (void)out_stream;
    lock(self);
    Error *error = find(self, caller, id, &job);
    if (!error && options->release) set_state(self, job, "released", true);
    unlock(self);
    TRY(error);
    return file_write_atomic(path, "checkpoint", strlen("checkpoint"));
}

static Error *restore(void *self, const Caller *caller, const char *path,
    const JobsApiRestoreOptions *options, JobsApiJob *out_job) {
    uint8_t *data;
    size_t size;
    MemoryJob *job;
    (void)options;
    TRY(file_read(path, 1 << 20, &data, &size));
    bool right = size == strlen("checkpoint") && memcmp(data, "checkpoint", size) == 0;
    memory_unmap(data, size);
    if (!right) FAIL(CORRUPT, "this is no checkpoint file");
    lock(self);
    Error *error = add(self, caller->tenant, "restored", &job);
    if (!error) *out_job = job->shown;
    unlock(self);
    return error;
}

static Error *devices(
    void *self, const Caller *caller, JobsApiDeviceVisitor *visit, void *context) {
    static const JobsApiDevice cpu = {"cpu", "cpu", "none", .memory_bytes = 100, .free_bytes = 50};
    (void)self, (void)caller;
    return visit(context, &cpu);
}

static Error *tenants(void *self, const Caller *caller, const char *after, size_t count_max,
    JobsApiTenantVisitor *visit, void *context) {
    (void)self, (void)caller, (void)after, (void)count_max;
    return visit(context, &(JobsApiTenant){.tenant = "default", .weight = 1});
}

static void use(void *self, TenantId tenant, JobsApiUse *out_use) {
    (void)self, (void)tenant;
    *out_use = (JobsApiUse){.running_jobs = 2, .device_seconds_per_hour = 1.5};
}

static void tenant_changed(void *self, TenantId tenant) {
    MemoryJobs *jobs = self;
    lock(jobs);
    jobs->changed_tenant = tenant;
    unlock(jobs);
}

static void model_stored(void *self, TenantId tenant, const Digest *identity) {
    MemoryJobs *jobs = self;
    lock(jobs);
    jobs->stored_by = tenant;
    jobs->stored_model = *identity;
    unlock(jobs);
}

JobsApi memory_jobs_api(MemoryJobs *jobs) {
    static const JobsApiClass class_ = {
        .submit = submit,
        .get = get,
        .list = list,
        .events = events,
        .outputs = outputs,
        .watch = watch,
        .change = change,
        .ask = ask,
        .verify = verify,
        .verification = verification,
        .checkpoints = checkpoints,
        .checkpoint = checkpoint,
        .restore = restore,
        .find_model = memory_find_model,
        .run = memory_run,
        .devices = devices,
        .tenants = tenants,
        .use = use,
        .tenant_changed = tenant_changed,
        .model_stored = model_stored,
    };
    return (JobsApi){.class_ = &class_, .self = jobs};
}
