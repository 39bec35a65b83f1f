#pragma once
/* Jobs in memory, as the server's tests need them: they keep what was submitted, change states as
 * told, and never run anything. A transient run answers with its inputs. */
#include <pthread.h>

#include <stdatomic.h>

#include "scheduler/http/server/jobs_api.h"
#include "scheduler/node/settings_cache.h"

enum { MEMORY_JOBS_MAX = 256, MEMORY_EVENTS_MAX = 32, MEMORY_WATCHERS_MAX = 256 };

typedef struct MemoryJob {
    JobsApiJob shown;
    TenantId tenant;
    char key[JOB_KEY_SIZE];
    size_t inputs_size;
    JobsApiEvent events[MEMORY_EVENTS_MAX];
    size_t event_count;
    bool removed;
} MemoryJob;

struct MemoryWatcher;
struct MemoryWait;

typedef struct MemoryJobs {
    pthread_mutex_t mutex;
    MemoryJob jobs[MEMORY_JOBS_MAX];
    size_t count;
    struct MemoryWatcher *watchers;
    uint32_t watcher_count;
    bool holds; /* questions wait */
    struct MemoryWait *waits;
    uint32_t wait_count;
    Submission last;         /* with its policy; what it borrowed is gone */
    const char *next_state;  /* what a new job comes into at once; NULL: it stays queued */
    TenantId changed_tenant; /* whose settings were changed last; 0: none */
    TenantId stored_by;      /* who stored a model last, and its executable; 0: nobody */
    Digest stored_model;
    SettingsCache *settings; /* finds the models that runs need; NULL: every model is `model` */
    Executable *model;       /* retained; NULL: there is none */
    bool holds_runs;         /* a run ends when it is cut; otherwise at once */
    bool refuses_brief;      /* a run that must not wait finds no room */
    atomic_uint lent;        /* so many runs were lent their thread, since they were brief */
    atomic_uint runs, cuts;  /* so many runs began, and were cut */
} MemoryJobs;

void memory_jobs_init(MemoryJobs *jobs);
void memory_jobs_deinit(MemoryJobs *jobs);
JobsApi memory_jobs_api(MemoryJobs *jobs);
/* From here on questions wait until they are let go; answers how many did. */
void memory_jobs_hold(MemoryJobs *jobs);
uint32_t memory_jobs_let_go(MemoryJobs *jobs);
uint32_t memory_jobs_waits(MemoryJobs *jobs);
/* Adds an event that brings a job (by its number, from 0) into a state. */
void memory_jobs_set_state(MemoryJobs *jobs, size_t index, const char *state, bool ended);
uint32_t memory_jobs_watchers(MemoryJobs *jobs);
