#include "scheduler/policy/event_log.h"
#include "scheduler/policy/policy.h"
#include "scheduler/simulate/simulation.h"

static Error *replay_event(
    Policy *policy, const PolicyEvent *event, uint64_t digest, SimulationResult *result) {
    const PolicyAction *actions;
    size_t count;
    unsigned long long number = result->events;
    TRY_WRAP(policy_apply(policy, event, &actions, &count), "event %llu", number);
    result->events++;
    result->actions += count;
    for (size_t i = 0; i < count; i++) {
        result->jobs_refused += actions[i].kind == POLICY_ACTION_REFUSE;
        result->jobs_failed += actions[i].kind == POLICY_ACTION_FAIL;
        result->jobs_cancelled += actions[i].kind == POLICY_ACTION_RELEASE;
    }
    if (event->kind == POLICY_EVENT_SLICE_ENDED) {
        result->jobs_done += event->outcome == POLICY_OUTCOME_FINISHED;
        result->jobs_failed += event->outcome == POLICY_OUTCOME_FAILED;
    }
    if (policy_get_digest(policy) != digest)
        FAIL(CONFLICT, "event %llu (%s at %llu ns): other actions than when the log was written",
            number, policy_event_infos[event->kind].name, (unsigned long long)event->time_ns);
    return NULL;
}

Error *simulation_replay(const void *log, size_t size, SimulationResult *out_result) {
    EventLogReader reader;
    OWN(Policy, policy) = NULL;
    SimulationResult result = {0};
    uint64_t first_ns = 0;
    TRY(event_log_open(log, size, &reader));
    TRY(policy_create(&policy));
    for (;;) {
        PolicyEvent event;
        uint64_t digest;
        EventLogItem item;
        TRY(event_log_read(&reader, &event, &digest, &item));
        if (item == EVENT_LOG_END && digest != policy_get_digest(policy))
            FAIL(CORRUPT, "event log: its end has another digest than its last event");
        result.complete = item == EVENT_LOG_END;
        if (item == EVENT_LOG_TORN) result.torn_bytes = byte_reader_left(&reader.bytes);
        if (item != EVENT_LOG_EVENT) break;
        if (!result.events) first_ns = event.time_ns;
        TRY(replay_event(policy, &event, digest, &result));
        result.virtual_ns = event.time_ns - first_ns;
    }
    result.digest = policy_get_digest(policy);
    *out_result = result;
    return NULL;
}
