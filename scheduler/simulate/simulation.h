#pragma once
/* A world for the policy: modelled devices, jobs by a seed, faults, a virtual clock; what the
 * daemon would do with each action takes the time that the scenario says. One seed gives one run.
 */
#include "scheduler/policy/event_log.h"
#include "scheduler/simulate/checker.h"
#include "scheduler/simulate/scenario.h"

typedef struct SimulationResult {
    uint64_t events; /* that the policy took */
    uint64_t actions;
    uint64_t jobs_done, jobs_failed, jobs_refused, jobs_cancelled;
    uint64_t virtual_ns;
    uint64_t digest;     /* of all actions */
    bool complete;       /* of a replay: the log ends where its run or its writer ended it */
    uint64_t torn_bytes; /* of a replay: of a last record that is not whole, and was left out */
} SimulationResult;

/* What an unusual policy does, for tests of the checker: may change the actions before they count.
 * NULL: nothing. */
typedef struct SimulationTamper {
    void (*change)(void *self, PolicyAction *action);
    void *self;
} SimulationTamper;

typedef struct SimulationOptions {
    uint64_t seed;
    uint64_t event_limit;    /* stops after so many, without judging the end; 0: none */
    EventLogWriter *log;     /* receives every event; NULL: none */
    SimulationTamper tamper; /* of what the checker is shown */
} SimulationOptions;

/* The checker stays the caller's to look at.
 *
 * Errors: OUT_OF_MEMORY; INTERNAL when the policy refuses an event that makes sense. */
MUST_CHECK Error *simulation_run(const Scenario *scenario, const SimulationOptions *options,
    SimulationResult *out_result, Checker **out_checker);

/* Jain's index of fairness (Jain, Chiu, Hawe 1984) over the tenants that had to wait: of the
 * device-time each got while it waited for more, over what its weight entitled it to. 1 is equal.
 */
double simulation_jain_index(const Checker *checker, uint64_t tenant_count);

/* Takes the events of a log again and compares the digests of the actions, up to its last whole
 * record.
 *
 * Errors: CORRUPT; CONFLICT, naming the first event after which they differ. */
MUST_CHECK Error *simulation_replay(const void *log, size_t size, SimulationResult *out_result);
