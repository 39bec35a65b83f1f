#pragma once
/* The threads that run handlers, in lanes: each has threads of its own, so that what is slow holds
 * no thread of what is quick, and tasks of one tenant no more than a share of a lane.
 *
 * A tenant gets a thread of a lane while it holds fewer of them than are free: of sixteen, the
 * first has eight at most, the second then four, and so on, so the next one always finds a thread.
 * Those who wait take turns. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef enum HttpLane {
    HTTP_LANE_CONTROL, /* what stops something: never behind what it would stop */
    HTTP_LANE_QUICK,
    HTTP_LANE_SLOW,
    HTTP_LANE_COMPILE, /* seconds and gigabytes each, in processes of their own */
    HTTP_LANE_COUNT,
} HttpLane;

/* Part of what it is about, so that queueing needs no memory. */
typedef struct HttpTask {
    void (*run)(struct HttpTask *task); /* the task is the runner's from then on */
    HttpLane lane;
    uint64_t tenant; /* whose share of the lane it takes; 0 is one, too */
    /* The lane's, while the task waits. */
    struct HttpTask *next;            /* of the same tenant */
    struct HttpTask *last;            /* of a tenant's first task: the one at its end */
    struct HttpTask *next_tenant;     /* of a tenant's first task: the one whose turn is next */
    struct HttpTask *previous_tenant; /* and the one before */
    uint32_t count;                   /* of a tenant's first task: how many wait */
} HttpTask;

typedef struct HttpWorkers HttpWorkers;

enum { HTTP_WORKERS_MAX = 256 };

/* count: 2 … HTTP_WORKERS_MAX: threads of the lanes QUICK and SLOW together, half for each; the
 * others have an eighth of it beside them, but one at least. */
MUST_CHECK Error *http_workers_open(uint32_t count, HttpWorkers **out);
/* Runs what was posted, then ends the threads. */
void http_workers_close(HttpWorkers *workers);
DEFINE_OWN(HttpWorkers, http_workers_close);
/* Threads: any. Never waits for a task that runs. */
void http_workers_post(HttpWorkers *workers, HttpTask *task);
/* The same, unless as many tasks of this tenant wait already as may. Errors: EXHAUSTED. */
MUST_CHECK Error *http_workers_offer(HttpWorkers *workers, HttpTask *task);
/* Of all lanes. */
uint32_t http_workers_thread_count(const HttpWorkers *workers);
