#pragma once
/* What the control thread's logic asks of the world. Each function returns at once. What an order
 * leads to comes back as a message, in any order and after any time, and never during the call. The
 * daemon's ports are in control_loop.c; a test has ports of its own and drives the logic in one
 * thread. */
#include "base/clock.h"
#include "scheduler/node/message_queue.h"

typedef struct ControlMailbox {
    /* Whoever drives the logic handles the message by message->handle(control, message), on the
     * control thread, and calls control_core_turn behind it. Threads: any. */
    void (*post)(void *self, Message *message);
    void *self;
} ControlMailbox;

typedef struct ControlPorts {
    Clock clock; /* threads: any */
    ControlMailbox mailbox;
} ControlPorts;
