#pragma once
/* An execution's members and the functions that the files of vm/execution/ share. On the thread
 * that runs the execution, but for stop. */
#include "kernels/tensor/tensor.h"
#include "vm/residency/decoded_code.h"
#include "vm/execution/execution_options.h"
#include "vm/residency/inline_cache.h"
#include "vm/execution/instrument_call.h"
#include "vm/objects/object.h"
#include "vm/objects/packed.h"
#include "vm/execution/run_ahead.h"

enum { EXECUTION_RECYCLED_MAX = 8, EXECUTION_RECYCLED_BYTES_MAX = 4096 };

typedef enum StopBits {
    STOP_SUSPEND = 1,
    STOP_SLICE_END = 2,
} StopBits;

typedef struct PackedEntry { /* a packed function of the executable, resolved */
    PackedTarget target;     /* function NULL for bytecode */
    const char *name;        /* the executable's */
} PackedEntry;

struct Execution {
    Residency *residency;
    Executable *executable; /* the residency's */
    PackedRegistry *packed;
    MemoryPool *pools[SLOT_COUNT];
    ObjectMeter *meter;
    RunAhead ahead; /* bounds the work queued on the device */

    uint32_t entry; /* the function that the execution was started with */
    Frame *frames;
    size_t frame_count, frame_capacity;
    /* One file of registers for all frames. Registers above the top frame's are nil, so that a call
     * need not clear its own. */
    Value *registers;
    size_t register_capacity;
    Value result; /* set when no frame is left */
    bool finished;
    Value *yields; /* a ring that grows up to options.yield_limit */
    uint32_t yield_first, yield_count, yield_capacity;
    ExecutionCounters counters;
    ExecutionTraffic traffic;
    SnapshotInput *inputs; /* stateful interface */
    uint32_t input_count;
    size_t input_capacity;

    PackedEntry *packed_entries;     /* per function */
    const DecodedFunction **decoded; /* per function; NULL until first called */
    InlineCache **sites;             /* per function; NULL until first called */
    InlineCache *current_sites;      /* of the top frame's function */
    Value *scratch;                  /* borrowed values: arguments of a packed call */
    size_t scratch_capacity;
    PackedCall call;       /* given to packed functions; between two calls it answers nothing */
    RunResult stop_result; /* set with STEP_STOP */
    /* Released small tensors, with their storages: the next output of the same size reuses one,
     * which avoids a call of the pool. */
    Tensor *recycled[EXECUTION_RECYCLED_MAX];
    uint32_t recycled_count;

    Instrument *instrument;
    void *instrument_context;
    /* A mutable object (a storage of AllocStorage, an opaque object) may be among the values. While
     * it is false a snapshot need not look inside containers. */
    bool has_mutable;
    bool ends_at_yields; /* execution_end_at_yields */
    bool failed;
    KernelStop *kernel_stop; /* the options', or own_stop */
    KernelStop own_stop;
    _Atomic uint32_t stop; /* StopBits */
    /* Last: what instructions read stands together, however many options there are. */
    ExecutionOptions options;
};

/* The result of an instruction's handler. */
typedef enum Step {
    STEP_NEXT,     /* completed: continue with the next instruction */
    STEP_FRAME,    /* completed: the top frame is another one */
    STEP_STOP,     /* the instruction did not run: execution->stop_result has the reason */
    STEP_FINISHED, /* completed: no frame is left */
} Step;

/* The handler of an instruction. Leaves *out_step unchanged for STEP_NEXT. registers: the top
 * frame's. */
typedef Error *InstructionHandler(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step);

static inline const Value *operand_get(const DecodedOperand *operand, const Value *registers) {
    return operand->constant ? operand->constant : &registers[operand->index];
}
/* The operand's value with a reference of its own; a last use leaves nil in the register. */
static inline Value operand_take(const DecodedOperand *operand, Value *registers) {
    if (operand->constant) return value_copy(*operand->constant);
    Value value = registers[operand->index];
    if (!operand->last_use) return value_copy(value);
    registers[operand->index] = value_nil();
    return value;
}
static inline void operand_finish(const DecodedOperand *operand, Value *registers) {
    if (operand->last_use) value_release(&registers[operand->index]);
}
static inline void register_set(Value *registers, uint32_t index, Value owned_value) {
    Value old = registers[index];
    registers[index] = owned_value;
    value_release(&old);
}

static inline Frame *execution_top(Execution *execution) {
    return &execution->frames[execution->frame_count - 1];
}
/* Stops with RUN_NEEDS_MEMORY. */
static inline void execution_need_memory(
    Execution *execution, uint8_t slot, uint64_t bytes, Step *out_step) {
    execution->stop_result = (RunResult){RUN_NEEDS_MEMORY, slot, bytes};
    *out_step = STEP_STOP;
}
/* Makes room in the ring for one more yield; the caller has checked the limit. */
MUST_CHECK Error *execution_reserve_yield(Execution *execution);
/* Makes room for that many borrowed values. */
MUST_CHECK Error *execution_reserve_scratch(Execution *execution, size_t count);

/* Frees the memory of recycled tensors; false if there was none. */
bool execution_flush_recycled(Execution *execution);

/* execution_frames.c. Pushes a frame for the function; its registers are nil. Errors: FAILED too
 * deep, EXHAUSTED. */
MUST_CHECK Error *execution_push_frame(
    Execution *execution, uint32_t function, uint32_t return_register);
/* Decodes a function about to run and finds its inline caches. */
MUST_CHECK Error *execution_prepare_function(Execution *execution, uint32_t function);
/* Releases the top frame's registers and takes it off. */
void execution_pop_frame(Execution *execution);

/* instructions_call.c. Tensors of one storage may share bytes: marks those of the top frame and of
 * its caller that lie inside a tensor that was written. */
void execution_share_written(Execution *execution, const Tensor *written);

/* execution_arguments.c: makes a value that fits a port, in the port's slot, sealed. name: for
 * messages. */
MUST_CHECK Error *execution_bind(
    Execution *execution, const Port *port, const char *name, const Value *value, Value *out);
/* Binds all arguments of a function to its ports, and compares equal symbols. out_values: room for
 * all, nil on entry; on failure some may be set. */
MUST_CHECK Error *execution_bind_all(Execution *execution, uint32_t function,
    const Value *arguments, uint32_t argument_count, Value *out_values);
/* A tensor in that slot: the same one, a reference to the same memory, or a copy. *out_answer says
 * whether memory is needed. */
MUST_CHECK Error *execution_move_tensor(
    Execution *execution, Tensor *tensor, uint8_t slot, MemoryAnswer *out_answer, Tensor **out);
/* A copy of the tensor in that slot, with its own memory. */
MUST_CHECK Error *execution_copy_tensor(
    Execution *execution, Tensor *tensor, uint8_t slot, MemoryAnswer *out_answer, Tensor **out);
/* Whether the tensor's memory is that of its slot in this execution. */
bool execution_owns_memory(const Execution *execution, const Tensor *tensor);
