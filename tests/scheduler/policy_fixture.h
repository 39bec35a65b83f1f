#pragma once
/* A policy with short ways to tell it things, and what it answered. */
#include "scheduler/policy/policy.h"
#include "scheduler/policy/policy_state.h"
#include "tests/support/test_support.h"

#define MIB ((uint64_t)1 << 20)
#define MS ((uint64_t)1000000)

typedef struct PolicyFixture {
    Policy *policy;
    uint64_t now_ns;
    const PolicyAction *actions; /* of the last event */
    size_t action_count;
} PolicyFixture;

/* Tenants 0 to 3 of weight 1, 2, 4, 8 without limits; 1 GiB of host memory; quantum 10 ms. */
void policy_fixture_init(PolicyFixture *fixture);
void policy_fixture_deinit(PolicyFixture *fixture);
#define OWN_FIXTURE(name) __attribute__((cleanup(policy_fixture_deinit))) PolicyFixture name

/* At the fixture's time. */
MUST_CHECK Error *policy_tell(PolicyFixture *fixture, PolicyEvent event);
void policy_add_device(PolicyFixture *fixture, uint64_t device, uint64_t memory_bytes);
/* A tenant without limits but one. */
void policy_set_limit(PolicyFixture *fixture, uint64_t tenant, PolicyQuota quota, uint64_t limit);
/* Model 1 + tenant of 10 MiB, 1 MiB live, class normal; change it before policy_tell. */
PolicyEvent policy_job(uint64_t job, uint64_t tenant);
/* The same, of a model without weights: nothing has to be loaded. */
PolicyEvent policy_light_job(uint64_t job, uint64_t tenant);
void policy_submit(PolicyFixture *fixture, PolicyEvent event);
void policy_about_job(PolicyFixture *fixture, PolicyEventKind kind, uint64_t job);
void policy_about_weights(
    PolicyFixture *fixture, PolicyEventKind kind, uint64_t model, uint64_t device, bool worked);
void policy_moved(PolicyFixture *fixture, PolicyEventKind kind, uint64_t job, bool worked);
/* The slice on the device ends after so long. */
void policy_end_slice(
    PolicyFixture *fixture, uint64_t job, uint64_t device, uint64_t ns, PolicyOutcome outcome);
/* bytes more are needed. */
void policy_need(PolicyFixture *fixture, uint64_t job, uint64_t device, uint64_t bytes);
/* Submits a job and loads its weights, where that is asked for. */
void policy_start(PolicyFixture *fixture, PolicyEvent job);

/* The action of that kind among the last; NULL: none. */
const PolicyAction *policy_action(const PolicyFixture *fixture, PolicyActionKind kind);
/* Fails unless there is one, and it is about the job. */
const PolicyAction *policy_expect(
    const PolicyFixture *fixture, PolicyActionKind kind, uint64_t job);
PolicyJobState policy_state(const PolicyFixture *fixture, uint64_t job);
/* The job that runs on the device; 0: none. */
uint64_t policy_running(const PolicyFixture *fixture, uint64_t device);
