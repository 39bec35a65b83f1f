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

void message_queue_post(MessageQueue *queue, Message *message) {
    message->next = NULL;
    (void)pthread_mutex_lock(&queue->mutex);
    bool wake = !queue->first;
    *queue->last = message;
    queue->last = &message->next;
    atomic_store_explicit(&queue->filled, true, memory_order_release);
    (void)pthread_mutex_unlock(&queue->mutex);
    uint64_t one = 1;
    if (wake) (void)!write(queue->descriptor, &one, sizeof one); /* full means readable, too */
}

void message_queue_handle(MessageQueue *queue, void *context) {
    uint64_t count;
    (void)!read(queue->descriptor, &count, sizeof count); /* before the list is taken */
    (void)pthread_mutex_lock(&queue->mutex);
    Message *message = queue->first;
    queue->first = NULL;
    queue->last = &queue->first;
    atomic_store_explicit(&queue->filled, false, memory_order_relaxed);
    (void)pthread_mutex_unlock(&queue->mutex);
    while (message) {
        Message *next = message->next; /* handling may free it */
        message->handle(context, message);
        message = next;
    }
}
