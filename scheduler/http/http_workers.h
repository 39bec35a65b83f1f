#pragma once
/* The threads that run handlers: a fixed number, fed by two queues of which the slow one may not
 * take them all. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Part of what it is about, so that queueing needs no memory and the queue is as long as there are
 * connections. */
typedef struct HttpTask {
    void (*run)(struct HttpTask *task); /* the task is the runner's from then on */
    bool slow;
    struct HttpTask *next;
} HttpTask;

typedef struct HttpWorkers HttpWorkers;

enum { HTTP_WORKERS_MAX = 256 };

/* count: 2 … HTTP_WORKERS_MAX; half of them may be busy with slow tasks. */
MUST_CHECK Error *http_workers_open(uint32_t count, HttpWorkers **out);
/* Runs what was posted, then ends the threads. */
void http_workers_close(HttpWorkers *workers);
DEFINE_OWN(HttpWorkers, http_workers_close);
/* Threads: any. */
void http_workers_post(HttpWorkers *workers, HttpTask *task);
