#pragma once
/* The devices: what they are, whether they are there, and who has them. For control_devices.c; the
 * slice of a device is control_slices.c's, control_slice_end.c's and control_aside.c's. On the
 * control thread; what says so is guarded by the status mutex. */
#include "scheduler/control/control.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/machines/device_presence.h"

/* Who has the device. */
typedef struct DeviceSlice {
    ControlJob *running; /* its slice is with the worker; guarded by status_mutex for writing */
    uint64_t end_ns;     /* when the slice is to end; 0: never */
    uint64_t give_up_ns; /* the slice was asked to end, and is set aside then; 0: it was not */
    uint64_t busy_ns;
    uint64_t last_end_ns;   /* of the slice before; 0: the device has been idle since */
    ControlJob *last;       /* whose slice that was; may be gone */
    uint64_t holder;        /* the number of the job that had the device last; 0: none yet */
    uint64_t held_since_ns; /* by that one, without another between */
} DeviceSlice;

typedef struct ControlDevice {
    ExecutorDevice facts;                   /* written under status_mutex */
    DevicePresence presence;                /* written by control_step_presence alone */
    uint64_t reopen_ns;                     /* of one that is away: when it is opened anew */
    uint64_t losses_ns[CONTROL_LOSSES_MAX]; /* the last ones, a ring */
    uint64_t loss_count;
    size_t in_flight; /* tasks that use it, and commits of snapshots in its memory */
    DeviceSlice slice;
} ControlDevice;

typedef struct DeviceTable {
    ControlDevice items[CONTROL_DEVICES_MAX];
    uint32_t count;
    size_t aside_count, patience_count; /* jobs that are aside; of them, with abandon_ns */
} DeviceTable;
