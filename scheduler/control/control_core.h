#pragma once
/* A turn of the control thread's logic, without the thread. Called by whoever drives the logic:
 * control_loop.c in a daemon, a test in its own thread. On the control thread. */
#include "scheduler/control/control.h"

/* Does what follows from the messages that were handled and from the time: slices end, events go to
 * the policy and its actions are performed, devices come and go, a drain ends. */
void control_core_turn(Control *control);
/* When the next turn is due without a message, on the ports' clock; 0: none is. */
uint64_t control_core_due_ns(const Control *control);
/* Whether a message is expected within a kernel's time, so that waiting awake for it pays. A call
 * forgets it. */
bool control_core_take_hurry(Control *control);
/* The daemon ends or the logic has failed: no turns any more. */
bool control_core_is_over(const Control *control);
