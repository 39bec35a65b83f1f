#include "scheduler/control/machines/machine.h"

#include <stddef.h>

static uint8_t find(const Machine *machine, uint8_t state, uint8_t event) {
    if (state >= machine->state_count || event >= machine->event_count) return 0;
    return machine->steps[(uint32_t)state * machine->event_count + event];
}

bool machine_has_step(const Machine *machine, uint8_t state, uint8_t event) {
    return find(machine, state, event) != 0;
}

Error *machine_step(const Machine *machine, uint8_t event, uint8_t *inout_state) {
    const uint8_t state = *inout_state, next = find(machine, state, event);
    if (!next)
        FAIL(INTERNAL, "%s: no step for event %s in state %s", machine->name,
            event < machine->event_count ? machine->events[event].name : "(none)",
            state < machine->state_count ? machine->states[state].name : "(none)");
    *inout_state = (uint8_t)(next - 1);
    return NULL;
}
