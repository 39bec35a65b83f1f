#pragma once
/* The policy, and the events that wait to be applied to it. Every file of the logic posts events;
 * control_decisions.c applies them and performs the policy's actions; control_core.c keeps the
 * policy's timer. On the control thread. */
#include "scheduler/control/state/control_state.h"

/* For policy_driver.c and control_decisions.c. */
typedef struct PolicyDriver {
    Policy *policy;
    PolicyEvent *events; /* posted, not applied yet, in their order */
    size_t event_count, event_capacity;
    uint64_t timer_ns; /* when the policy wants a CLOCK event; 0: never */
} PolicyDriver;

MUST_CHECK Error *policy_driver_init(PolicyDriver *driver);
void policy_driver_deinit(PolicyDriver *driver);

/* The policy, for questions about a job or a tenant. */
const Policy *control_get_policy(const Control *control);
/* Appends an event, stamped with the present time. The event is applied behind all earlier ones. */
void control_post_event(Control *control, PolicyEvent event);
/* Forgets the events that were posted: nothing is decided any more. */
void control_drop_events(Control *control);
/* When control_post_clock is due; 0: never. */
uint64_t control_clock_due_ns(const Control *control);
/* Posts a CLOCK event if the policy's timer is over. */
void control_post_clock(Control *control, uint64_t now_ns);
