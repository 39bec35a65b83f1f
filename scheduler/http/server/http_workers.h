#pragma once
/* The threads that run handlers, in lanes. Each lane has its own threads, so that slow handlers
 * hold no thread of quick ones, and the tasks of one tenant hold no more than a share of a lane.
 * Called by the server's files; post and offer from any thread.
 *
 * A tenant gets a thread of a lane while it holds fewer of them than are free: of sixteen, the
 * first tenant has eight at most, the second then four, and so on, so the next tenant always finds
 * a thread. Waiting tenants take turns. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef enum HttpLane {
    HTTP_LANE_CONTROL, /* requests that stop something: never behind the work that they would
                        * stop */
    HTTP_LANE_QUICK,
    HTTP_LANE_SLOW,
    HTTP_LANE_COMPILE, /* seconds and gigabytes each, in processes of their own */
    HTTP_LANE_COUNT,
} HttpLane;

/* A member of the object that the task works on, so that queueing needs no memory. */
typedef struct HttpTask {
    void (*run)(struct HttpTask *task); /* the task belongs to run from then on */
    HttpLane lane;
    uint64_t tenant; /* the tenant whose share of the lane the task takes; 0 counts as one tenant */
    /* Used by the lane while the task waits. */
    struct HttpTask *next;            /* of the same tenant */
    struct HttpTask *last;            /* of a tenant's first task: the tenant's last task */
    struct HttpTask *next_tenant;     /* of a tenant's first task: the first task of the tenant
                                       * whose turn is next */
    struct HttpTask *previous_tenant; /* the same of the tenant before */
    uint32_t count;                   /* of a tenant's first task: how many of its tasks wait */
} HttpTask;

typedef struct HttpWorkers HttpWorkers;

enum { HTTP_WORKERS_MAX = 256 };

/* count: 2 … HTTP_WORKERS_MAX: threads of the lanes QUICK and SLOW together, half for each; each
 * other lane has an eighth of count in addition, at least one. */
MUST_CHECK Error *http_workers_open(uint32_t count, HttpWorkers **out);
/* Runs all posted tasks, then ends the threads. */
void http_workers_close(HttpWorkers *workers);
DEFINE_OWN(HttpWorkers, http_workers_close);
/* Posts a task. Threads: any. Never waits for a running task. */
void http_workers_post(HttpWorkers *workers, HttpTask *task);
/* Posts a task, unless too many tasks of its tenant wait already. Errors: EXHAUSTED. */
MUST_CHECK Error *http_workers_offer(HttpWorkers *workers, HttpTask *task);
/* The number of threads of all lanes. */
uint32_t http_workers_thread_count(const HttpWorkers *workers);
