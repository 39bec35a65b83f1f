#pragma once
/* Who is next: accounts (a tenant in one class) by virtual time, inside them jobs by deadline, then
 * by virtual time of their own.
 *
 * Least virtual time first is stride scheduling with the accounting of start-time fair queueing: a
 * slice is charged when it starts, with its whole budget, so that a tenant does not get every
 * device that is free at this moment; when it ends the difference is given back. Seats stand in
 * their queue by the virtual time they had when they were put there. It is a lower bound (but for
 * what was given back meanwhile on other devices), so the top is put back until it is up to date:
 * an update costs O(log n) however many devices the account waits at.
 *
 * A parked seat (its tenant is over a quota) is in no queue; quota.c brings it back. */
#include "scheduler/policy/policy_internal.h"

/* The job enters the queue: under its account, in the seat for open jobs or for those not yet open.
 */
MUST_CHECK Error *fair_share_enqueue(Policy *policy, Job *job, Queue *queue);
/* The job leaves the queue it waits in, if any; it keeps its seat until fair_share_leave. */
void fair_share_dequeue(Policy *policy, Job *job);
/* The job gives up its seat. */
void fair_share_leave(Policy *policy, Job *job);
/* The seat whose turn it is in that class of the queue, NULL: none. Parks those over a quota. */
Seat *fair_share_top(Policy *policy, Queue *queue, PolicyClass class_);
/* The one with the earliest deadline, or without one by virtual time: also beside a deadline, when
 * that is their part of the account's time. */
Job *fair_share_first_job(const Seat *seat);
/* Of two of one account: a is next though b has a deadline, as it is the part of those without. */
bool fair_share_is_due(const Job *a, const Job *b);
/* Its deadline is another one, or its account is (deadline_account): it takes its new place. */
MUST_CHECK Error *fair_share_reorder(Policy *policy, Job *job, uint64_t deadline_ns);
/* Out of its queue and back, for a caller that passes it over for a moment. */
void fair_share_set_aside(Seat *seat);
void fair_share_put_back(Seat *seat);

/* Whether a is before b: by class, account, deadline, virtual time, id. */
bool fair_share_before(const Job *a, const Job *b);
/* Whether it is so much before b that b should make room for it: a higher class, or swap_ns of
 * device-time behind, or, of the same account, an earlier deadline. */
bool fair_share_far_before(const Policy *policy, const Job *a, const Job *b);

/* One more, or one less, job of the account is ready or runs. The first one wakes it: it begins at
 * the least virtual time of those who are awake, if it was behind. Waiting for memory or weights is
 * no credit either. */
void fair_share_wake(Policy *policy, Account *account);
void fair_share_sleep(Policy *policy, Account *account);
/* A job that runs keeps its account awake, or no longer. To start or end a slice without the
 * account falling asleep between: hold before dequeue, enqueue before drop. */
void fair_share_hold(Policy *policy, Job *job);
void fair_share_drop(Policy *policy, Job *job);
/* A slice of the job begins, with this budget. */
void fair_share_charge(Job *job, uint64_t budget_ns);
/* The slice is over and took device_time_ns. */
void fair_share_settle(Policy *policy, Job *job, uint64_t device_time_ns);
/* Jobs begin where their account is. */
void fair_share_begin_job(Job *job);
