#pragma once
/* The policy's events and actions as plain data, with their tables of names and fields. Included by
 * the policy, the control thread, the event log and the simulator. Pure: constant tables and
 * functions without state. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define POLICY_NO_DEVICE ((uint64_t)UINT32_MAX)
#define POLICY_ID_MAX ((uint64_t)UINT32_MAX)
#define POLICY_NO_LIMIT UINT64_MAX
#define POLICY_WEIGHT_MAX ((uint64_t)1 << 20)
/* Sums of a million sizes or times within these bounds fit 64 bits. */
#define POLICY_BYTES_MAX ((uint64_t)1 << 44)
#define POLICY_TIME_MAX ((uint64_t)1 << 44) /* ns: almost five hours in one slice */
#define POLICY_QUANTUM_MIN ((uint64_t)1000)

/* Upper bound on different sizes of device memory; a device with one more is refused. */
enum { POLICY_MEMORY_SIZES_MAX = 64 };

typedef enum PolicyClass { POLICY_HIGH, POLICY_NORMAL, POLICY_LOW, POLICY_CLASS_COUNT } PolicyClass;
extern const char *const policy_class_names[POLICY_CLASS_COUNT]; /* as the command line and HTTP
                                                                  * write them */
bool policy_class_find(const char *name, PolicyClass *out);

/* Where the state of an execution is. NONE: the execution starts from its inputs. */
typedef enum PolicyPlace {
    POLICY_PLACE_NONE,
    POLICY_PLACE_DEVICE,
    POLICY_PLACE_HOST,
    POLICY_PLACE_DISK,
    POLICY_PLACE_COUNT
} PolicyPlace;

/* Where a job is on its way: the picture in policy.h. */
typedef enum PolicyJobState {
    POLICY_JOB_WAITING,    /* in the pool, or before the device that the job demands */
    POLICY_JOB_PLACING,    /* has a device; waits for room or weights there */
    POLICY_JOB_MOVING_IN,  /* its state is being moved to the device */
    POLICY_JOB_READY,      /* could run */
    POLICY_JOB_RUNNING,    /* has the device */
    POLICY_JOB_GROWING,    /* waits for more memory on its device */
    POLICY_JOB_BLOCKED,    /* waits for the event UNBLOCKED */
    POLICY_JOB_MOVING_OUT, /* its state is being moved to host memory or disk */
    POLICY_JOB_SUSPENDED,  /* suspended by request */
} PolicyJobState;

typedef enum PolicyOutcome {
#define OUTCOME(number, name, text) POLICY_OUTCOME_##name = number,
#include "scheduler/policy/outcomes.def"
#undef OUTCOME
    POLICY_OUTCOME_COUNT
} PolicyOutcome;

typedef enum PolicyQuota {
    POLICY_QUOTA_NONE,
#define QUOTA(number, name, member) POLICY_QUOTA_##name = number,
#include "scheduler/policy/policy_quotas.def"
#undef QUOTA
    POLICY_QUOTA_COUNT
} PolicyQuota;

typedef enum PolicyReason {
    POLICY_REASON_NONE,
    POLICY_REASON_QUOTA,         /* over a quota of the tenant */
    POLICY_REASON_DEVICE_MEMORY, /* needs more memory than any device that the job may use has */
    POLICY_REASON_NO_DEVICE,     /* the device that the job demands is unknown */
    POLICY_REASON_RETRIES,       /* loading the job's weights or state failed too often */
} PolicyReason;

typedef enum PolicyEventKind {
#define EVENT(number, name, text, fields, meaning) POLICY_EVENT_##name = number,
#include "scheduler/policy/events.def"
#undef EVENT
    POLICY_EVENT_KIND_COUNT
} PolicyEventKind;

typedef enum PolicyActionKind {
#define ACTION(number, name, text, meaning) POLICY_ACTION_##name = number,
#include "scheduler/policy/actions.def"
#undef ACTION
    POLICY_ACTION_KIND_COUNT
} PolicyActionKind;

/* Times are ns on one monotonic clock. Fields that the event's kind does not name are 0 and
 * ignored. */
typedef struct PolicyEvent {
    PolicyEventKind kind;
    uint64_t time_ns;
#define FIELD(letter, member, least, greatest, meaning) uint64_t member;
#include "scheduler/policy/event_fields.def"
#undef FIELD
} PolicyEvent;

/* Members that the action's kind does not use are 0. */
typedef struct PolicyAction {
    PolicyActionKind kind;
    uint64_t job, model, device;
    uint64_t bytes;
    uint64_t ns; /* RUN: budget; SET_TIMER: when */
    PolicyPlace place;
    PolicyReason reason;
    PolicyQuota quota;
    uint64_t limit, used; /* of the quota or memory that a refusal names */
} PolicyAction;

typedef struct PolicyEventInfo {
    const char *name;
    const char *fields;
    const char *meaning;
} PolicyEventInfo;
/* Indexed by number; name NULL: no such event. */
extern const PolicyEventInfo policy_event_infos[POLICY_EVENT_KIND_COUNT];
extern const char *const policy_action_names[POLICY_ACTION_KIND_COUNT];
extern const char *const policy_outcome_names[POLICY_OUTCOME_COUNT];
extern const char *const policy_quota_names[POLICY_QUOTA_COUNT];

/* The field that a letter of events.def names; every letter there has one. */
uint64_t *policy_event_field(PolicyEvent *event, char letter);
/* Checks that the kind is known and every field of the kind is within its bounds. Errors: INVALID,
 * naming the field. */
MUST_CHECK Error *policy_event_check(const PolicyEvent *event);
/* Continues the digest of the actions before by one more action. */
uint64_t policy_action_digest(const PolicyAction *action, uint64_t digest);
