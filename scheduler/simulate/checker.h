#pragma once
/* Watches a policy's events and actions with a model of its own and reports each broken promise.
 * Called by simulation.c; belongs to the thread of its simulation.
 *
 *     jobs       accepted once, run by one device at a time, only where their state and weights
 *                are, never after their end; none forgotten
 *     memory     grants and weights on a device never exceed its memory
 *     quotas     running_jobs, queued_jobs, device_bytes, host_bytes, device_seconds_per_hour
 *     shares     of two tenants that are ready all the time on the only device, device-time over
 *                weight differs by at most slice/weight + slice/weight; a slice is quantum +
 *                longest kernel
 *     floors     a class that is ready on a device gets its floor, late by half a window at most
 *     deadlines  met, when the earliest-deadline order within the tenant's guaranteed share meets
 *                them (on the only device; see deadline_checker.h)
 *     progress   when nothing moves any more, no job waits that could continue
 *
 * Numbers of tenants, devices and models are below the counts given, job ids in [1, job_count]. */
#include <stdbool.h>

#include "scheduler/policy/policy_event.h"

enum { CHECKER_VIOLATIONS_MAX = 100 };

typedef struct Checker Checker;

typedef struct CheckerSizes {
    uint64_t tenant_count, device_count, model_count, job_count;
    uint64_t kernel_ns; /* the longest of all devices */
} CheckerSizes;

MUST_CHECK Error *checker_create(const CheckerSizes *sizes, Checker **out_checker);
void checker_release(Checker *checker);
DEFINE_OWN(Checker, checker_release);
/* Checks an event that the policy took, and its actions. */
MUST_CHECK Error *checker_apply(
    Checker *checker, const PolicyEvent *event, const PolicyAction *actions, size_t action_count);
/* Sets how much device-time the job will take, before it is submitted. The deadline of a job
 * without an expectation is not judged. */
void checker_expect(Checker *checker, uint64_t job, uint64_t device_ns);
/* Checks the promises of the end: no further event comes. */
MUST_CHECK Error *checker_finish(Checker *checker);

/* The number of all violations; only the first CHECKER_VIOLATIONS_MAX have texts. */
uint64_t checker_violation_count(const Checker *checker);
const char *checker_violation(const Checker *checker, uint64_t index);

/* How fairly a tenant was served while it waited for more device-time. */
typedef struct CheckerTenant {
    uint64_t device_ns;    /* in all */
    uint64_t entitled_ns;  /* device-time due to the tenant while it had jobs that could run and
                            * did not: its weight's part of the time that tenants like it in its
                            * class got */
    uint64_t contended_ns; /* device-time that the tenant got meanwhile */
    uint64_t weight;
    uint64_t jobs_done;
} CheckerTenant;
CheckerTenant checker_tenant(const Checker *checker, uint64_t tenant);
