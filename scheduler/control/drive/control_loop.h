#pragma once
/* The control thread of a daemon: a queue of messages, a timer, and the thread that waits for both
 * and drives the logic. Created, started and stopped by control_thread.c on the daemon's thread.
 *
 * One thread at a time has the *turn* and drives the logic. Mostly that is the control thread. A
 * thread that has posted a message and would only wait for what comes of it takes the turn itself,
 * if it is free, which spares waking the control thread and being woken by it. */
#include "scheduler/control/control_ports.h"

struct Control;
typedef struct ControlLoop ControlLoop;

/* Creates the queue, which takes messages from here on. */
MUST_CHECK Error *control_loop_create(ControlLoop **out_loop);
/* A mailbox that posts into the loop's queue. */
ControlMailbox control_loop_get_mailbox(ControlLoop *loop);
/* Takes the turn on the caller's thread until no message is left, unless another thread has the
 * turn, which then handles what the caller posted. A slice that the logic gives to a lent thread is
 * set at lent_slice; NULL: the thread is not lent. Threads: any without a lock and without the
 * turn. */
void control_loop_help(ControlLoop *loop, WorkerSlice **out_lent_slice);
/* Starts the thread. control: borrowed until the loop is stopped. */
MUST_CHECK Error *control_loop_start(ControlLoop *loop, struct Control *control);
/* Ends the thread. Does nothing for a loop without one, or for NULL. Blocks: for a turn. */
void control_loop_stop(ControlLoop *loop);
/* Handles the messages that were posted since, on the caller's thread. Called behind
 * control_loop_stop. */
void control_loop_handle_rest(ControlLoop *loop, struct Control *control);
void control_loop_release(ControlLoop *loop);
