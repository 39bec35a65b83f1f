#pragma once
/* The call that an instrument sees, and its answer (instrument.h). The interpreter's handlers make
 * these calls, on the thread that runs the execution. */
#include "vm/execution/execution_options.h"

typedef enum InstrumentAnswer {
    INSTRUMENT_RUN,
    INSTRUMENT_SKIP, /* before: the call is skipped; its result is nil, its outs stay unwritten */
} InstrumentAnswer;

/* How an operator was called, and which kernel computed it. */
typedef struct InstrumentKernel {
    const char *name; /* the plan's kernel; "view"; "append": only the appended piece was written */
    const OperatorInfo *operator_info;
    const Attributes *attributes;
    uint32_t input_count;
    const TensorSpec *inputs; /* packed constants as the model has them, with their layout */
} InstrumentKernel;

typedef struct InstrumentCall {
    /* of the operator or the packed function; Relax's names for InvokeClosure of bytecode
     * (vm.builtin.invoke_closure) and AllocClosure (vm.builtin.make_closure) */
    const char *name;
    bool before;
    bool nested; /* a closure of bytecode: its own calls come between the two */
    uint32_t function, pc;
    const Value *arguments; /* inputs, then (not ALLOC) outs; nil for absent and packed ones; none
                             * after a closure of bytecode */
    uint32_t argument_count;
    const Value *results; /* after: the call's results; NULL before */
    uint32_t result_count;
    const InstrumentKernel *kernel; /* after an operator's call; NULL otherwise */
} InstrumentCall;

/* The answer counts only before a call. An error fails the execution. */
typedef Error *Instrument(void *context, const InstrumentCall *call, InstrumentAnswer *out_answer);
