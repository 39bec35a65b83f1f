#pragma once
/* When jobs should be done: what a deadline orders, and what can be promised.
 *
 * Inside its account a job with a deadline goes before those without one, the earliest first (Liu
 * and Layland 1973), but never takes all of it: fair_share.c keeps a part for the others. A
 * deadline that has passed orders nothing any more; MISSED tells of it.
 *
 * A job whose device-time is known beforehand (JOB_ESTIMATED) is given a promise: the earliest end
 * within the share that its tenant is sure of, with the tenant's earlier deadlines before it. The
 * tenants that have jobs at that moment count; one that comes later can make it late. If the
 * deadline is not before that end, it is feasible, and the job does not stay behind the floor of
 * its class: when no more time is left than the share needs, it runs in its tenant's account of the
 * highest class, where its tenant's share bounds it as it bounds everything else. It returns when
 * the deadline passes. */
#include "scheduler/policy/policy_internal.h"

/* What of an account's device-time jobs with deadlines leave to its others while those wait. */
enum { DEADLINE_PLAIN_PERMILLE = 250 };

/* deadline_ns 0: none. The job is new and in no queue. */
MUST_CHECK Error *deadline_enter(Policy *policy, Job *job, uint64_t deadline_ns);
/* The job is about to be forgotten, and in no queue. MISSED if it has passed by now. */
MUST_CHECK Error *deadline_leave(Policy *policy, Job *job);
/* How much device-time the job takes in all; PROMISE is the answer. Nothing without a deadline. */
MUST_CHECK Error *deadline_estimate(Policy *policy, Job *job, uint64_t device_time_ns);
/* A slice of it is over. */
void deadline_serve(Job *job, uint64_t device_time_ns);
/* Does what time has come for. */
MUST_CHECK Error *deadline_advance(Policy *policy);
/* When deadline_advance has something to do; 0: never. */
uint64_t deadline_due_ns(const Policy *policy);
/* The account that the job belongs to now: its own, or that of the highest class. */
Account *deadline_account(const Job *job);
