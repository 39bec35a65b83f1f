#pragma once
/* Instrumentation: a host function called before and after every operator and packed function; it
 * may have the call skipped. It belongs to the host, not to the execution: re-attach it after a
 * resume. */
#include "vm/execution.h"

typedef enum InstrumentAnswer {
    INSTRUMENT_RUN,
    INSTRUMENT_SKIP, /* before: the call is left out; its result is nil, its outs stay unwritten */
} InstrumentAnswer;

typedef struct InstrumentCall {
    const char *name; /* of the operator or the packed function */
    bool before;
    uint32_t function, pc;
    const Value *arguments; /* inputs, then (not ALLOC) outs; nil for absent and packed ones */
    uint32_t argument_count;
    const Value *results; /* after: what the call gave; NULL before */
    uint32_t result_count;
} InstrumentCall;

/* The answer is only looked at before a call. An error fails the execution. */
typedef Error *Instrument(void *context, const InstrumentCall *call, InstrumentAnswer *out_answer);

/* Between two runs. NULL takes it off. */
void execution_set_instrument(Execution *execution, Instrument *instrument, void *context);
