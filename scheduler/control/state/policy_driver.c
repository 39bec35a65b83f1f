#include "scheduler/control/state/policy_driver.h"

#include "base/allocator.h"
#include "scheduler/control/state/control_shared.h"

Error *policy_driver_init(PolicyDriver *driver) { return policy_create(&driver->policy); }

void policy_driver_deinit(PolicyDriver *driver) {
    policy_release(driver->policy);
    memory_free(driver->events);
}

const Policy *control_get_policy(const Control *control) { return control->driver->policy; }

void control_post_event(Control *control, PolicyEvent event) {
    PolicyDriver *driver = control->driver;
    void *memory = driver->events;
    Error *error =
        memory_grow(&memory, driver->event_count, &driver->event_capacity, sizeof(PolicyEvent));
    if (error) {
        control_fail(control, error);
        return;
    }
    driver->events = memory;
    event.time_ns = control_now_ns(control);
    driver->events[driver->event_count++] = event;
}

void control_drop_events(Control *control) { control->driver->event_count = 0; }

uint64_t control_clock_due_ns(const Control *control) { return control->driver->timer_ns; }

void control_post_clock(Control *control, uint64_t now_ns) {
    if (!control->driver->timer_ns || now_ns < control->driver->timer_ns) return;
    control->driver->timer_ns = 0;
    control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_CLOCK});
}
