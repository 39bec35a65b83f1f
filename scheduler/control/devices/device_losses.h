#pragma once
/* Losses of devices: once nothing uses a lost device, its jobs go back to what is stored of them,
 * the policy is told, and the device is closed and opened anew. For control_core.c, on the control
 * thread. */
#include "scheduler/control/state/control_state.h"

/* Goes on with losses and reopens devices as far as that is due. Called behind the turn's events;
 * the events that it posts are the caller's to apply. */
void control_settle_devices(Control *control, uint64_t now_ns);
/* When control_settle_devices is due; 0: never. */
uint64_t control_devices_due_ns(const Control *control);
