#include "tests/scheduler/random_scenario.h"

#include "tests/support/test_support.h"

#define MIB ((uint64_t)1 << 20)

static uint64_t pick(uint64_t *state, uint64_t least, uint64_t greatest) {
    return least + test_random(state) % (greatest - least + 1);
}

static bool often(uint64_t *state, uint64_t percent) { return pick(state, 1, 100) <= percent; }

static void choose_quotas(uint64_t *state, uint64_t limits[POLICY_QUOTA_COUNT]) {
    if (often(state, 30)) limits[POLICY_QUOTA_RUNNING_JOBS] = pick(state, 1, 6);
    if (often(state, 20)) limits[POLICY_QUOTA_QUEUED_JOBS] = pick(state, 1, 30);
    if (often(state, 30)) limits[POLICY_QUOTA_DEVICE_BYTES] = pick(state, 60, 400) * MIB;
    if (often(state, 30)) limits[POLICY_QUOTA_HOST_BYTES] = pick(state, 0, 100) * MIB;
    if (often(state, 10)) limits[POLICY_QUOTA_DEVICE_SECONDS_PER_HOUR] = pick(state, 1, 40);
}

static void choose_jobs(uint64_t *state, bool hostile, uint64_t devices, ScenarioJobs *jobs) {
    jobs->count = pick(state, 20, 120);
    for (int i = 0; i < POLICY_CLASS_COUNT; i++) jobs->class_chances[i] = pick(state, 0, 3);
    jobs->class_chances[pick(state, 0, 2)] += 1;
    jobs->start_ms = pick(state, 0, 1000);
    jobs->mean_gap_us = often(state, 30) ? 0 : pick(state, 100, 50000);
    jobs->device_us = (ScenarioRange){pick(state, 1, 1000), pick(state, 1000, 400000)};
    jobs->live_bytes = (ScenarioRange){0, pick(state, 1, 40) * MIB};
    jobs->weight = (ScenarioRange){1, pick(state, 1, 5)};
    if (often(state, 50)) jobs->deadline_ms = (ScenarioRange){0, pick(state, 10, 20000)};
    if (!hostile) return;
    if (often(state, 10)) jobs->device = pick(state, 0, devices - 1);
    jobs->grow = often(state, 50) ? pick(state, 1, 300) : 0;
    jobs->grow_bytes = (ScenarioRange){0, pick(state, 1, 30) * MIB};
    jobs->block = often(state, 40) ? pick(state, 1, 200) : 0;
    jobs->blocked_ms = pick(state, 0, 500);
    jobs->checkpoint = pick(state, 0, 500);
    jobs->fail = pick(state, 0, 100);
    jobs->suspend = pick(state, 0, 300);
    jobs->suspended_ms = pick(state, 0, 2000);
    jobs->cancel = pick(state, 0, 150);
}

void random_scenario(uint64_t seed, RandomScenarioKind kind, Scenario *scenario) {
    uint64_t state = seed;
    bool hostile = kind == RANDOM_HOSTILE;
    scenario_init(scenario);
    scenario->seed = seed;
    scenario->config.quantum_ns = pick(&state, 500, 20000) * 1000;
    scenario->config.floor_permille = often(&state, 80) ? 50 : pick(&state, 0, 333);
    scenario->config.floor_window_ns = pick(&state, 200, 10000) * 1000000;
    scenario->config.swap_ns = pick(&state, 0, 200) * 1000000;
    scenario->config.host_bytes = hostile ? pick(&state, 0, 200) * MIB : (uint64_t)1 << 40;
    scenario->slow_moves = hostile ? pick(&state, 0, 200) : 0;
    scenario->failed_moves = hostile && often(&state, 50) ? pick(&state, 0, 200) : 0;
    scenario->device_groups = hostile ? (uint32_t)pick(&state, 1, 3) : 1;
    for (uint32_t i = 0; i < scenario->device_groups; i++) {
        ScenarioDevices *devices = &scenario->devices[i];
        devices->count = hostile ? pick(&state, 1, 4) : 1;
        devices->memory_bytes = hostile ? pick(&state, 100, 300) * MIB : (uint64_t)1 << 40;
        devices->speed = pick(&state, 1, 4);
        devices->kernel_ns = pick(&state, 0, 5000) * 1000;
        devices->bytes_per_ms = hostile ? MIB * pick(&state, 1, 20) : (uint64_t)1 << 40;
        if (hostile && often(&state, 40)) devices->lost_every_ms = pick(&state, 200, 20000);
        devices->back_after_ms = pick(&state, 1, 3000);
    }
    scenario->tenant_groups = (uint32_t)pick(&state, 1, 4);
    for (uint32_t i = 0; i < scenario->tenant_groups; i++) {
        scenario->tenants[i].count = pick(&state, 1, 4);
        scenario->tenants[i].weights[0] = pick(&state, 1, 8);
        if (hostile) choose_quotas(&state, scenario->tenants[i].limits);
    }
    scenario->model_groups = 1;
    scenario->models[0].count = pick(&state, 1, 8);
    scenario->models[0].constant_bytes = (ScenarioRange){0, pick(&state, 0, 60) * MIB};
    scenario->job_groups = (uint32_t)pick(&state, 1, 5);
    scenario->device_count = 0;
    for (uint32_t i = 0; i < scenario->device_groups; i++)
        scenario->device_count += scenario->devices[i].count;
    for (uint32_t i = 0; i < scenario->job_groups; i++)
        choose_jobs(&state, hostile, scenario->device_count, &scenario->jobs[i]);
    assert_ok(scenario_check(scenario));
}
