#include "scheduler/daemon/end_limit.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/thread.h"

struct EndLimit {
    uint64_t due_ns;
    void (*cut)(void *context, size_t left, const char *words);
    void *context;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    bool over;
    size_t left;
    char *words; /* NULL: none */
};

static void *thread_main(void *argument) {
    EndLimit *limit = argument;
    const struct timespec due = clock_timespec(limit->due_ns);
    (void)pthread_mutex_lock(&limit->mutex);
    while (!limit->over && clock_now_ns(clock_real()) < limit->due_ns)
        (void)pthread_cond_timedwait(&limit->changed, &limit->mutex, &due);
    if (!limit->over) limit->cut(limit->context, limit->left, limit->words ? limit->words : "");
    (void)pthread_mutex_unlock(&limit->mutex);
    return NULL;
}

static void free_limit(EndLimit *limit) {
    (void)pthread_cond_destroy(&limit->changed);
    (void)pthread_mutex_destroy(&limit->mutex);
    memory_free(limit->words);
    memory_free(limit);
}

Error *end_limit_start(uint64_t due_ns, void (*cut)(void *context, size_t left, const char *words),
    void *context, EndLimit **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(EndLimit), &memory));
    EndLimit *limit = memory;
    limit->due_ns = due_ns;
    limit->cut = cut;
    limit->context = context;
    limit->left = SIZE_MAX;
    (void)pthread_mutex_init(&limit->mutex, NULL);
    thread_condition_init(&limit->changed);
    if (!thread_start(&limit->thread, "end-limit", thread_main, limit)) {
        free_limit(limit);
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    }
    *out = limit;
    return NULL;
}

void end_limit_tell(EndLimit *limit, size_t left, const char *words) {
    char *copy = NULL;
    error_free(memory_copy_text(words, &copy)); /* without memory there are no words */
    (void)pthread_mutex_lock(&limit->mutex);
    memory_free(limit->words);
    limit->words = copy;
    limit->left = left;
    (void)pthread_mutex_unlock(&limit->mutex);
}

void end_limit_release(EndLimit *limit) {
    if (!limit) return;
    (void)pthread_mutex_lock(&limit->mutex);
    limit->over = true;
    (void)pthread_cond_broadcast(&limit->changed);
    (void)pthread_mutex_unlock(&limit->mutex);
    (void)pthread_join(limit->thread, NULL);
    free_limit(limit);
}
