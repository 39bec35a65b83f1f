#pragma once
/* The order of waiting jobs: accounts (a tenant in one class) by virtual time; inside an account,
 * jobs by deadline, then by their own virtual time. Called by the other files of policy/; no state
 * but the Policy that is passed.
 *
 * account.h has the virtual times of accounts and the places of their seats.
 *
 * A parked seat (its tenant is over a quota) is in no queue; quota.c brings the seat back. */
#include "scheduler/policy/policy_state.h"

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
/* Does the same for all jobs whose deadlines are due at the policy's present time. */
MUST_CHECK Error *fair_share_advance_deadlines(Policy *policy);

/* Whether a is before b: by class, account, deadline, virtual time, id. */
bool fair_share_before(const Job *a, const Job *b);
/* Whether a is so far before b that b should make room for a: a is of a higher class, or b is ahead
 * by swap_ns of device-time, or both are of one account and a has an earlier deadline. */
bool fair_share_far_before(const Policy *policy, const Job *a, const Job *b);
