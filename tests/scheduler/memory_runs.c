#include "tests/scheduler/memory_runs.h"

#include "base/allocator.h"

typedef struct MemoryRun {
    MemoryJobs *jobs;
    ArrayList arrays;
    HttpWaker waker;
    bool was_cut;
} MemoryRun;

Error *memory_find_model(
    void *self, const Caller *caller, const char *reference, JobsApiModel *out_model) {
    MemoryJobs *jobs = self;
    if (jobs->settings)
        return settings_cache_get_version(jobs->settings, caller->tenant, reference, out_model);
    if (!jobs->model) FAIL(NOT_FOUND, "no model %s", reference);
    *out_model = (JobsApiModel){.version = 1, .outline = executable_retain(jobs->model)};
    return NULL;
}

static void begin_run(void *self, HttpWaker waker) {
    MemoryRun *run = self;
    const bool holds = run->jobs->holds_runs;
    run->waker = waker;
    (void)atomic_fetch_add(&run->jobs->runs, 1);
    if (!holds) waker.wake(waker.self);
}

static void help_run(void *self, bool brief) {
    MemoryRun *run = self;
    if (brief) (void)atomic_fetch_add(&run->jobs->lent, 1);
}

static void cut_run(void *self) {
    MemoryRun *run = self;
    run->was_cut = true;
    (void)atomic_fetch_add(&run->jobs->cuts, 1);
    run->waker.wake(run->waker.self);
}

static void drop_run(void *self) {
    MemoryRun *run = self;
    array_list_deinit(&run->arrays);
    memory_free(run);
}

static Error *end_run(void *self, ArrayList *out_outputs, JobsApiRunTimes *out_times) {
    MemoryRun *run = self;
    const bool was_cut = run->was_cut;
    *out_times = (JobsApiRunTimes){1, 2, 1, 1, true};
    *out_outputs = run->arrays;
    run->arrays = (ArrayList){0};
    drop_run(run);
    if (was_cut) FAIL(CANCELLED, "cut");
    return NULL;
}

Error *memory_run(void *self, const Caller *caller, const JobsApiModel *model,
    Submission *inout_submission, ArrayList *inout_inputs, JobsApiRun *out_run) {
    MemoryJobs *jobs = self;
    void *memory;
    (void)caller, (void)model;
    if (jobs->refuses_brief && inout_submission->brief) FAIL(EXHAUSTED, "no room");
    TRY(memory_alloc(1, sizeof(MemoryRun), &memory));
    *(MemoryRun *)memory = (MemoryRun){.jobs = jobs, .arrays = *inout_inputs};
    *inout_inputs = (ArrayList){0};
    (void)pthread_mutex_lock(&jobs->mutex);
    submission_deinit(&jobs->last);
    jobs->last = *inout_submission;
    *inout_submission = (Submission){0};
    (void)pthread_mutex_unlock(&jobs->mutex);
    *out_run = (JobsApiRun){begin_run, help_run, cut_run, end_run, drop_run, memory};
    return NULL;
}
