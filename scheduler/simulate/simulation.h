#pragma once
/* A simulated world for the policy: modelled devices, jobs by a seed, faults, a virtual clock. Each
 * action takes the time that the scenario gives it. One seed gives one run. Called by `layover
 * simulate` and by tests; a simulation is one thread's. */
#include "scheduler/policy/event_log.h"
#include "scheduler/simulate/checker.h"
#include "scheduler/simulate/scenario.h"

typedef struct SimulationResult {
    uint64_t events; /* taken by the policy */
    uint64_t actions;
    uint64_t jobs_done, jobs_failed, jobs_refused, jobs_cancelled;
    uint64_t virtual_ns;
    uint64_t digest;     /* of all actions */
    bool complete;       /* for a replay: the log ends where its run or its writer ended it */
    uint64_t torn_bytes; /* for a replay: bytes of an incomplete last record, which was left out */
} SimulationResult;

/* Changes the actions before the checker sees them, to test the checker. NULL: nothing. */
typedef struct SimulationTamper {
    void (*change)(void *self, PolicyAction *action);
    void *self;
} SimulationTamper;

typedef struct SimulationOptions {
    uint64_t seed;
    uint64_t event_limit;    /* stops after so many, without judging the end; 0: none */
    EventLogWriter *log;     /* receives every event; NULL: none */
    SimulationTamper tamper; /* changes the actions that the checker is shown */
} SimulationOptions;

/* Runs a scenario. The checker becomes the caller's.
 *
 * Errors: OUT_OF_MEMORY; INTERNAL when the policy refuses a valid event. */
MUST_CHECK Error *simulation_run(const Scenario *scenario, const SimulationOptions *options,
    SimulationResult *out_result, Checker **out_checker);

/* Jain's index of fairness (Jain, Chiu, Hawe 1984) over the tenants that had to wait: of each
 * tenant's device-time while it waited for more, over the time that its weight entitled it to. 1 is
 * equal. */
double simulation_jain_index(const Checker *checker, uint64_t tenant_count);

/* Applies the events of a log to a new policy and compares the digests of the actions, up to the
 * last whole record.
 *
 * Errors: CORRUPT; CONFLICT, naming the first event after which they differ. */
MUST_CHECK Error *simulation_replay(const void *log, size_t size, SimulationResult *out_result);
