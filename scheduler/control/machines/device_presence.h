#pragma once
/* Whether a device is there: the machine of device_presence.def. For control_devices.c and
 * control_opening.c, which take its steps on the control thread, with the status mutex; other
 * threads ask with that mutex. */
#include "scheduler/control/machines/machine.h"

typedef enum DevicePresenceState {
#define DEVICE_PRESENCE(state, device, meaning) DEVICE_PRESENCE_##state,
#include "scheduler/control/machines/device_presence.def"
    DEVICE_PRESENCE_STATE_COUNT
} DevicePresenceState;

typedef enum DevicePresenceEvent {
#define DEVICE_PRESENCE_EVENT(event, meaning) DEVICE_PRESENCE_EVENT_##event,
#include "scheduler/control/machines/device_presence.def"
    DEVICE_PRESENCE_EVENT_COUNT
} DevicePresenceEvent;

extern const Machine device_presence_machine;

/* Zero: its first state. */
typedef struct DevicePresence {
    uint8_t state; /* DevicePresenceState; written by device_presence_step alone */
} DevicePresence;

/* Errors: INTERNAL there is no such step, which is a bug; the caller gives it to control_fail. */
MUST_CHECK Error *device_presence_step(DevicePresence *presence, DevicePresenceEvent event);

/* Nothing is begun on it. */
bool device_presence_is_lost(const DevicePresence *presence);
/* There is a Device to be asked, though it may be lost. */
bool device_presence_is_open(const DevicePresence *presence);
