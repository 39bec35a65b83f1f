#pragma once
/* A scenario: devices, tenants, models, jobs and faults, described by numbers of each kind. The
 * format is described in docs/scenarios.md. Parsed and run by simulation.c and `layover simulate`.
 * Pure: plain data. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "scheduler/policy/policy_event.h"

enum {
    SCENARIO_GROUPS_MAX = 64,
    SCENARIO_DEVICES_MAX = 100000,
    SCENARIO_TENANTS_MAX = 100000,
    SCENARIO_MODELS_MAX = 100000,
    SCENARIO_JOBS_MAX = 10000000,
};
#define SCENARIO_SIZE_MAX ((size_t)4 << 20)

/* Uniform between both, ends included. */
typedef struct ScenarioRange {
    uint64_t least, greatest;
} ScenarioRange;

typedef struct ScenarioDevices {
    uint64_t count, memory_bytes, speed;
    uint64_t kernel_ns;     /* the longest kernel: a slice ends late by at most this time */
    uint64_t bytes_per_ms;  /* of loads and moves */
    uint64_t lost_every_ms; /* mean time until a device is lost; 0: never */
    uint64_t back_after_ms; /* time until a lost device is back */
} ScenarioDevices;

typedef struct ScenarioTenants {
    uint64_t count;
    uint64_t weights[SCENARIO_GROUPS_MAX]; /* used in turn, tenant by tenant */
    uint32_t weight_count;
    uint64_t limits[POLICY_QUOTA_COUNT];
} ScenarioTenants;

typedef struct ScenarioModels {
    uint64_t count;
    ScenarioRange constant_bytes;
} ScenarioModels;

typedef struct ScenarioJobs {
    uint64_t count;
    uint64_t tenant_first, tenant_count, model_first, model_count;
    uint64_t class_chances[POLICY_CLASS_COUNT]; /* in proportion */
    uint64_t start_ms, mean_gap_us;             /* Poisson arrivals; gap 0: all at start */
    ScenarioRange device_us;                    /* device-time each takes */
    ScenarioRange live_bytes, weight;
    ScenarioRange deadline_ms; /* after its arrival; 0: none */
    uint64_t device;           /* demanded; POLICY_NO_DEVICE: any */
    ScenarioRange grow_bytes;  /* when a slice ends with NEEDS_MEMORY */
    /* permille of slices (grow, block, checkpoint) and of jobs (fail, suspend, cancel) */
    uint64_t grow, block, checkpoint, fail, suspend, cancel;
    uint64_t blocked_ms, suspended_ms; /* for how long */
} ScenarioJobs;

typedef struct Scenario {
    uint64_t seed;
    PolicyEvent config;
    uint64_t slow_moves;   /* permille of moves and loads that take twenty times as long */
    uint64_t failed_moves; /* permille that fail */
    ScenarioDevices devices[SCENARIO_GROUPS_MAX];
    ScenarioTenants tenants[SCENARIO_GROUPS_MAX];
    ScenarioModels models[SCENARIO_GROUPS_MAX];
    ScenarioJobs jobs[SCENARIO_GROUPS_MAX];
    uint32_t device_groups, tenant_groups, model_groups, job_groups;
    uint64_t device_count, tenant_count, model_count, job_count;
} Scenario;

/* Sets the policy's defaults and nothing else, as a base to fill in by hand. */
void scenario_init(Scenario *out_scenario);
/* text: JSON with its NUL. Errors: INVALID, naming the key. */
MUST_CHECK Error *scenario_parse(const char *text, Scenario *out_scenario);
/* Sums up the groups and checks that everything a group names exists. Errors: INVALID. */
MUST_CHECK Error *scenario_check(Scenario *inout_scenario);
