#pragma once
/* Messages from workers, I/O threads and HTTP handlers to the control thread: a queue with a
 * descriptor to wait on, and the turn. The thread that has the turn handles the messages; any
 * thread may take it. While one has it, a post wakes no thread: the turn does not end before the
 * queue is empty. */
#include <pthread.h>
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
    bool held;      /* a thread has the turn */
    bool wanted;    /* another thread insisted on a turn meanwhile */
    int descriptor; /* readable when a thread is to take the turn: eventfd */
} MessageQueue;

MUST_CHECK Error *message_queue_init(MessageQueue *queue);
void message_queue_deinit(MessageQueue *queue); /* drops messages that are still in the queue */

/* Posts a message, which belongs to the queue until it is handled. Threads: any. */
void message_queue_post(MessageQueue *queue, Message *message);
/* The same, but wakes no thread: the caller takes the turn right behind this, or finds that another
 * thread has it. */
void message_queue_leave(MessageQueue *queue, Message *message);
/* Handles the messages posted so far, in order. Threads: the one that has the turn. */
void message_queue_handle(MessageQueue *queue, void *context);

/* Takes the turn. Returns false if another thread has it; that thread handles the messages that
 * were posted before this call. insists: that thread handles the queue once more in any case,
 * because something else than a message is due. Threads: any that has not the turn. */
bool message_queue_begin_turn(MessageQueue *queue, bool insists);
/* Gives the turn back. Returns false if there is more to do: the caller keeps the turn. */
bool message_queue_end_turn(MessageQueue *queue);
/* Gives the turn back in any case, and makes the descriptor readable. */
void message_queue_pass_turn(MessageQueue *queue);
/* Called when the descriptor was readable, before the turn is taken. */
void message_queue_clear(MessageQueue *queue);
