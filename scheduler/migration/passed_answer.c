#include "scheduler/migration/passed_answer.h"

#include <pthread.h>

#include "base/allocator.h"
#include "base/thread.h"

enum {
    QUEUE_MAX = 256 << 10, /* bytes that have come and are not taken; then the other node waits */
    HELD = 3 * QUEUE_MAX,  /* the queue, which grows by doubling, and the bytes that one pull
                            * takes of it */
};

typedef struct PassedAnswer {
    PassedAnswers *all;
    HttpClient *link;
    char *path;
    TenantId tenant;
    HttpClientReply reply;     /* belongs to the answer's thread */
    struct PassedAnswer *next; /* of all that have a thread */
    /* Guarded by the mutex of all. */
    ByteWriter queue;
    HttpWaker waker; /* set by start, unset by close */
    int64_t place;   /* Layover-Next */
    bool begun;      /* the head was read, or there will be none */
    bool ended;      /* the thread does not touch the answer any more */
    bool closed;     /* the reader does not want the rest */
    Error *error;    /* the result */
} PassedAnswer;

struct PassedAnswers {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* of any answer */
    PassedAnswer *running;
    bool closing;
};

Error *passed_answers_create(PassedAnswers **out_answers) {
    void *memory;
    TRY(memory_alloc(1, sizeof(PassedAnswers), &memory));
    PassedAnswers *answers = memory;
    (void)pthread_mutex_init(&answers->mutex, NULL);
    (void)pthread_cond_init(&answers->changed, NULL);
    *out_answers = answers;
    return NULL;
}

void passed_answers_release(PassedAnswers *answers) {
    if (!answers) return;
    (void)pthread_mutex_lock(&answers->mutex);
    answers->closing = true;
    (void)pthread_cond_broadcast(&answers->changed);
    while (answers->running) (void)pthread_cond_wait(&answers->changed, &answers->mutex);
    (void)pthread_mutex_unlock(&answers->mutex);
    (void)pthread_cond_destroy(&answers->changed);
    (void)pthread_mutex_destroy(&answers->mutex);
    memory_free(answers);
}

/* Called when both the thread and the stream are done with the answer. */
static void answer_free(PassedAnswer *answer) {
    if (!answer) return;
    http_client_close(answer->link);
    http_client_reply_deinit(&answer->reply);
    byte_writer_deinit(&answer->queue);
    error_free(answer->error);
    memory_free(answer->path);
    memory_free(answer);
}
DEFINE_OWN(PassedAnswer, answer_free);

/* ---- its thread ---- */

/* Under the mutex. */
static bool is_over(const PassedAnswer *answer) { return answer->closed || answer->all->closing; }

static void wake(const PassedAnswer *answer) {
    if (answer->waker.wake) answer->waker.wake(answer->waker.self);
}

static bool is_interrupted(void *self) {
    PassedAnswer *answer = self;
    (void)pthread_mutex_lock(&answer->all->mutex);
    const bool over = is_over(answer);
    (void)pthread_mutex_unlock(&answer->all->mutex);
    return over;
}

/* Under the mutex. */
static Error *append(PassedAnswer *answer, const void *data, size_t size) {
    while (!is_over(answer) && answer->queue.size >= QUEUE_MAX)
        (void)pthread_cond_wait(&answer->all->changed, &answer->all->mutex);
    if (is_over(answer)) FAIL(INTERRUPTED, "nobody reads the answer any more");
    byte_write_bytes(&answer->queue, data, size);
    return byte_writer_check(&answer->queue);
}

static Error *take(void *self, const void *data, size_t size) {
    PassedAnswer *answer = self;
    PassedAnswers *all = answer->all;
    (void)pthread_mutex_lock(&all->mutex);
    Error *error = append(answer, data, size);
    answer->place = answer->reply.next;
    answer->begun = true;
    if (answer->queue.size == size) wake(answer); /* the queue was empty, maybe only just now */
    (void)pthread_cond_broadcast(&all->changed);
    (void)pthread_mutex_unlock(&all->mutex);
    return error;
}

/* Under the mutex. */
static void unlink_answer(PassedAnswer *answer) {
    PassedAnswer **at = &answer->all->running;
    while (*at != answer) at = &(*at)->next;
    *at = answer->next;
}

