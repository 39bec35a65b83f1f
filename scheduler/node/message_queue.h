#pragma once
/* Messages from workers, I/O threads and HTTP handlers to the control thread: a queue with a
 * descriptor to wait on. Any thread posts; the control thread handles. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

/* The first member of the object that is sent. */
typedef struct Message {
    void (*handle)(void *context, struct Message *message); /* called by message_queue_handle */
    struct Message *next;
} Message;

typedef struct MessageQueue {
    pthread_mutex_t mutex;
    Message *first, **last;
    atomic_bool filled; /* messages wait; for a thread that polls without sleeping */
    int descriptor;     /* readable while messages wait: eventfd */
} MessageQueue;

MUST_CHECK Error *message_queue_init(MessageQueue *queue);
void message_queue_deinit(MessageQueue *queue); /* drops messages that are still in the queue */

/* Posts a message, which belongs to the queue until it is handled. Threads: any. */
void message_queue_post(MessageQueue *queue, Message *message);
/* Handles the messages posted so far, in order. Threads: one. */
void message_queue_handle(MessageQueue *queue, void *context);
