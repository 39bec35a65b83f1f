#pragma once
/* The options, budget, result and counters of an execution. Included by the execution's state
 * (execution_state.h), which its parts share, and by execution.h, which callers include. Plain
 * values: no functions. */
#include <stdatomic.h>

#include "kernels/device/kernel_stop.h"
#include "vm/instruction/frame.h"
#include "vm/native/native_functions.h"
#include "vm/objects/packed.h"
#include "vm/residency/residency.h"
#include "vm/objects/value.h"

typedef struct Execution Execution;

enum {
    EXECUTION_DEPTH_DEFAULT = 1 << 20, /* frames */
    EXECUTION_YIELDS_DEFAULT = 1024,   /* values queued before RUN_BLOCKED */
};

/* Where the lines go that a running model prints (vm.builtin.debug_print). */
typedef struct ExecutionLog {
    /* Called on the execution's thread; the line has no end mark. NULL: lines are dropped. */
    void (*line)(void *context, const char *line);
    void *context; /* borrowed, and outlives the execution */
} ExecutionLog;

typedef struct ExecutionOptions {
    uint64_t memory_limit_bytes[SLOT_COUNT]; /* 0: the whole device */
    uint32_t depth_limit;                    /* frames; 0: EXECUTION_DEPTH_DEFAULT */
    uint32_t yield_limit;                    /* 0: EXECUTION_YIELDS_DEFAULT */
    uint32_t threads;                        /* a kernel may use; 0: 1. Never changes the bits */
    uint64_t philox_key;
    PackedRegistry *packed; /* retained; NULL: the builtins only */
    /* Retained; NULL: none. Memory blocks that this execution takes from earlier executions and
     * leaves to later ones: for executions of one tenant only. */
    MemoryPool *reserves[SLOT_COUNT];
    /* A slot's freed blocks go back to the device at once, as with TVM's naive allocator; its
     * reserve is not used. Never changes the bits. */
    bool naive_memory[SLOT_COUNT];
    /* Stops the kernels of this execution; borrowed, and outlives it. NULL: the execution has its
     * own. */
    KernelStop *kernel_stop;
    NativeRules native; /* may native code run? preload is borrowed and outlives the execution */
    ExecutionLog log;
    bool check_finite; /* fail at the first float output that is not finite, naming the operator */
} ExecutionOptions;

typedef enum RunKind {
    RUN_FINISHED,
    RUN_SUSPENDED, /* execution_request_suspend was called, or the budget's instructions are used */
    RUN_SLICE_ENDED,  /* execution_request_slice_end was called */
    RUN_NEEDS_MEMORY, /* slot, bytes; the pc has not moved and nothing happened */
    RUN_BLOCKED,      /* the yield queue is full */
} RunKind;

typedef struct RunResult {
    RunKind kind;
    uint8_t slot;
    uint64_t bytes;
} RunResult;

/* instructions: how many may complete before RUN_SUSPENDED (exact; for tests and --suspend-after
 * only); 0: no limit. */
typedef struct Budget {
    uint64_t instructions;
} Budget;

typedef struct ExecutionCounters {
    uint64_t instructions; /* completed since the execution began, over all resumes */
    uint64_t kernel_calls;
    uint64_t yields; /* values yielded so far */
    uint64_t philox; /* the counter of random numbers */
} ExecutionCounters;

/* What the code moves between the slots, and how often it waits for the device, since the execution
 * was created or restored. Not counted: the copies of arguments and results, the wait for the end
 * of a run, and the bound on queued work. All 0 where both slots are host memory. */
typedef struct ExecutionTraffic {
    uint64_t copies_to_host, bytes_to_host;
    uint64_t copies_to_device, bytes_to_device;
    uint64_t waits; /* for all queued work: copies to the host, and sizes that a kernel finds */
} ExecutionTraffic;

typedef struct SnapshotInput { /* stateful interface */
    char *name;
    Value value;
} SnapshotInput;
