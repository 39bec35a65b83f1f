#include "scheduler/policy/policy_state.h"

#include "base/allocator.h"

Error *policy_act(Policy *policy, PolicyAction action) {
    void *memory = policy->actions;
    TRY(memory_grow(&memory, policy->action_count, &policy->action_capacity, sizeof(PolicyAction)));
    policy->actions = memory;
    policy->actions[policy->action_count++] = action;
    policy->digest = policy_action_digest(&action, policy->digest);
    return NULL;
}
