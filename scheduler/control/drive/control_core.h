#pragma once
/* The control thread's logic without the thread: messages in, orders out through control_ports.h.
 * Driven by control_loop.c in a daemon and by a test in its own thread, which handle each message
 * by message->handle(control, message). On the control thread. */
#include "scheduler/control/control.h"

/* A logic without ports. */
MUST_CHECK Error *control_core_create(const ControlOptions *options, Control **out_control);
/* Opens the devices and takes up the jobs that the store holds. control->ports are set before, by
 * whoever drives it. Errors: as control_create. */
MUST_CHECK Error *control_core_begin(Control *control);
/* Every message that an order leads to was handled, or there is none to come. */
void control_core_release(Control *control);

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
