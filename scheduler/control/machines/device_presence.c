#include "scheduler/control/machines/device_presence.h"

static const MachineState states[] = {
#define DEVICE_PRESENCE(state, device, meaning) {#state, #device, meaning},
#include "scheduler/control/machines/device_presence.def"
};

static const MachineEvent events[] = {
#define DEVICE_PRESENCE_EVENT(event, meaning) {#event, meaning},
#include "scheduler/control/machines/device_presence.def"
};

/* Two rows of one state and event would be an initializer that is overridden: an error. */
static const uint8_t steps[DEVICE_PRESENCE_STATE_COUNT][DEVICE_PRESENCE_EVENT_COUNT] = {
#define DEVICE_PRESENCE_STEP(from, event, to)                                                      \
    [DEVICE_PRESENCE_##from][DEVICE_PRESENCE_EVENT_##event] = 1 + DEVICE_PRESENCE_##to,
#include "scheduler/control/machines/device_presence.def"
};

const Machine device_presence_machine = {
    .name = "device presence",
    .table = "device_presence.def",
    .meaning = "Whether a device is there.",
#define DEVICE_PRESENCE_PICTURE(line) line "\n"
    .picture =
#include "scheduler/control/machines/device_presence.def"
        ,
    .columns = "device",
    .states = states,
    .events = events,
    .state_count = DEVICE_PRESENCE_STATE_COUNT,
    .event_count = DEVICE_PRESENCE_EVENT_COUNT,
    .steps = &steps[0][0],
};

enum { DEVICE_CLOSED, DEVICE_OPEN };

static const uint8_t devices[] = {
#define DEVICE_PRESENCE(state, device, meaning) DEVICE_##device,
#include "scheduler/control/machines/device_presence.def"
};

Error *device_presence_step(DevicePresence *presence, DevicePresenceEvent event) {
    return machine_step(&device_presence_machine, (uint8_t)event, &presence->state);
}

bool device_presence_is_lost(const DevicePresence *presence) {
    return presence->state != DEVICE_PRESENCE_PRESENT;
}

bool device_presence_is_open(const DevicePresence *presence) {
    return devices[presence->state] == DEVICE_OPEN;
}
