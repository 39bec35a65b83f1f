#pragma once
/* An execution: one run of one function of an executable: frames, registers, pc, objects, counters.
 * What a checkpoint holds.
 *
 * Everything is on the heap and the C stack is never part of it. It may stop between any two
 * instructions. */
#include <stdatomic.h>

#include "kernels/device/kernel_stop.h"
#include "vm/instruction/frame.h"
#include "vm/objects/packed.h"
#include "vm/residency/residency.h"
#include "vm/objects/value.h"

typedef struct Execution Execution;

enum {
    EXECUTION_DEPTH_DEFAULT = 1 << 20, /* frames */
    EXECUTION_YIELDS_DEFAULT = 1024,   /* values queued before RUN_BLOCKED */
};

typedef struct ExecutionOptions {
    uint64_t memory_limit_bytes[SLOT_COUNT]; /* 0: the whole device */
    uint32_t depth_limit;                    /* frames; 0: EXECUTION_DEPTH_DEFAULT */
    uint32_t yield_limit;                    /* 0: EXECUTION_YIELDS_DEFAULT */
    uint32_t threads;                        /* a kernel may use; 0: 1. Never changes the bits */
    uint64_t philox_key;
    PackedRegistry *packed; /* retained; NULL: the builtins only */
    /* Retained; NULL: none. Blocks that this execution takes from earlier ones and leaves to later
     * ones: for executions of one tenant only. */
    MemoryPool *reserves[SLOT_COUNT];
    /* Stops the kernels of this execution; borrowed, longer there than it. NULL: one of its own. */
    KernelStop *kernel_stop;
    bool check_finite; /* fail at the first float output that is not finite, naming the operator */
} ExecutionOptions;

typedef enum RunKind {
    RUN_FINISHED,
    RUN_SUSPENDED, /* execution_request_suspend was called, or the budget's instructions are used */
    RUN_SLICE_ENDED,  /* execution_request_slice_end was called */
    RUN_NEEDS_MEMORY, /* slot, bytes; at the same pc, nothing happened */
    RUN_BLOCKED,      /* the yield queue is full */
} RunKind;

typedef struct RunResult {
    RunKind kind;
    uint8_t slot;
    uint64_t bytes;
} RunResult;

/* instructions: how many may complete before RUN_SUSPENDED (exact; tests and --suspend-after only);
 * 0: no limit. */
typedef struct Budget {
    uint64_t instructions;
} Budget;

typedef struct ExecutionCounters {
    uint64_t instructions; /* completed since the execution began, over all resumes */
    uint64_t kernel_calls;
    uint64_t yields; /* values yielded so far */
    uint64_t philox; /* counter */
} ExecutionCounters;

/* Starts a call of a function with arguments (borrowed; tensors in any slot are brought into the
 * ports' slots and sealed). Errors: INVALID wrong count, dtype, shape (each names the input);
 * EXHAUSTED; NOT_FOUND packed function. */
MUST_CHECK Error *execution_create(Residency *residency, const ExecutionOptions *options,
    uint32_t function, const Value *arguments, uint32_t argument_count, Execution **out);
/* Whether a function takes these tensors, before there is a device to run on.
 * arguments: the function's parameter_count. Errors: INVALID as execution_create. */
MUST_CHECK Error *execution_check_tensors(const Function *function, const Value *arguments);
void execution_release(Execution *execution);
DEFINE_OWN(Execution, execution_release);

/* Runs until the function returns, the budget is used up, or a stop is asked for. What it
 * queued on the device is done then.
 * Errors: whatever an instruction returns, wrapped "function f, instruction 12 (InvokePacked
 * MatMul)"; the execution is then failed and can only be inspected and released. Threads: one at a
 * time per execution; the request functions may be called from any. */
MUST_CHECK Error *execution_run(Execution *execution, Budget budget, RunResult *out_result);
/* A kernel that takes long is abandoned: its instruction is executed once more after a resume. */
void execution_request_suspend(Execution *execution);
/* At the next safepoint; its kernel_stop decides about a kernel that takes long. */
void execution_request_slice_end(Execution *execution);
/* Takes that back, if it was not answered yet. */
void execution_withdraw_slice_end(Execution *execution);

/* Borrowed; nil before RUN_FINISHED. */
const Value *execution_get_result(const Execution *execution);
/* The next yielded value, in order; false when the queue is empty. The caller owns it. */
bool execution_take_yield(Execution *execution, Value *out_value, uint64_t *out_sequence);
ExecutionCounters execution_get_counters(const Execution *execution);
Residency *execution_get_residency(const Execution *execution);
MemoryPool *execution_get_pool(const Execution *execution, uint8_t slot);
PackedRegistry *execution_get_packed(const Execution *execution);
/* What containers made for this execution are charged to. */
struct ObjectMeter *execution_get_meter(const Execution *execution);
/* The function it was started with: its results are what the execution returns, whatever was
 * tail-called since. */
uint32_t execution_get_entry(const Execution *execution);
uint32_t execution_get_depth(const Execution *execution);
/* Frame 0 is the oldest. */
Frame execution_get_frame(const Execution *execution, uint32_t index);
