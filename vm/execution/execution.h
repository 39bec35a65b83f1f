#pragma once
/* An execution: one run of one function of an executable: frames, registers, pc, objects, counters.
 * A checkpoint holds exactly this. Called by the executor (job_run.c), the command line and the C
 * library; one thread at a time.
 *
 * The whole state is on the heap and the C stack is never part of it. An execution may stop between
 * any two instructions. */
#include "vm/execution/execution_options.h"

/* Starts a call of a function. arguments: borrowed; tensors in any slot are brought into the ports'
 * slots and sealed. Errors: INVALID wrong count, dtype, shape (each names the input); EXHAUSTED;
 * NOT_FOUND packed function. */
MUST_CHECK Error *execution_create(Residency *residency, const ExecutionOptions *options,
    uint32_t function, const Value *arguments, uint32_t argument_count, Execution **out);
/* Makes an empty execution, from whose pools a reader can allocate the objects that it restores. */
MUST_CHECK Error *execution_create_empty(
    Residency *residency, const ExecutionOptions *options, Execution **out);
/* Checks whether a function accepts these tensors, before there is a device to run on. arguments:
 * the function's parameter_count. Errors: INVALID as execution_create. */
MUST_CHECK Error *execution_check_tensors(const Function *function, const Value *arguments);
void execution_release(Execution *execution);
DEFINE_OWN(Execution, execution_release);

/* Runs until the function returns, the budget is used up, or a stop is asked for. Work queued on
 * the device is complete on return. Errors: any error of an instruction, wrapped "function f,
 * instruction 12 (InvokePacked MatMul)"; the execution is then failed and can only be inspected and
 * released. Threads: one at a time per execution; the request functions may be called from any. */
MUST_CHECK Error *execution_run(Execution *execution, Budget budget, RunResult *out_result);
/* Asks for RUN_SUSPENDED. A kernel that takes long is abandoned: its instruction is executed once
 * more after a resume. Threads: any. */
void execution_request_suspend(Execution *execution);
/* Asks for RUN_SLICE_ENDED at the next safepoint; kernel_stop decides about a kernel that takes
 * long. Threads: any. */
void execution_request_slice_end(Execution *execution);
/* Withdraws a request for a slice's end that was not met yet. Threads: any. */
void execution_withdraw_slice_end(Execution *execution);

/* Borrowed; nil before RUN_FINISHED. */
const Value *execution_get_result(const Execution *execution);
/* Says whether a run ends with RUN_SLICE_ENDED behind each value that it yields. */
void execution_end_at_yields(Execution *execution, bool ends);
/* The next yielded value, in order; false when the queue is empty. The caller owns it. */
bool execution_take_yield(Execution *execution, Value *out_value, uint64_t *out_sequence);
/* How many yielded values wait to be taken. */
uint32_t execution_count_yields(const Execution *execution);
ExecutionCounters execution_get_counters(const Execution *execution);
ExecutionTraffic execution_get_traffic(const Execution *execution);
Residency *execution_get_residency(const Execution *execution);
MemoryPool *execution_get_pool(const Execution *execution, uint8_t slot);
PackedRegistry *execution_get_packed(const Execution *execution);
/* The meter that is charged for containers made in this execution. */
struct ObjectMeter *execution_get_meter(const Execution *execution);
/* The most memory that the execution has held in this process: the peaks of its pools and of its
 * meter (frames, containers, opaque objects) together. */
uint64_t execution_get_peak_bytes(const Execution *execution);
/* The function that the execution was started with: its results are those of the execution, also
 * after tail calls of other functions. */
uint32_t execution_get_entry(const Execution *execution);
uint32_t execution_get_depth(const Execution *execution);
/* Frame 0 is the oldest. */
Frame execution_get_frame(const Execution *execution, uint32_t index);
