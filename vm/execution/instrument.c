#include "vm/execution/instrument.h"

#include "vm/execution/instructions.h"

static InstrumentCall describe(
    Execution *execution, const char *name, const Value *arguments, uint32_t count) {
    const Frame *frame = execution_top(execution);
    return (InstrumentCall){
        .name = name,
        .function = frame->function,
        .pc = frame->pc,
        .arguments = arguments,
        .argument_count = count,
    };
}

Error *instrument_before(Execution *execution, const char *name, const Value *arguments,
    uint32_t count, bool *out_skip) {
    InstrumentCall call = describe(execution, name, arguments, count);
    call.before = true;
    InstrumentAnswer answer = INSTRUMENT_RUN;
    TRY(execution->instrument(execution->instrument_context, &call, &answer));
    *out_skip = answer == INSTRUMENT_SKIP;
    return NULL;
}

Error *instrument_after(Execution *execution, const char *name, const Value *arguments,
    uint32_t count, const Value *results, uint32_t result_count, const InstrumentKernel *kernel) {
    InstrumentCall call = describe(execution, name, arguments, count);
    call.results = results;
    call.result_count = result_count;
    call.kernel = kernel;
    InstrumentAnswer answer;
    return execution->instrument(execution->instrument_context, &call, &answer);
}

void execution_set_instrument(Execution *execution, Instrument *instrument, void *context) {
    execution->instrument = instrument;
    execution->instrument_context = context;
}
