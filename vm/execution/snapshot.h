#pragma once
/* A snapshot: the consistent view of an execution between two instructions, from which a checkpoint
 * is written while the execution continues. Taken by job_snapshot.c and the command line on the
 * thread of the execution; read by serialize/checkpoint/ on any thread.
 *
 * On a device with queues the copies may still be under way: a reader of the values waits for
 * `ready`.
 *
 * A snapshot holds references only. An instruction writes in place only into an object with a
 * single reference, so the referenced objects cannot change. Opaque storages and opaque objects are
 * copied at the safepoint. Only live registers are included. */
#include "vm/execution/execution.h"

typedef struct SnapshotRegister {
    uint32_t frame;
    uint32_t index;
    Value value; /* a reference */
} SnapshotRegister;

typedef struct Snapshot {
    Executable *executable;      /* retained */
    Residency *residency;        /* retained, since its devices hold the values */
    uint32_t entry;              /* execution_get_entry */
    Frame *frames;               /* register_base unused */
    uint32_t frame_count;        /* 0: finished; result is set */
    SnapshotRegister *registers; /* by frame, then index, ascending */
    uint32_t register_count;
    Value result;
    Value *yields; /* queued, not yet taken; the first has sequence counters.yields - yield_count */
    uint32_t yield_count;
    SnapshotInput *inputs;
    uint32_t input_count;
    ExecutionCounters counters;
    uint64_t philox_key;
    /* An event of the device, reached when the values are there; NULL: the device has no queues. */
    DeviceEvent *ready;
} Snapshot;

/* Takes a snapshot between two runs, on the thread that runs the execution, which may run again at
 * once. Errors: EXHAUSTED, OUT_OF_MEMORY (then nothing is taken). */
MUST_CHECK Error *snapshot_take(Execution *execution, Snapshot **out);
void snapshot_release(Snapshot *snapshot); /* any thread */
DEFINE_OWN(Snapshot, snapshot_release);

/* Puts a snapshot (from a file: not trusted) into an empty execution. Checks: functions and pcs are
 * instruction starts; every frame but the top stands at a call that fits the frame above; the
 * registers present are exactly the derived live set; depth; counters. Values' kinds need no check:
 * every opcode checks at run time. The snapshot is borrowed. Errors: CORRUPT naming frame and
 * register. */
MUST_CHECK Error *execution_restore(Execution *execution, const Snapshot *snapshot);
