#include "scheduler/node/refusal_text.h"

#include <stdio.h>

void refusal_text_print(const PolicyAction *action, char out_text[REFUSAL_TEXT_SIZE]) {
    unsigned long long limit = action->limit, used = action->used;
    switch (action->reason) {
    case POLICY_REASON_QUOTA:
        (void)snprintf(out_text, REFUSAL_TEXT_SIZE, "over the tenant's quota %s: %llu of %llu",
            policy_quota_names[action->quota], used, limit);
        return;
    case POLICY_REASON_DEVICE_MEMORY:
        (void)snprintf(out_text, REFUSAL_TEXT_SIZE,
            "it needs %llu bytes of a device; the largest has %llu", used, limit);
        return;
    case POLICY_REASON_NO_DEVICE:
        (void)snprintf(out_text, REFUSAL_TEXT_SIZE, "there is no such device here");
        return;
    case POLICY_REASON_RETRIES:
        (void)snprintf(out_text, REFUSAL_TEXT_SIZE,
            "its model or its state could not be loaded on any device");
        return;
    case POLICY_REASON_NONE:
        break;
    }
    (void)snprintf(out_text, REFUSAL_TEXT_SIZE, "the policy does not take it");
}
