#include "scheduler/policy/policy_event.h"

#include <assert.h>
#include <string.h>

#include "base/digest.h"

const PolicyEventInfo policy_event_infos[POLICY_EVENT_KIND_COUNT] = {
#define EVENT(number, name, text, fields, meaning) [number] = {text, fields, meaning},
#include "scheduler/policy/events.def"
#undef EVENT
};

const char *const policy_class_names[POLICY_CLASS_COUNT] = {"high", "normal", "low"};

bool policy_class_find(const char *name, PolicyClass *out) {
    for (uint32_t i = 0; i < POLICY_CLASS_COUNT; i++)
        if (strcmp(name, policy_class_names[i]) == 0) {
            *out = (PolicyClass)i;
            return true;
        }
    return false;
}

const char *const policy_action_names[POLICY_ACTION_KIND_COUNT] = {
#define ACTION(number, name, text, meaning) [number] = text,
#include "scheduler/policy/actions.def"
#undef ACTION
};

const char *const policy_outcome_names[POLICY_OUTCOME_COUNT] = {
#define OUTCOME(number, name, text) [number] = text,
#include "scheduler/policy/outcomes.def"
#undef OUTCOME
};

const char *const policy_quota_names[POLICY_QUOTA_COUNT] = {
    "none",
#define QUOTA(number, name, member) [number] = #member,
#include "scheduler/policy/policy_quotas.def"
#undef QUOTA
};

typedef struct FieldInfo {
    char letter;
    const char *name;
    size_t offset;
    uint64_t least, greatest;
} FieldInfo;

static const FieldInfo field_infos[] = {
#define FIELD(letter, member, least, greatest, meaning)                                            \
    {letter, #member, offsetof(PolicyEvent, member), least, greatest},
#include "scheduler/policy/event_fields.def"
#undef FIELD
};

/* The letter must be one of events.def; a test checks that all of those have a row. */
static const FieldInfo *find_field(char letter) {
    const FieldInfo *field = field_infos;
    while (field->letter != letter) {
        field++;
        assert(field < field_infos + sizeof field_infos / sizeof *field_infos);
    }
    return field;
}

uint64_t *policy_event_field(PolicyEvent *event, char letter) {
    return (uint64_t *)(void *)((char *)event + find_field(letter)->offset);
}

Error *policy_event_check(const PolicyEvent *event) {
    unsigned kind = (unsigned)event->kind;
    if (kind >= POLICY_EVENT_KIND_COUNT || !policy_event_infos[kind].name)
        FAIL(INVALID, "event %u is unknown", kind);
    for (const char *letter = policy_event_infos[kind].fields; *letter; letter++) {
        const FieldInfo *field = find_field(*letter);
        uint64_t value = *(const uint64_t *)(const void *)((const char *)event + field->offset);
        if (value < field->least || value > field->greatest)
            FAIL(INVALID, "%s: %s is %llu, not in [%llu, %llu]", policy_event_infos[kind].name,
                field->name, (unsigned long long)value, (unsigned long long)field->least,
                (unsigned long long)field->greatest);
    }
    return NULL;
}

uint64_t policy_action_digest(const PolicyAction *action, uint64_t digest) {
    const uint64_t values[] = {(uint64_t)action->kind, action->job, action->model, action->device,
        action->bytes, action->ns, (uint64_t)action->place, (uint64_t)action->reason,
        (uint64_t)action->quota, action->limit, action->used};
    enum { COUNT = sizeof values / sizeof *values };
    uint8_t bytes[COUNT * 8];
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < 8; k++) bytes[i * 8 + k] = (uint8_t)(values[i] >> (8 * k));
    return digest_xxh3_seeded(bytes, sizeof bytes, digest);
}
