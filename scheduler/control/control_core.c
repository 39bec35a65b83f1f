#include "scheduler/control/control_core.h"

#include "scheduler/control/control_aside.h"
#include "scheduler/control/control_internal.h"

static uint64_t earliest(uint64_t a, uint64_t b) { return a && (!b || a < b) ? a : b; }

static uint64_t next_of_device(const ControlDevice *device) {
    return earliest(device->slice_end_ns, device->running ? device->running->suspend_due_ns : 0);
}

uint64_t control_core_due_ns(const Control *control) {
    uint64_t next_ns = earliest(control->timer_ns, control->retry_ns);
    next_ns = earliest(control_devices_due_ns(control), next_ns);
    next_ns = earliest(control_aside_due_ns(control), next_ns);
    next_ns = earliest(control->late_ns, next_ns);
    for (uint32_t i = 0; i < control->device_count; i++)
        next_ns = earliest(next_of_device(&control->devices[i]), next_ns);
    if (control->draining) next_ns = earliest(control->grace_end_ns, next_ns);
    return next_ns;
}

static void handle_time(Control *control) {
    uint64_t now_ns = control_now_ns(control);
    control_end_due_slices(control, now_ns);
    if (!control->draining) control_set_due_aside(control, now_ns);
    control_answer_late(control, now_ns);
    control_retry_commits(control, now_ns);
    if (control->timer_ns && now_ns >= control->timer_ns) {
        control->timer_ns = 0;
        control_post_event(control, (PolicyEvent){.kind = POLICY_EVENT_CLOCK});
    }
}

void control_core_turn(Control *control) {
    handle_time(control);
    control_apply_events(control);
    control_settle_devices(control, control_now_ns(control));
    control_note_idle_devices(control);
    control_go_on_draining(control);
}

bool control_core_take_hurry(Control *control) {
    const bool hurries = control->slice_end_asked;
    control->slice_end_asked = false;
    return hurries;
}

bool control_core_is_over(const Control *control) { return control->ending || control->failed; }
