#include "tests/scheduler/policy_fixture.h"

Error *policy_tell(PolicyFixture *fixture, PolicyEvent event) {
    event.time_ns = fixture->now_ns;
    return policy_apply(fixture->policy, &event, &fixture->actions, &fixture->action_count);
}

static PolicyEvent tenant_event(uint64_t tenant) {
    return (PolicyEvent){.kind = POLICY_EVENT_TENANT_SET,
        .tenant = tenant,
        .weight = (uint64_t)1 << tenant,
        .running_jobs = POLICY_NO_LIMIT,
        .queued_jobs = POLICY_NO_LIMIT,
        .device_bytes = POLICY_NO_LIMIT,
        .host_bytes = POLICY_NO_LIMIT,
        .device_seconds_per_hour = POLICY_NO_LIMIT};
}

void policy_fixture_init(PolicyFixture *fixture) {
    *fixture = (PolicyFixture){.now_ns = 1000 * MS};
    assert_ok(policy_create(&fixture->policy));
    assert_ok(policy_tell(fixture, (PolicyEvent){.kind = POLICY_EVENT_CONFIG,
                                       .quantum_ns = 10 * MS,
                                       .floor_permille = 50,
                                       .floor_window_ns = 10000 * MS,
                                       .swap_ns = 100 * MS,
                                       .host_bytes = 1024 * MIB}));
    for (uint64_t i = 0; i < 4; i++) assert_ok(policy_tell(fixture, tenant_event(i)));
}

void policy_fixture_deinit(PolicyFixture *fixture) { policy_release(fixture->policy); }

void policy_add_device(PolicyFixture *fixture, uint64_t device, uint64_t memory_bytes) {
    assert_ok(policy_tell(fixture, (PolicyEvent){.kind = POLICY_EVENT_DEVICE_ADDED,
                                       .device = device,
                                       .memory_bytes = memory_bytes,
                                       .speed = 1}));
}

void policy_set_limit(PolicyFixture *fixture, uint64_t tenant, PolicyQuota quota, uint64_t limit) {
    PolicyEvent event = tenant_event(tenant);
#define QUOTA(number, name, member)                                                                \
    if (quota == POLICY_QUOTA_##name) event.member = limit;
#include "scheduler/policy/policy_quotas.def"
#undef QUOTA
    assert_ok(policy_tell(fixture, event));
}

PolicyEvent policy_job(uint64_t job, uint64_t tenant) {
    return (PolicyEvent){.kind = POLICY_EVENT_JOB_SUBMITTED,
        .job = job,
        .tenant = tenant,
        .model = 1 + tenant,
        .class_ = POLICY_NORMAL,
        .weight = 1,
        .device = POLICY_NO_DEVICE,
        .constant_bytes = 10 * MIB,
        .bytes = MIB};
}

PolicyEvent policy_light_job(uint64_t job, uint64_t tenant) {
    PolicyEvent event = policy_job(job, tenant);
    event.constant_bytes = 0;
    return event;
}

void policy_submit(PolicyFixture *fixture, PolicyEvent event) {
    assert_ok(policy_tell(fixture, event));
}

void policy_about_job(PolicyFixture *fixture, PolicyEventKind kind, uint64_t job) {
    assert_ok(
        policy_tell(fixture, (PolicyEvent){.kind = kind, .job = job, .device = POLICY_NO_DEVICE}));
}

void policy_about_weights(
    PolicyFixture *fixture, PolicyEventKind kind, uint64_t model, uint64_t device, bool worked) {
    assert_ok(policy_tell(
        fixture, (PolicyEvent){.kind = kind, .model = model, .device = device, .worked = worked}));
}

void policy_moved(PolicyFixture *fixture, PolicyEventKind kind, uint64_t job, bool worked) {
    assert_ok(policy_tell(fixture, (PolicyEvent){.kind = kind, .job = job, .worked = worked}));
}

void policy_end_slice(
    PolicyFixture *fixture, uint64_t job, uint64_t device, uint64_t ns, PolicyOutcome outcome) {
    fixture->now_ns += ns;
    assert_ok(policy_tell(fixture, (PolicyEvent){.kind = POLICY_EVENT_SLICE_ENDED,
                                       .job = job,
                                       .device = device,
                                       .device_time_ns = ns,
                                       .outcome = (uint64_t)outcome}));
}

void policy_need(PolicyFixture *fixture, uint64_t job, uint64_t device, uint64_t bytes) {
    fixture->now_ns += MS;
    assert_ok(policy_tell(fixture, (PolicyEvent){.kind = POLICY_EVENT_SLICE_ENDED,
                                       .job = job,
                                       .device = device,
                                       .device_time_ns = MS,
                                       .outcome = POLICY_OUTCOME_NEEDS_MEMORY,
                                       .bytes = bytes}));
}

void policy_start(PolicyFixture *fixture, PolicyEvent job) {
    policy_submit(fixture, job);
    uint64_t running = policy_running(fixture, 0);
    /* a busy device looks at the pool at the end of a slice */
    if (!policy_action(fixture, POLICY_ACTION_LOAD_WEIGHTS) && running &&
        policy_action(fixture, POLICY_ACTION_ACCEPT))
        policy_end_slice(fixture, running, 0, 0, POLICY_OUTCOME_SLICE_ENDED);
    const PolicyAction *load = policy_action(fixture, POLICY_ACTION_LOAD_WEIGHTS);
    if (load)
        policy_about_weights(fixture, POLICY_EVENT_WEIGHTS_LOADED, load->model, load->device, true);
}

const PolicyAction *policy_action(const PolicyFixture *fixture, PolicyActionKind kind) {
    for (size_t i = 0; i < fixture->action_count; i++)
        if (fixture->actions[i].kind == kind) return &fixture->actions[i];
    return NULL;
}

const PolicyAction *policy_expect(
    const PolicyFixture *fixture, PolicyActionKind kind, uint64_t job) {
    for (size_t i = 0; i < fixture->action_count; i++)
        if (fixture->actions[i].kind == kind && fixture->actions[i].job == job)
            return &fixture->actions[i];
    fail_msg("no action %s about job %llu", policy_action_names[kind], (unsigned long long)job);
    return NULL;
}

PolicyJobState policy_state(const PolicyFixture *fixture, uint64_t job) {
    PolicyJobView view;
    assert_true(policy_find_job(fixture->policy, job, &view));
    return view.state;
}

uint64_t policy_running(const PolicyFixture *fixture, uint64_t device) {
    const Device *found = id_map_find(&fixture->policy->devices, 0, device);
    return found && found->running ? found->running->key.low : 0;
}
