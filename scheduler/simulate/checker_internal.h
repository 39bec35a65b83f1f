#pragma once
/* The checker's model of all jobs, devices and tenants, built from events and actions alone. Shared
 * by checker.c, checker_actions.c and checker_shares.c; belongs to the thread of its simulation. */
#include "base/text.h"
#include "scheduler/policy/id_map.h"
#include "scheduler/simulate/checker.h"
#include "scheduler/simulate/deadline_checker.h"

enum { CHECK_MINUTES = 60 };
#define CHECK_NOTHING UINT32_MAX

/* Device-time over weight, times 2^20. */
__extension__ typedef unsigned __int128 CheckTime;

typedef enum CheckLife { CHECK_UNKNOWN, CHECK_ACCEPTED, CHECK_OVER } CheckLife;

typedef struct CheckJob {
    uint32_t tenant, model, device; /* CHECK_NOTHING: no grant */
    uint32_t next, previous;        /* job numbers with a grant on the device; 0: none */
    uint64_t bytes, host_bytes, deadline_ns, expected_ns;
    uint64_t weight;
    uint8_t life, class_, place, target;
    bool open, running, blocked, growing, moving, suspended, wanted; /* wanted: to be suspended */
    bool checkpointed, ready, counted; /* counted: in could_run of its tenant */
} CheckJob;

typedef struct CheckUse {
    IdKey key; /* model; device and tenant */
    uint32_t count;
} CheckUse;

typedef struct CheckDevice {
    bool present;
    uint64_t memory_bytes, used_bytes;
    uint32_t running, first;             /* job numbers; 0: none */
    uint64_t ready[POLICY_CLASS_COUNT];  /* granted jobs that could run or do */
    int64_t owed_ns[POLICY_CLASS_COUNT]; /* floor not yet paid since the class became ready */
    int64_t owed_least_ns[POLICY_CLASS_COUNT];
} CheckDevice;

/* A tenant in one class. */
typedef struct CheckShare {
    uint64_t ready;     /* on the only device */
    uint64_t served_ns; /* since the set of ready tenants changed */
    uint64_t could_run; /* jobs that wait anywhere and could run */
    uint64_t weight;
    CheckTime since; /* Checker.fair when could_run left 0 */
} CheckShare;

typedef struct CheckTenantState {
    CheckerTenant sums;
    uint64_t limits[POLICY_QUOTA_COUNT];
    uint64_t running_jobs, queued_jobs, device_bytes, host_bytes;
    uint64_t minutes[CHECK_MINUTES], minute, hour_ns, slices, slices_most;
    CheckShare shares[POLICY_CLASS_COUNT];
} CheckTenantState;

typedef struct CheckWeights {
    IdKey key; /* model, device */
    bool loaded;
    uint64_t bytes;
} CheckWeights;

struct Checker {
    CheckerSizes sizes;
    uint64_t now_ns;
    PolicyEvent config;
    CheckJob *jobs;
    CheckDevice *devices;
    CheckTenantState *tenants;
    uint64_t *model_bytes;
    IdMap uses, weights;
    /* by class: device-time of the tenants that wait for more, for each unit of weight; sum of
     * their weights */
    CheckTime fair[POLICY_CLASS_COUNT];
    uint64_t contended_weight[POLICY_CLASS_COUNT];
    DeadlineChecker *deadlines; /* NULL: more than one device */
    bool broken;
    uint64_t violation_count;
    char *violations[CHECKER_VIOLATIONS_MAX];
    Error *error; /* out of memory */
};

void checker_violate(Checker *checker, const char *format, ...) PRINTF_LIKE(2, 3);
/* The policy contradicts the model: the model cannot be used afterwards, and the checker stops
 * watching. */
void checker_contradict(Checker *checker, const char *format, ...) PRINTF_LIKE(2, 3);
/* checker_actions.c: applies an action of the policy. */
void checker_take_action(Checker *checker, const PolicyEvent *event, const PolicyAction *action);
/* Frees the job's memory on its device. */
void checker_leave_device(Checker *checker, uint32_t number);
void checker_close(Checker *checker, CheckJob *job);
void checker_end(Checker *checker, uint32_t number);
/* Updates whether the job could run where it is; called after every change of the job. */
void checker_update_ready(Checker *checker, uint32_t number);
CheckWeights *checker_find_weights(const Checker *checker, uint64_t model, uint64_t device);
/* checker_shares.c: counts device-time. */
void checker_shares_slice(Checker *checker, uint32_t number, uint64_t device, uint64_t slice_ns);
/* Restarts the comparison after the set of ready tenants changed. */
void checker_shares_restart(Checker *checker, PolicyClass class_);
/* Counts one more (or one less) job of the tenant that could run and does not. */
void checker_contend(Checker *checker, const CheckJob *job, int change);
