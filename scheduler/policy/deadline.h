#pragma once
/* Deadlines of jobs: how they order an account's jobs, and which ends can be promised. Called by
 * policy.c, account.c, admission.c, fair_share.c and quota.c; no state but the Policy that is
 * passed.
 *
 * Inside its account a job with a deadline goes before those without one, the earliest first (Liu
 * and Layland 1973), but never takes all of the account's time: fair_share.c keeps a part for the
 * others. A deadline that has passed has no influence on the order; the action MISSED reports it.
 *
 * A job whose device-time is known beforehand (event JOB_ESTIMATED) is given a promise: the
 * earliest end within the share that its tenant is sure of, with the tenant's earlier deadlines
 * before it. The promise counts the tenants that have jobs at that moment; a tenant that comes
 * later can make the job late. If the deadline is not before the promised end, the deadline is
 * feasible, and the job is not delayed by the floor of its class: when no more time is left than
 * the share needs, the job runs in its tenant's account of the highest class, where the tenant's
 * share bounds it like any other job. The job returns to its own account when the deadline
 * passes. */
#include "scheduler/policy/policy_state.h"

/* The part of an account's device-time that jobs without a deadline get while they wait. */
enum { DEADLINE_PLAIN_PERMILLE = 250 };

/* Registers a new job's deadline; deadline_ns 0: the job has none. The job is in no queue. */
MUST_CHECK Error *deadline_enter(Policy *policy, Job *job, uint64_t deadline_ns);
/* Drops the deadline of a job that is about to be forgotten; emits MISSED if the deadline has
 * passed. The job is in no queue. */
MUST_CHECK Error *deadline_leave(Policy *policy, Job *job);
/* Sets how much device-time the job takes in all and emits PROMISE. Does nothing for a job without
 * a deadline. */
MUST_CHECK Error *deadline_estimate(Policy *policy, Job *job, uint64_t device_time_ns);
/* Counts the device-time of a slice of the job that ended. */
void deadline_serve(Job *job, uint64_t device_time_ns);

/* A deadline that changes the order of its job at the policy's present time: the job is raised to
 * the highest class, or the deadline has passed. */
typedef struct DeadlineTurn {
    Job *job;             /* to be given to fair_share_reorder */
    uint64_t deadline_ns; /* by which the job is ordered from now on */
    bool passed;          /* deadline_tell_missed follows */
} DeadlineTurn;
/* Takes the next of these deadlines. False: none is due. */
bool deadline_take_turn(Policy *policy, DeadlineTurn *out_turn);
/* Emits MISSED. */
MUST_CHECK Error *deadline_tell_missed(Policy *policy, const Job *job);
/* The time at which deadline_take_turn has something to do next; 0: never. */
uint64_t deadline_due_ns(const Policy *policy);
/* The account that the job is charged to now: its own, or its tenant's account of the highest
 * class. */
Account *deadline_account(const Job *job);
