#pragma once
/* The order of waiting jobs: accounts (a tenant in one class) by virtual time; inside an account,
 * jobs by deadline, then by their own virtual time. Called by the other files of policy/; no state
 * but the Policy that is passed.
 *
 * Least virtual time first is stride scheduling with the accounting of start-time fair queueing. A
 * slice is charged when it starts, with its whole budget, so that one tenant does not get every
 * device that is free at this moment; when the slice ends, the unused part is given back. A seat
 * stands in its queue by the virtual time that its account had when the seat was put there. That
 * time is a lower bound (but for time that was given back meanwhile on other devices), so the top
 * seat is put back until its time is up to date: an update costs O(log n) however many devices the
 * account waits at.
 *
 * A parked seat (its tenant is over a quota) is in no queue; quota.c brings the seat back. */
#include "scheduler/policy/policy_internal.h"

/* Puts the job into the queue, in its account's seat for open jobs or in the one for jobs not yet
 * open. */
MUST_CHECK Error *fair_share_enqueue(Policy *policy, Job *job, Queue *queue);
/* Takes the job out of the queue it waits in, if any. The job keeps its seat until
 * fair_share_leave. */
void fair_share_dequeue(Policy *policy, Job *job);
/* Takes the job's seat away. */
void fair_share_leave(Policy *policy, Job *job);
/* The seat whose turn it is in that class of the queue; NULL: none. Parks seats that are over a
 * quota. */
Seat *fair_share_top(Policy *policy, Queue *queue, PolicyClass class_);
/* The seat's next job: the one with the earliest deadline, else the least virtual time. A job
 * without a deadline also comes first when the account owes such jobs their part of the time. */
Job *fair_share_first_job(const Seat *seat);
/* For two jobs of one account: whether a goes first though b has a deadline, because a's turn is
 * due from the part of jobs without deadlines. */
bool fair_share_is_due(const Job *a, const Job *b);
/* Gives the job its new place after its deadline or its account (deadline_account) changed. */
MUST_CHECK Error *fair_share_reorder(Policy *policy, Job *job, uint64_t deadline_ns);
/* Takes the seat out of its queue and puts it back, for a caller that passes the seat over for a
 * moment. */
void fair_share_set_aside(Seat *seat);
void fair_share_put_back(Seat *seat);

/* Whether a is before b: by class, account, deadline, virtual time, id. */
bool fair_share_before(const Job *a, const Job *b);
/* Whether a is so far before b that b should make room for a: a is of a higher class, or b is ahead
 * by swap_ns of device-time, or both are of one account and a has an earlier deadline. */
bool fair_share_far_before(const Policy *policy, const Job *a, const Job *b);

/* Counts one more (wake) or one less (sleep) job of the account that is ready or runs. The first
 * one wakes the account: an account that was behind begins at the least virtual time of the awake
 * ones. Waiting for memory or weights earns no credit either. */
void fair_share_wake(Policy *policy, Account *account);
void fair_share_sleep(Policy *policy, Account *account);
/* Begins (hold) or ends (drop) that a running job keeps its account awake. To start or end a slice
 * without the account falling asleep between: hold before dequeue, enqueue before drop. */
void fair_share_hold(Policy *policy, Job *job);
void fair_share_drop(Policy *policy, Job *job);
/* Charges the budget of a slice of the job that begins. */
void fair_share_charge(Job *job, uint64_t budget_ns);
/* Settles a slice of the job that took device_time_ns. */
void fair_share_settle(Policy *policy, Job *job, uint64_t device_time_ns);
/* Starts a new job's virtual time at its account's. */
void fair_share_begin_job(Job *job);
