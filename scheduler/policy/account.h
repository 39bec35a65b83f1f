#pragma once
/* Accounts (a tenant in one class): their virtual time, and the places of their seats in queues.
 * Called by the other files of policy/; no state but the Policy that is passed.
 *
 * Least virtual time first is stride scheduling with the accounting of start-time fair queueing. A
 * slice is charged when it starts, with its whole budget, so that one tenant does not get every
 * device that is free at this moment; when the slice ends, the unused part is given back. A seat
 * stands in its queue by the virtual time that its account had when the seat was put there. That
 * time is a lower bound (but for time that was given back meanwhile on other devices), so the top
 * seat is put back until its time is up to date: an update costs O(log n) however many devices the
 * account waits at. */
#include "scheduler/policy/policy_state.h"

/* Takes the seat out of its queue and puts it back, for a caller that passes the seat over for a
 * moment. */
void account_set_aside(Seat *seat);
void account_put_back(Seat *seat);
/* Gives a queued seat its place by the account's present time. */
void account_requeue(Seat *seat);

/* Counts one more (wake) or one less (sleep) job of the account that is ready or runs. The first
 * one wakes the account: an account that was behind begins at the least virtual time of the awake
 * ones. Waiting for memory or weights earns no credit either. */
void account_wake(Policy *policy, Account *account);
void account_sleep(Policy *policy, Account *account);
/* Begins (hold) or ends (drop) that a running job keeps its account awake. To start or end a slice
 * without the account falling asleep between: hold before dequeue, enqueue before drop. */
void account_hold(Policy *policy, Job *job);
void account_drop(Policy *policy, Job *job);
/* Charges the budget of a slice of the job that begins. */
void account_charge(Job *job, uint64_t budget_ns);
/* Settles a slice of the job that took device_time_ns. */
void account_settle(Policy *policy, Job *job, uint64_t device_time_ns);
/* Starts a new job's virtual time at its account's. */
void account_begin_job(Job *job);
/* The virtual time of so much device-time, for a tenant or a job of that weight. */
VirtualTime account_virtual_time(uint64_t device_time_ns, uint64_t weight);
