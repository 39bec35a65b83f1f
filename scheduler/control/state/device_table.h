#pragma once
/* The devices as the control thread sees them: facts, presence, and the job that has the device.
 * The fields are for control_devices.c, device_losses.c, job_check.c and the files of slices/;
 * other files ask through control_devices.h and device_slice.h. On the control thread; a field that
 * says so is guarded by the status mutex. */
#include "scheduler/control/control.h"
#include "scheduler/control/machines/device_presence.h"
#include "scheduler/control/state/control_job.h"

/* The job that has the device. */
typedef struct DeviceSlice {
    ControlJob *running; /* its slice is with the worker; guarded by the status mutex for writing */
    uint64_t end_ns;     /* when the slice is to end; 0: never */
    uint64_t give_up_ns; /* when a slice that was asked to end is set aside; 0: it was not asked */
    uint64_t busy_ns;
    uint64_t last_end_ns;   /* of the slice before; 0: the device has been idle since */
    ControlJob *last;       /* the job of that slice; it may be gone */
    uint64_t holder;        /* the number of the job that had the device last; 0: none yet */
    uint64_t held_since_ns; /* when that job got the device, without another job between */
} DeviceSlice;

typedef struct ControlDevice {
    ExecutorDevice facts;                   /* written under the status mutex */
    DevicePresence presence;                /* written by control_step_presence alone */
    uint64_t reopen_ns;                     /* when a device that is away is opened anew */
    uint64_t losses_ns[CONTROL_LOSSES_MAX]; /* the times of the last losses, a ring */
    uint64_t loss_count;
    size_t in_flight; /* tasks that use the device, and commits of snapshots in its memory */
    DeviceSlice slice;
} ControlDevice;

typedef struct DeviceTable {
    ControlDevice items[CONTROL_DEVICES_MAX];
    uint32_t count;
    size_t aside_count;    /* jobs that are aside */
    size_t patience_count; /* jobs that are aside and are abandoned at a time */
} DeviceTable;
