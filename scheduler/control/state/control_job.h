#pragma once
/* A job in memory: its identity and its parts. A part's header names the files that write the
 * part; a check compares. On the control thread, unless the part says otherwise. */
#include "scheduler/control/control_ports.h"
#include "scheduler/control/parts/job_account.h"
#include "scheduler/control/parts/job_asked.h"
#include "scheduler/control/parts/job_pending.h"
#include "scheduler/control/parts/job_slice.h"
#include "scheduler/control/machines/job_site.h"
#include "scheduler/node/job_policy.h"
#include "scheduler/policy/id_map.h"
#include "scheduler/policy/policy.h"

struct Control;
struct ControlModel;

struct ControlJob {
    IdKey number; /* {0, the policy's number} */
    struct ControlJobName {
        IdKey key; /* the job's id */
        ControlJob *job;
    } name;
    struct Control *control;
    /* Written once, when the job comes. */
    JobId id; /* number 0: the row is not stored yet */
    TenantId tenant;
    struct ControlModel *model;
    JobPolicy policy;
    int priority;
    uint32_t function;
    double deadline; /* seconds since 1970; NaN: none */

    bool transient;                   /* the job has no row; written once, when the job comes */
    struct ControlReceiver *receiver; /* of a transient job: gets its end; NULL: has got it */
    Error *failure;                   /* of a transient job that failed; the receiver's */

    bool known;           /* to the policy: from ACCEPT to FAIL, RELEASE or the end of the run */
    PolicyAction refusal; /* kind REFUSE: the policy refused the job */
    uint64_t demanded;    /* the device that the job demands; POLICY_NO_DEVICE: any */
    uint64_t kept_bytes;  /* counted in JobTable for inputs that wait in memory */
    JobSite site;         /* written by control_step_site alone, but for the device */
    JobHold hold;         /* the run; control_ports.h says who may touch it */
    JobSlice slice;
    JobPending pending;
    JobAsked asked;
    JobAccount account;
};
