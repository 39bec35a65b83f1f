#pragma once
/* The control thread's logic in a world of its own, for tests: one thread, a simulated clock, and a
 * store and an executor that remember rows and runs in memory. What happens next, how long it takes
 * and whether it fails is drawn from a seed, so that a failure comes again with its seed and step.
 */
#include "scheduler/control/drive/control_core.h"
#include "scheduler/control/jobs/control_jobs.h"
#include "scheduler/control/jobs/control_request.h"
#include "scheduler/control/state/control_state.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/support/test_random.h"
#include "tests/support/test_support.h"

enum {
    WORLD_ENTRIES_MAX = 4096,
    WORLD_ROWS_MAX = 20000,
    WORLD_DEVICES = 2,
    WORLD_TENANTS = 2,
    WORLD_LIVE_JOBS = 24,
    WORLD_STATES = 24, /* of a machine, at most */
};

typedef struct ControlWorld ControlWorld;

/* A message that comes at its time; those of one time come in the order of `tie`, which is drawn.
 */
typedef struct WorldEntry {
    uint64_t time_ns, tie;
    Message *message;
    void (*prepare)(ControlWorld *world, Message *message); /* just before it is handled; or NULL */
} WorldEntry;

/* A job as the store has it. */
typedef struct WorldRow {
    Job job;
    uint8_t *policy;
    size_t policy_size;
    int64_t total; /* items */
    bool has_checkpoint;
    int64_t checkpoint_items, checkpoint_sequence;
    bool suspended, missed; /* once */
} WorldRow;

/* A run; JobHold.run points to it. */
typedef struct WorldRun {
    WorldRow *row; /* NULL: its row is not stored yet */
    int64_t total, items_done, sequence;
    bool has_slice, waits; /* waits: a kernel of its slice paused */
    bool discarded;
    uint32_t device;
    uint64_t start_ns;
    JobRunCounters counters;
} WorldRun;

typedef struct WorldDevice {
    JobHold *slice; /* that has the device; NULL: none */
    bool lost, closed;
    uint64_t losses;
} WorldDevice;

typedef struct WorldAsk {
    ControlRequest request;
    ControlWorld *world;
    Submission submission;
    char text[JOB_WHY_SIZE];
    bool answered;
} WorldAsk;

struct ControlWorld {
    uint64_t seed, random, step;
    SimulatedClock clock;
    Control *control;
    ControlOptions options;
    ExecutorFixture program; /* for inputs in memory */
    WorldEntry entries[WORLD_ENTRIES_MAX];
    size_t entry_count;
    WorldRow *rows;
    size_t row_count;
    WorldDevice devices[WORLD_DEVICES];
    uint32_t device_count;
    bool calm; /* nothing fails any more */
    bool full; /* the store has no room */
    uint64_t submitted, asked, answered, refused, committed, stalled, lost, restarts;
    uint64_t site_steps[WORLD_STATES]; /* how often a job was seen in a state */
};

void control_world_init(ControlWorld *world, uint64_t seed);
void control_world_deinit(ControlWorld *world);
/* Handles the next message or waits for the next due time, then takes a turn and checks every job.
 * False: nothing is to come. */
bool control_world_step(ControlWorld *world);
/* Asks something that the seed chooses, of a job that it chooses. */
void control_world_ask(ControlWorld *world);
/* Asks this. job: not of SUBMIT and DRAIN. */
void control_world_ask_for(
    ControlWorld *world, ControlRequestKind kind, TenantId tenant, JobId job);
/* A disk that is full, or has room again; a device that is lost. */
void control_world_disturb(ControlWorld *world);
/* Ends the logic as a daemon ends without a drain, and begins another over the same rows. */
void control_world_restart(ControlWorld *world);
/* Lets nothing fail any more and resumes what is suspended, until every job has ended; fails the
 * test if one does not. */
void control_world_finish(ControlWorld *world);
/* Drains; every request is answered by then. */
void control_world_drain(ControlWorld *world);

/* ---- shared by the fakes ---- */
/* 0 … limit - 1 */
uint64_t world_random(ControlWorld *world, uint64_t limit);
bool world_chance(ControlWorld *world, uint64_t one_in);
ControlWorld *world_of(Control *control);
void world_post(ControlWorld *world, Message *message, uint64_t delay_ns,
    void (*prepare)(ControlWorld *world, Message *message));
/* The entry of a message that is on its way; NULL: it is not. */
WorldEntry *world_find(ControlWorld *world, const Message *message);
/* Takes a message back that is on its way. False: it is not. */
bool world_forget(ControlWorld *world, const Message *message);
ControlExecutorPort world_executor_port(ControlWorld *world);
ControlStorePort world_store_port(ControlWorld *world);
WorldRow *world_find_row(ControlWorld *world, TenantId tenant, JobId id);
/* Stores a job that begins at the checkpoint of another, queued or suspended. */
JobId world_fork_row(ControlWorld *world, JobId id);