static void *ask(void *self) {
    PassedAnswer *answer = self;
    PassedAnswers *all = answer->all;
    const HttpClientCall call = {.method = HTTP_METHOD_GET,
        .path = answer->path,
        .take = take,
        .take_context = answer,
        .interrupted = is_interrupted,
        .interrupted_context = answer};
    Error *error = http_client_call(answer->link, &call, &answer->reply);
    http_client_close(answer->link);
    answer->link = NULL;
    (void)pthread_mutex_lock(&all->mutex);
    unlink_answer(answer);
    answer->place = answer->reply.next;
    answer->error = error;
    answer->begun = answer->ended = true;
    wake(answer);
    if (answer->closed) answer_free(answer);
    (void)pthread_cond_broadcast(&all->changed);
    (void)pthread_mutex_unlock(&all->mutex);
    return NULL;
}

/* ---- its stream ---- */

static void start(void *self, HttpWaker waker) {
    PassedAnswer *answer = self;
    (void)pthread_mutex_lock(&answer->all->mutex);
    answer->waker = waker;
    (void)pthread_mutex_unlock(&answer->all->mutex);
}

static Error *pull(void *self, ByteWriter *out, HttpStreamState *out_state) {
    PassedAnswer *answer = self;
    PassedAnswers *all = answer->all;
    Error *error = NULL;
    (void)pthread_mutex_lock(&all->mutex);
    *out_state = answer->queue.size ? HTTP_STREAM_MORE : HTTP_STREAM_WAIT;
    if (answer->queue.size) byte_write_bytes(out, answer->queue.data, answer->queue.size);
    answer->queue.size = 0;
    if (answer->ended) {
        *out_state = HTTP_STREAM_END;
        error = answer->error;
        answer->error = NULL;
    }
    (void)pthread_cond_broadcast(&all->changed);
    (void)pthread_mutex_unlock(&all->mutex);
    TRY(error);
    return byte_writer_check(out);
}

/* The thread may still wait for the other node: then the thread frees the answer. */
static void close_answer(void *self) {
    PassedAnswer *answer = self;
    PassedAnswers *all = answer->all;
    (void)pthread_mutex_lock(&all->mutex);
    answer->closed = true;
    answer->waker = (HttpWaker){.wake = NULL};
    if (answer->ended) answer_free(answer);
    (void)pthread_cond_broadcast(&all->changed);
    (void)pthread_mutex_unlock(&all->mutex);
}

/* Under the mutex. */
static Error *add_answer(PassedAnswers *all, PassedAnswer *answer) {
    uint32_t count = 0, of_tenant = 0;
    pthread_t thread;
    for (const PassedAnswer *other = all->running; other; other = other->next) {
        count++;
        of_tenant += other->tenant == answer->tenant;
    }
    if (count >= PASSED_ANSWERS_MAX || of_tenant >= PASSED_ANSWERS_OF_TENANT_MAX)
        FAIL(EXHAUSTED,
            "outputs of %u jobs at other nodes are being read, %u of this tenant (%d and %d are "
            "allowed); try again",
            count, of_tenant, PASSED_ANSWERS_MAX, PASSED_ANSWERS_OF_TENANT_MAX);
    if (!thread_start(&thread, "passed-answer", ask, answer))
        FAIL(OUT_OF_MEMORY, "the system gives no thread to ask another node with");
    (void)pthread_detach(thread);
    answer->next = all->running;
    all->running = answer;
    return NULL;
}

static Error *make_answer(PassedAnswers *all, HttpClient *owned_link, TenantId tenant,
    const char *path, PassedAnswer **out) {
    OWN(HttpClient, link) = owned_link;
    OWN(PassedAnswer, answer) = NULL;
    TRY(memory_alloc(1, sizeof *answer, (void **)&answer));
    *answer = (PassedAnswer){.all = all, .link = TAKE(link), .tenant = tenant, .place = -1};
    TRY(memory_copy_text(path, &answer->path));
    *out = TAKE(answer);
    return NULL;
}

Error *passed_answer_open(PassedAnswers *answers, HttpClient *owned_link, TenantId tenant,
    const char *path, int64_t *out_next, HttpStream *out_stream) {
    PassedAnswer *answer;
    TRY(make_answer(answers, owned_link, tenant, path, &answer));
    (void)pthread_mutex_lock(&answers->mutex);
    Error *error = add_answer(answers, answer);
    const bool runs = !error;
    while (runs && !answer->begun) (void)pthread_cond_wait(&answers->changed, &answers->mutex);
    *out_next = answer->place;
    if (runs && answer->ended && answer->queue.size == 0) {
        error = answer->error;
        answer->error = NULL;
    }
    (void)pthread_mutex_unlock(&answers->mutex);
    if (!runs)
        answer_free(answer);
    else if (error)
        close_answer(answer);
    else
        *out_stream = (HttpStream){
            .start = start, .pull = pull, .close = close_answer, .self = answer, .held = HELD};
    return error;
}
