#include "scheduler/node/message_queue.h"

#include <poll.h>
#include <stdatomic.h>

#include "base/worker_pool.h"
#include "tests/support/test_support.h"

enum { THREADS = 4, EACH = 5000 };

typedef struct Number {
    Message message;
    int thread, index;
} Number;

static Number numbers[THREADS][EACH];

typedef struct Posting {
    MessageQueue queue;
    int next[THREADS]; /* index expected from each thread */
    int handled;
} Posting;

static void handle(void *context, Message *message) {
    Posting *posting = context;
    const Number *number = (const Number *)message;
    assert_int_equal(number->index, posting->next[number->thread]++);
    posting->handled++;
}

static Error *post_all(void *context, size_t thread) {
    Posting *posting = context;
    for (int i = 0; i < EACH; i++) {
        numbers[thread][i] = (Number){{handle, NULL}, (int)thread, i};
        message_queue_post(&posting->queue, &numbers[thread][i].message);
    }
    return NULL;
}

static bool readable(const MessageQueue *queue, int timeout_ms) {
    struct pollfd poll_one = {.fd = queue->descriptor, .events = POLLIN};
    return poll(&poll_one, 1, timeout_ms) == 1;
}

typedef struct Poster {
    pthread_t thread;
    Posting *posting;
    size_t index;
} Poster;
static void *post_thread(void *argument) {
    Poster *poster = argument;
    error_free(post_all(poster->posting, poster->index));
    return NULL;
}

/* Nothing is lost, and each thread's messages keep their order. */
static void test_message_queue_keeps_every_threads_order(void **state) {
    (void)state;
    static Posting posting;
    Poster posters[THREADS];
    assert_ok(message_queue_init(&posting.queue));
    for (size_t i = 0; i < THREADS; i++) {
        posters[i] = (Poster){.posting = &posting, .index = i};
        assert_int_equal(pthread_create(&posters[i].thread, NULL, post_thread, &posters[i]), 0);
    }
    while (posting.handled < THREADS * EACH) {
        assert_true(readable(&posting.queue, 10000));
        message_queue_clear(&posting.queue);
        message_queue_handle(&posting.queue, &posting);
    }
    for (size_t i = 0; i < THREADS; i++) (void)pthread_join(posters[i].thread, NULL);
    message_queue_clear(&posting.queue);
    message_queue_handle(&posting.queue, &posting);
    assert_false(readable(&posting.queue, 0));
    assert_int_equal(posting.handled, THREADS * EACH);
    message_queue_deinit(&posting.queue);
}

static void repost(void *context, Message *message) {
    Posting *posting = context;
    if (++posting->handled % 3) message_queue_post(&posting->queue, message);
}

/* What is posted while messages are handled waits for the next time. */
static void test_message_queue_may_be_posted_to_while_handling(void **state) {
    (void)state;
    Posting posting = {.handled = 0};
    Message message = {repost, NULL};
    assert_ok(message_queue_init(&posting.queue));
    message_queue_post(&posting.queue, &message);
    for (int i = 1; i <= 3; i++) {
        assert_true(readable(&posting.queue, 0));
        message_queue_clear(&posting.queue);
        message_queue_handle(&posting.queue, &posting);
        assert_int_equal(posting.handled, i);
    }
    assert_false(readable(&posting.queue, 0));
    message_queue_deinit(&posting.queue);
}

/* While a thread has the turn, a post wakes no thread, and the turn does not end before the message
 * is handled. A message that is left wakes no thread either way. */
static void test_message_queue_keeps_the_turn_while_there_is_work(void **state) {
    (void)state;
    Posting posting = {.handled = 0};
    Message message = {repost, NULL};
    assert_ok(message_queue_init(&posting.queue));
    message_queue_leave(&posting.queue, &message);
    assert_false(readable(&posting.queue, 0));
    assert_true(message_queue_begin_turn(&posting.queue, false));
    assert_false(message_queue_begin_turn(&posting.queue, false));
    assert_false(message_queue_end_turn(&posting.queue));
    for (int i = 1; i <= 3; i++) {
        message_queue_handle(&posting.queue, &posting); /* posts the message twice again */
        assert_int_equal(message_queue_end_turn(&posting.queue), i == 3);
    }
    assert_false(readable(&posting.queue, 0));
    message_queue_deinit(&posting.queue);
}

/* A thread that insists gets one more round by the thread that has the turn; a turn that is passed
 * on wakes the waiting thread. */
static void test_message_queue_passes_the_turn_on(void **state) {
    (void)state;
    MessageQueue queue;
    assert_ok(message_queue_init(&queue));
    assert_true(message_queue_begin_turn(&queue, true));
    assert_false(message_queue_begin_turn(&queue, true));
    assert_false(message_queue_end_turn(&queue));
    assert_true(message_queue_end_turn(&queue));
    assert_true(message_queue_begin_turn(&queue, false));
    message_queue_pass_turn(&queue);
    struct pollfd poll_one = {.fd = queue.descriptor, .events = POLLIN};
    assert_int_equal(poll(&poll_one, 1, 0), 1);
    message_queue_clear(&queue);
    assert_int_equal(poll(&poll_one, 1, 0), 0);
    assert_true(message_queue_begin_turn(&queue, false));
    message_queue_deinit(&queue);
}

int test_message_queue(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_queue_keeps_every_threads_order),
        cmocka_unit_test(test_message_queue_may_be_posted_to_while_handling),
        cmocka_unit_test(test_message_queue_keeps_the_turn_while_there_is_work),
        cmocka_unit_test(test_message_queue_passes_the_turn_on),
    };
    return cmocka_run_group_tests_name("message_queue", tests, NULL, NULL);
}
