#pragma once
/* The control thread of a daemon: a queue of messages, a timer, and the thread that waits for both
 * and drives the logic. Created, started and stopped by control_thread.c on the daemon's thread. */
#include "scheduler/control/control_ports.h"

struct Control;
typedef struct ControlLoop ControlLoop;

/* Creates the queue, which takes messages from here on. */
MUST_CHECK Error *control_loop_create(ControlLoop **out_loop);
/* A mailbox that posts into the loop's queue. */
ControlMailbox control_loop_get_mailbox(ControlLoop *loop);
/* Starts the thread. control: borrowed until the loop is stopped. */
MUST_CHECK Error *control_loop_start(ControlLoop *loop, struct Control *control);
/* Ends the thread. Does nothing for a loop without one, or for NULL. Blocks: for a turn. */
void control_loop_stop(ControlLoop *loop);
/* Handles the messages that were posted since, on the caller's thread. Called behind
 * control_loop_stop. */
void control_loop_handle_rest(ControlLoop *loop, struct Control *control);
void control_loop_release(ControlLoop *loop);
