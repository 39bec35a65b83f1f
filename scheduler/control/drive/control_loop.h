#pragma once
/* The control thread of a daemon: a queue of messages, a timer, and the thread that waits for both
 * and drives the logic. Used by control.c. */
#include "scheduler/control/control_ports.h"

struct Control;
typedef struct ControlLoop ControlLoop;

/* The queue takes messages from here on. */
MUST_CHECK Error *control_loop_create(ControlLoop **out_loop);
/* Posts into the loop's queue. */
ControlMailbox control_loop_get_mailbox(ControlLoop *loop);
/* Begins the thread. control: borrowed until the loop is stopped. */
MUST_CHECK Error *control_loop_start(ControlLoop *loop, struct Control *control);
/* Ends the thread. Does nothing for a loop without one, or for NULL. Blocks: for a turn. */
void control_loop_stop(ControlLoop *loop);
/* Handles what was posted since, on the caller's thread. Behind control_loop_stop. */
void control_loop_handle_rest(ControlLoop *loop, struct Control *control);
void control_loop_release(ControlLoop *loop);
