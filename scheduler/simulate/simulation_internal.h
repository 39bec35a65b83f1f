#pragma once
/* The simulated world and its future events (happenings), shared by simulation.c and
 * simulation_world.c; belongs to one thread. */
#include "scheduler/policy/policy.h"
#include "scheduler/simulate/simulation.h"

typedef enum HappeningKind {
    HAPPENING_ARRIVAL,   /* object: group of jobs */
    HAPPENING_SLICE_END, /* object: device; epoch: of its slice */
    HAPPENING_MOVED_OUT, /* object: job; device, epoch: of the device */
    HAPPENING_MOVED_IN,
    HAPPENING_LOADED, /* object: model; device, epoch */
    HAPPENING_EVICTED,
    HAPPENING_UNBLOCK, /* object: job; epoch: of the job */
    HAPPENING_SUSPEND,
    HAPPENING_RESUME,
    HAPPENING_CANCEL,
    HAPPENING_LOST, /* object: device */
    HAPPENING_BACK,
    HAPPENING_TIMER,
} HappeningKind;

typedef struct Happening {
    uint64_t time_ns, serial;
    HappeningKind kind;
    uint32_t object, device, epoch;
} Happening;

typedef struct SimulatedDevice {
    const ScenarioDevices *group;
    uint32_t epoch;       /* increased when the device is lost */
    uint32_t slice_epoch; /* increased for each slice and each preemption */
    uint32_t running;     /* job; 0: none */
    uint64_t started_ns, budget_ns, ends_ns;
    bool lost;
} SimulatedDevice;

typedef struct SimulatedJob {
    uint32_t group, model;
    uint32_t device; /* the device with the job's memory; UINT32_MAX: none */
    uint32_t epoch;  /* increased when the job is thrown back, which drops its pending unblock */
    uint64_t left_ns, saved_ns; /* left to do; the same at the last checkpoint */
    uint64_t fails_at_ns;       /* left_ns at which the job fails; 0: never */
    bool over, on_device;
} SimulatedJob;

typedef struct Simulation {
    const Scenario *scenario;
    SimulationOptions options;
    Policy *policy;
    Checker *checker;
    uint64_t random, now_ns, serial;
    Happening *heap;
    size_t heap_count, heap_capacity;
    SimulatedJob *jobs; /* by number, from 1 */
    SimulatedDevice *devices;
    uint64_t *model_bytes;
    PolicyAction *actions;
    uint64_t job_count;
    uint64_t fault_count; /* HAPPENING_LOST in the heap */
    uint64_t arrived[SCENARIO_GROUPS_MAX];
    uint64_t timer_ns;
    SimulationResult result;
} Simulation;

/* simulation.c */
uint64_t simulation_random(Simulation *world);
uint64_t simulation_between(Simulation *world, ScenarioRange range);
uint64_t simulation_exponential(Simulation *world, uint64_t mean);
bool simulation_chance(Simulation *world, uint64_t permille);
MUST_CHECK Error *simulation_later(Simulation *world, uint64_t delay_ns, Happening happening);
MUST_CHECK Error *simulation_tell(Simulation *world, PolicyEvent event);
MUST_CHECK Error *simulation_arrive(Simulation *world, uint32_t group);
/* simulation_world.c */
MUST_CHECK Error *simulation_begin(Simulation *world);
MUST_CHECK Error *simulation_carry_out(Simulation *world, const PolicyAction *action);
MUST_CHECK Error *simulation_happen(Simulation *world, const Happening *happening);
