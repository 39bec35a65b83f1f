#pragma once
/* clang-format off */
/* The scheduler's decisions as a pure function from events with their time to actions. The policy
 * has no clock and no thread, does no I/O and computes with integers only, so the same events give
 * the same actions everywhere. Called by control_decisions.c on the control thread, and by the
 * simulator and its replay (scheduler/simulate/).
 *
 * Who runs next on a device:
 *     class    high before normal before low, but each lower class is sure of its floor: it earns
 *              floor_permille of the device-time of the others while it waits, and is paid in whole
 *              slices, at slice ends only; a fresh job of a higher class preempts them
 *     tenant   the least virtual time (device-time / weight) first: stride scheduling (Waldspurger
 *              and Weihl 1995), start-time fair queueing (Goyal, Vin, Cheng 1996). Two tenants that
 *              both wait all the time differ by at most slice/weight + slice/weight, a slice being
 *              at most quantum + longest kernel. An account that wakes starts at the least virtual
 *              time of the awake ones
 *     job      the earliest deadline first (Liu and Layland 1973), then the least virtual time by
 *              job weight, then the smaller id
 *
 * States of a job here (in brackets what people are shown):
 *
 *     submitted -> WAITING -> PLACING -> (MOVING_IN) -> READY <-> RUNNING -> finished, failed
 *                     ^   [queued, running]      ^        |  \      | \
 *                     |                      GROWING <----+---\-----+  BLOCKED
 *                     +---- MOVING_OUT <---------+--------+    \
 *                     +---- SUSPENDED <---- MOVING_OUT <--------+
 *
 * A device runs one slice at a time; executions wait in its memory, in host memory or on disk. A
 * machine with several workers is several devices, each with its part of the memory.
 *
 * The caller answers each RUN, MOVE_OUT, MOVE_IN, LOAD_WEIGHTS and EVICT_WEIGHTS with the event
 * that its row in actions.def names, once. After DEVICE_LOST the caller answers nothing that was
 * asked of that device; moves from host memory to disk are still answered. A job is known until
 * SLICE_ENDED with FINISHED or FAILED, or until REFUSE, FAIL or RELEASE. */
/* clang-format on */
#include <stdbool.h>

#include "scheduler/policy/policy_event.h"

typedef struct Policy Policy;

MUST_CHECK Error *policy_create(Policy **out_policy);
void policy_release(Policy *policy);
DEFINE_OWN(Policy, policy_release);

/* Applies one event. Times never go back.
 *
 * out_actions: borrowed until the next call.
 * Errors: INVALID, NOT_FOUND, CONFLICT when the event makes no sense in the present state, which
 *         then has not changed; OUT_OF_MEMORY, after which every later call fails and the caller
 *         makes a new policy from its stored state. */
MUST_CHECK Error *policy_apply(
    Policy *policy, const PolicyEvent *event, const PolicyAction **out_actions, size_t *out_count);
/* The digest of all actions so far. */
uint64_t policy_get_digest(const Policy *policy);

typedef struct PolicyJobView {
    PolicyJobState state;
    PolicyPlace place;
    bool open;                   /* counts in running_jobs */
    bool blocked;                /* waits for UNBLOCKED, in whatever place */
    bool suspending, cancelling; /* asked for, not yet done */
    uint64_t tenant, device;     /* device: POLICY_NO_DEVICE: none */
} PolicyJobView;
bool policy_find_job(const Policy *policy, uint64_t job, PolicyJobView *out_view);

/* The reasons why a job that does not run waits, beside its turn. */
typedef struct PolicyWait {
    bool over_bytes;      /* the tenant's quota device_bytes: the job needs more than is left */
    bool weights;         /* its model's weights are being loaded on its device */
    bool room;            /* memory of its device, which is being made free */
    uint64_t bytes, left; /* bytes: needed on the device; left: of the quota, with over_bytes */
    uint64_t more_bytes;  /* GROWING: bytes asked for */
} PolicyWait;
bool policy_find_wait(const Policy *policy, uint64_t job, PolicyWait *out_wait);
/* Bytes that the job would need on the device beside those that are there, and bytes that neither
 * jobs nor weights in use hold. False: there is no such job or device. */
bool policy_find_room(
    const Policy *policy, uint64_t job, uint64_t device, uint64_t *out_needed, uint64_t *out_free);

/* What a tenant uses of its quotas. */
typedef struct PolicyUsage {
    uint64_t running_jobs, queued_jobs, device_bytes, host_bytes;
    uint64_t device_ns_last_hour;
} PolicyUsage;
bool policy_find_usage(const Policy *policy, uint64_t tenant, PolicyUsage *out_usage);
/* Bytes the policy holds for each waiting job, the job's share of the map included. */
size_t policy_bytes_per_job(void);
