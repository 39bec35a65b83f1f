#pragma once
/* Decides which deadlines are feasible: met by earliest-deadline order within the guaranteed share
 * of the tenant, on one device. Jobs count from when they are ready on it; a job that moves out,
 * blocks or grows is no longer judged. A job that comes later with an earlier deadline can make
 * others infeasible. Called by the checker's files; belongs to its thread.
 *
 * The guaranteed share is weight / sum of weights of the time that the class is sure of: all but
 * the floors of the lower classes while no job of a higher class was ever accepted, its own floor
 * otherwise. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "scheduler/policy/policy_event.h"

typedef struct DeadlineChecker DeadlineChecker;

typedef struct DeadlineJob {
    uint64_t job, tenant, deadline_ns, left_ns;
    PolicyClass class_;
    bool feasible;
} DeadlineJob;

MUST_CHECK Error *deadline_checker_create(uint64_t tenant_count, DeadlineChecker **out_checker);
void deadline_checker_release(DeadlineChecker *checker);
DEFINE_OWN(DeadlineChecker, deadline_checker_release);
void deadline_checker_set_weight(DeadlineChecker *checker, uint64_t tenant, uint64_t weight);
/* slice_ns: quantum + longest kernel. */
void deadline_checker_set_config(
    DeadlineChecker *checker, const PolicyEvent *config, uint64_t slice_ns);
/* Notes that a job of that class was accepted, with or without a deadline. */
void deadline_checker_see_class(DeadlineChecker *checker, PolicyClass class_);
/* Adds a job that is ready for the first time. */
MUST_CHECK Error *deadline_checker_enter(
    DeadlineChecker *checker, const DeadlineJob *job, uint64_t now_ns);
void deadline_checker_serve(DeadlineChecker *checker, uint64_t job, uint64_t slice_ns);
/* Removes a job that ended, or is not judged any more. */
void deadline_checker_leave(DeadlineChecker *checker, uint64_t job);
bool deadline_checker_is_feasible(const DeadlineChecker *checker, uint64_t job);
