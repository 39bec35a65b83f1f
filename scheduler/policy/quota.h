#pragma once
/* Quotas of tenants: the limits, the present use, and parked seats that wait because a quota is
 * used up. Called by the other files of policy/; no state but the Policy that is passed.
 *
 *     running_jobs    executions that are open: placed once and neither finished, nor suspended by
 *                     request, nor thrown back by a lost device
 *     queued_jobs     accepted jobs that are not open and not suspended; only submitting is refused
 *     device_bytes    grants of executions on devices, and for each device the full size of the
 *                     weights they use there
 *     host_bytes      executions moved to host memory; beyond the quota they go to disk
 *     device_seconds_per_hour
 *                     over the last 60 whole minutes and the present one; slices are cut, so only
 *                     the kernel that runs at the end of a slice can pass the quota */
#include "scheduler/policy/policy_state.h"

/* Whether the tenant may have jobs of this seat placed or run now. */
bool quota_allows_seat(Policy *policy, const Seat *seat);
/* Takes a queued seat out of its queue until the tenant has room in its quotas. */
void quota_park(Policy *policy, Seat *seat);
void quota_forget_seat(Seat *seat);
/* Notes that the tenant uses less or may use more. After the event has been handled,
 * placement_offer_unparked puts the tenant's seats back into their queues and offers their jobs. */
void quota_unpark(Policy *policy, Tenant *tenant);
/* Takes the tenant's parked seats, a list by next_parked; each goes to quota_return_seat. */
Seat *quota_take_parked(Tenant *tenant);
/* Puts a seat that was parked back into its queue. */
void quota_return_seat(Policy *policy, Seat *seat);
/* Wakes tenants whose hour of device-time has moved on. */
void quota_advance(Policy *policy);
/* Asks for a timer when the next wake time has changed. */
MUST_CHECK Error *quota_set_timer(Policy *policy);

/* The longest slice the tenant may have now. */
uint64_t quota_slice_ns(Policy *policy, Tenant *tenant);
void quota_start_slice(Tenant *tenant, uint64_t budget_ns);
void quota_end_slice(Policy *policy, Tenant *tenant, uint64_t budget_ns, uint64_t device_time_ns);

/* The bytes that placing the job on the device would charge: the job's bytes, and the weights when
 * no other job of its tenant uses them there. */
uint64_t quota_device_charge(const Policy *policy, const Job *job, const Device *device);
/* Whether so many more bytes on devices are within the quota. */
bool quota_has_device_bytes(const Tenant *tenant, uint64_t bytes);
/* Whether the quota lets a job that has a device leave it for this one. */
bool quota_lets_move(const Policy *policy, const Job *job, const Device *device);
MUST_CHECK Error *quota_charge_device(Policy *policy, Job *job, Device *device);
void quota_uncharge_device(Policy *policy, Job *job, Device *device);
/* Count a job's changes of state. A job counts as queued from when it is accepted, resumed or
 * thrown back until it has memory on a device, and as running from when it has a device; on its way
 * to the device it counts as both. A suspended job counts as neither. */
void quota_enter(Job *job);
void quota_open(Job *job);
void quota_begin(Job *job);
void quota_close(Job *job);
