#include "scheduler/http/server/http_workers.h"

#include <pthread.h>

#include "base/allocator.h"
#include "base/thread.h"

typedef struct Lane {
    HttpWorkers *workers;
    pthread_mutex_t mutex; /* of this lane alone: none waits for another's */
    pthread_cond_t posted;
    HttpTask *turn;       /* a ring of tenants' first tasks; whose turn is next */
    uint32_t waiting_max; /* tasks of one tenant */
    uint32_t thread_count, running_count;
    bool closing;
    struct {
        pthread_t id;
        bool runs;
        uint64_t tenant; /* while the task runs */
    } threads[HTTP_WORKERS_MAX];
} Lane;

struct HttpWorkers {
    Lane lanes[HTTP_LANE_COUNT];
};

/* How many tasks of one tenant may wait in a lane. Each keeps its connection and its body. */
static const uint32_t waiting_max[HTTP_LANE_COUNT] = {
    [HTTP_LANE_CONTROL] = 256,
    [HTTP_LANE_QUICK] = 256,
    [HTTP_LANE_SLOW] = 256,
    [HTTP_LANE_COMPILE] = 32,
};

static HttpTask *find_tenant(const Lane *lane, uint64_t tenant) {
    HttpTask *at = lane->turn;
    if (!at) return NULL;
    do {
        if (at->tenant == tenant) return at;
        at = at->next_tenant;
    } while (at != lane->turn);
    return NULL;
}

/* Appends a tenant's tasks; a tenant that is new waits for all that are there already. */
static void put(Lane *lane, HttpTask *task, HttpTask *first) {
    task->next = NULL;
    if (first) {
        first->last->next = task;
        first->last = task;
        first->count++;
        return;
    }
    task->last = task;
    task->count = 1;
    task->next_tenant = lane->turn ? lane->turn : task;
    task->previous_tenant = lane->turn ? lane->turn->previous_tenant : task;
    task->next_tenant->previous_tenant = task;
    task->previous_tenant->next_tenant = task;
    if (!lane->turn) lane->turn = task;
}

/* Puts the tenant's next task in the place of its first one. */
static void take(Lane *lane, HttpTask *first) {
    HttpTask *after = first->next_tenant, *heir = first->next;
    if (heir) {
        heir->last = first->last;
        heir->count = first->count - 1;
        heir->next_tenant = after == first ? heir : after;
        heir->previous_tenant = after == first ? heir : first->previous_tenant;
        heir->next_tenant->previous_tenant = heir;
        heir->previous_tenant->next_tenant = heir;
        after = heir->next_tenant;
    } else {
        first->previous_tenant->next_tenant = after;
        after->previous_tenant = first->previous_tenant;
    }
    lane->turn = !heir && after == first ? NULL : after;
}

static uint32_t count_running(const Lane *lane, uint64_t tenant) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < lane->thread_count; i++)
        count += lane->threads[i].runs && lane->threads[i].tenant == tenant;
    return count;
}

/* NULL: nothing that may run now. A lane that closes runs everything. Under the mutex. */
static HttpTask *choose(Lane *lane) {
    const uint32_t free_count = lane->thread_count - lane->running_count;
    HttpTask *at = lane->turn;
    if (!at) return NULL;
    do {
        if (lane->closing || count_running(lane, at->tenant) < free_count) {
            take(lane, at);
            return at;
        }
        at = at->next_tenant;
    } while (at != lane->turn);
    return NULL;
}

static uint32_t find_self(const Lane *lane) {
    uint32_t i = 0;
    while (!pthread_equal(lane->threads[i].id, pthread_self())) i++;
    return i;
}

static void *work(void *argument) {
    Lane *lane = argument;
    (void)pthread_mutex_lock(&lane->mutex); /* held until the thread has its place */
    const uint32_t self = find_self(lane);
    for (;;) {
        HttpTask *task = choose(lane);
        if (task) {
            lane->threads[self].runs = true;
            lane->threads[self].tenant = task->tenant;
            lane->running_count++;
            (void)pthread_mutex_unlock(&lane->mutex);
            task->run(task);
            (void)pthread_mutex_lock(&lane->mutex);
            lane->threads[self].runs = false;
            lane->running_count--;
            if (lane->turn) (void)pthread_cond_signal(&lane->posted); /* one more may run now */
        } else if (lane->closing)
            break;
        else
            (void)pthread_cond_wait(&lane->posted, &lane->mutex);
    }
    (void)pthread_mutex_unlock(&lane->mutex);
    return NULL;
}

