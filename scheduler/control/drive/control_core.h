#pragma once
/* The control thread's logic without the thread: messages in, orders out through control_ports.h.
 * The driver is control_loop.c in a daemon and control_world.c in tests. It handles each message by
 * message->handle(control, message) and then takes a turn. On the control thread. */
#include "scheduler/control/control.h"

/* Creates a logic without ports. */
MUST_CHECK Error *control_core_create(const ControlOptions *options, Control **out_control);
/* Opens the devices and takes up the jobs that the store holds. The driver sets control->ports
 * before. Errors: as control_create. */
MUST_CHECK Error *control_core_begin(Control *control);
/* Called when every message of an order was handled. */
void control_core_release(Control *control);

/* Takes a turn: slices whose time is over end, events go to the policy, its actions are performed,
 * devices come and go, a drain ends. Called behind every message and when a turn is due. */
void control_core_turn(Control *control);
/* When the next turn is due without a message, on the ports' clock; 0: never. */
uint64_t control_core_due_ns(const Control *control);
/* True: the daemon ends or the logic has failed, and no turn is taken any more. */
bool control_core_is_over(const Control *control);
