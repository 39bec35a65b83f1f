#pragma once
/* Instrumentation: a host function called before and after every operator and packed function; it
 * may have the call skipped. It belongs to the host, not to the execution: re-attach it after a
 * resume. */
#include "vm/execution/execution.h"

typedef enum InstrumentAnswer {
    INSTRUMENT_RUN,
    INSTRUMENT_SKIP, /* before: the call is left out; its result is nil, its outs stay unwritten */
} InstrumentAnswer;

/* How an operator was called, and what served it. */
typedef struct InstrumentKernel {
    const char *name; /* the plan's kernel; "view"; "append": only the piece was written */
    const OperatorInfo *operator_info;
    const Attributes *attributes;
    uint32_t input_count;
    const TensorSpec *inputs; /* packed constants as the model has them, with their layout */
} InstrumentKernel;

typedef struct InstrumentCall {
    const char *name; /* of the operator or the packed function */
    bool before;
    uint32_t function, pc;
    const Value *arguments; /* inputs, then (not ALLOC) outs; nil for absent and packed ones */
    uint32_t argument_count;
    const Value *results; /* after: what the call gave; NULL before */
    uint32_t result_count;
    const InstrumentKernel *kernel; /* after an operator's call; NULL otherwise */
} InstrumentCall;

/* The answer is only looked at before a call. An error fails the execution. */
typedef Error *Instrument(void *context, const InstrumentCall *call, InstrumentAnswer *out_answer);

/* Between two runs. NULL takes it off. */
void execution_set_instrument(Execution *execution, Instrument *instrument, void *context);