static void close_lane(Lane *lane) {
    (void)pthread_mutex_lock(&lane->mutex);
    lane->closing = true;
    (void)pthread_cond_broadcast(&lane->posted);
    (void)pthread_mutex_unlock(&lane->mutex);
    for (uint32_t i = 0; i < lane->thread_count; i++) (void)pthread_join(lane->threads[i].id, NULL);
    (void)pthread_cond_destroy(&lane->posted);
    (void)pthread_mutex_destroy(&lane->mutex);
}

void http_workers_close(HttpWorkers *workers) {
    if (!workers) return;
    for (size_t i = 0; i < HTTP_LANE_COUNT; i++) close_lane(&workers->lanes[i]);
    memory_free(workers);
}

static Error *open_threads(Lane *lane, uint32_t count) {
    static const char *const names[HTTP_LANE_COUNT] = {
        "http-control", "http-quick", "http-slow", "http-compile"};
    const char *name = names[lane - lane->workers->lanes];
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_mutex_lock(&lane->mutex);
        const bool started = thread_start(&lane->threads[i].id, name, work, lane);
        if (started) lane->thread_count++;
        (void)pthread_mutex_unlock(&lane->mutex);
        if (!started) FAIL(EXHAUSTED, "the system gives no more threads");
    }
    return NULL;
}

Error *http_workers_open(uint32_t count, HttpWorkers **out) {
    void *memory;
    if (count < 2 || count > HTTP_WORKERS_MAX)
        FAIL(INVALID, "%u handler threads; 2 to %d are possible", count, HTTP_WORKERS_MAX);
    TRY(memory_alloc(1, sizeof(HttpWorkers), &memory));
    OWN(HttpWorkers, workers) = memory;
    for (size_t i = 0; i < HTTP_LANE_COUNT; i++) {
        Lane *lane = &workers->lanes[i];
        lane->workers = workers;
        lane->waiting_max = waiting_max[i];
        (void)pthread_mutex_init(&lane->mutex, NULL);
        (void)pthread_cond_init(&lane->posted, NULL);
    }
    const uint32_t eighth = count < 8 ? 1 : count / 8;
    TRY(open_threads(&workers->lanes[HTTP_LANE_CONTROL], eighth));
    TRY(open_threads(&workers->lanes[HTTP_LANE_QUICK], count - count / 2));
    TRY(open_threads(&workers->lanes[HTTP_LANE_SLOW], count / 2));
    TRY(open_threads(&workers->lanes[HTTP_LANE_COMPILE], eighth));
    *out = TAKE(workers);
    return NULL;
}

void http_workers_post(HttpWorkers *workers, HttpTask *task) {
    Lane *lane = &workers->lanes[task->lane];
    (void)pthread_mutex_lock(&lane->mutex);
    put(lane, task, find_tenant(lane, task->tenant));
    (void)pthread_cond_signal(&lane->posted);
    (void)pthread_mutex_unlock(&lane->mutex);
}

Error *http_workers_offer(HttpWorkers *workers, HttpTask *task) {
    Lane *lane = &workers->lanes[task->lane];
    (void)pthread_mutex_lock(&lane->mutex);
    HttpTask *first = find_tenant(lane, task->tenant);
    const bool fits = !first || first->count < lane->waiting_max;
    if (fits) {
        put(lane, task, first);
        (void)pthread_cond_signal(&lane->posted);
    }
    (void)pthread_mutex_unlock(&lane->mutex);
    if (!fits)
        FAIL(EXHAUSTED, "%u requests of this tenant wait for their turn; try again later",
            lane->waiting_max);
    return NULL;
}

uint32_t http_workers_thread_count(const HttpWorkers *workers) {
    uint32_t count = 0;
    for (size_t i = 0; i < HTTP_LANE_COUNT; i++) count += workers->lanes[i].thread_count;
    return count;
}
