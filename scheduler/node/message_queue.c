#include "scheduler/node/message_queue.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

Error *message_queue_init(MessageQueue *queue) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) FAIL(IO, "cannot make an event descriptor: %s", strerror(errno));
    *queue = (MessageQueue){.descriptor = descriptor};
    queue->last = &queue->first;
    (void)pthread_mutex_init(&queue->mutex, NULL);
    return NULL;
}

void message_queue_deinit(MessageQueue *queue) {
    if (!queue->last) return; /* never initialised */
    (void)close(queue->descriptor);
    (void)pthread_mutex_destroy(&queue->mutex);
    *queue = (MessageQueue){.descriptor = -1};
}

static void ring(const MessageQueue *queue) {
    const uint64_t one = 1;
    (void)!write(queue->descriptor, &one, sizeof one); /* full means readable, too */
}

/* Under the mutex. */
static void append(MessageQueue *queue, Message *message) {
    message->next = NULL;
    *queue->last = message;
    queue->last = &message->next;
}

void message_queue_post(MessageQueue *queue, Message *message) {
    (void)pthread_mutex_lock(&queue->mutex);
    const bool wake = !queue->held; /* a message that was left may be there without a ring */
    append(queue, message);
    (void)pthread_mutex_unlock(&queue->mutex);
    if (wake) ring(queue);
}

void message_queue_leave(MessageQueue *queue, Message *message) {
    (void)pthread_mutex_lock(&queue->mutex);
    append(queue, message);
    (void)pthread_mutex_unlock(&queue->mutex);
}

void message_queue_handle(MessageQueue *queue, void *context) {
    (void)pthread_mutex_lock(&queue->mutex);
    Message *message = queue->first;
    queue->first = NULL;
    queue->last = &queue->first;
    (void)pthread_mutex_unlock(&queue->mutex);
    while (message) {
        Message *next = message->next; /* handling may free it */
        message->handle(context, message);
        message = next;
    }
}

bool message_queue_begin_turn(MessageQueue *queue, bool insists) {
    (void)pthread_mutex_lock(&queue->mutex);
    const bool begins = !queue->held;
    queue->held = true;
    if (!begins && insists) queue->wanted = true;
    (void)pthread_mutex_unlock(&queue->mutex);
    return begins;
}

bool message_queue_end_turn(MessageQueue *queue) {
    (void)pthread_mutex_lock(&queue->mutex);
    const bool ends = !queue->first && !queue->wanted;
    queue->held = !ends;
    queue->wanted = false;
    (void)pthread_mutex_unlock(&queue->mutex);
    return ends;
}

void message_queue_pass_turn(MessageQueue *queue) {
    (void)pthread_mutex_lock(&queue->mutex);
    queue->held = false;
    (void)pthread_mutex_unlock(&queue->mutex);
    ring(queue);
}

void message_queue_clear(MessageQueue *queue) {
    uint64_t count;
    (void)!read(queue->descriptor, &count, sizeof count);
}
