#pragma once
/* The control thread's logic as a whole: its options, its ports and its parts. The fields of a part
 * stand in the part's own header, so this header shows none of them. control_core.c creates and
 * wires the parts. Options and ports are written before the first turn and read by any thread;
 * everything else belongs to the control thread unless a part's header says otherwise. */
#include "scheduler/control/control.h"
#include "scheduler/control/control_ports.h"
#include "scheduler/control/machines/control_life.h"
#include "scheduler/policy/policy.h"

struct Control {
    ControlOptions options;
    ControlPorts ports;
    ControlLife life;             /* written by control_step_life and control_fail alone */
    struct ControlShared *shared; /* control_shared.h */
    struct PolicyDriver *driver;  /* policy_driver.h */
    struct ControlOrders *orders; /* control_orders.h */
    struct JobTable *jobs;        /* control_jobs.h */
    struct JobModels *models;     /* job_models.h */
    struct TenantTable *tenants;  /* control_tenants.h */
    struct DeviceTable *devices;  /* device_table.h */
    struct JobAccounts *accounts; /* control_accounts.h */
    struct ControlWaits *waits;   /* control_waiters.h */
    struct CommitQueue *commits;  /* control_commits.h */
    struct ControlDrain *drain;   /* control_drain.h */
    /* Created and released by control_thread.c; NULL where a test makes the ports. */
    struct ControlLoop *loop;
    struct ControlExecutor *executor;
    struct ControlStore *store;
};

/* The time of the ports' clock, which is monotonic. Threads: any. */
static inline uint64_t control_now_ns(const Control *control) {
    return clock_now_ns(control->ports.clock);
}
/* The calendar time of the ports' clock in seconds since 1970. Threads: any. */
static inline double control_calendar_s(const Control *control) {
    return control->ports.clock.calendar_s(control->ports.clock.self);
}
/* The earlier of two times at which something is due; 0 stands for never. Pure. */
static inline uint64_t control_earlier_ns(uint64_t a_ns, uint64_t b_ns) {
    return a_ns && (!b_ns || a_ns < b_ns) ? a_ns : b_ns;
}
/* Posts a message to the control thread. Threads: any. */
static inline void control_post(Control *control, Message *message) {
    control->ports.mailbox.post(control->ports.mailbox.self, message);
}
