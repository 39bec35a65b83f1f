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

Error *instrument_before_closure(Execution *execution, const char *name,
    const DecodedInstruction *instruction, uint32_t first, const Value *registers, bool *out_skip) {
    const uint32_t count = instruction->operand_count - first;
    TRY(execution_reserve_scratch(execution, count));
    for (uint32_t i = 0; i < count; i++)
        execution->scratch[i] = *operand_get(&instruction->operands[first + i], registers);
    InstrumentCall call = describe(execution, name, execution->scratch, count);
    call.before = true;
    call.nested = instruction->opcode == OPCODE_INVOKE_CLOSURE;
    InstrumentAnswer answer = INSTRUMENT_RUN;
    TRY(execution->instrument(execution->instrument_context, &call, &answer));
    *out_skip = answer == INSTRUMENT_SKIP;
    return NULL;
}

Error *instrument_after_closure(Execution *execution, const Value *result) {
    const Frame *caller = execution_top(execution);
    TRY(execution_prepare_function(execution, caller->function));
    const DecodedFunction *function = execution->decoded[caller->function];
    if (function->instructions[caller->pc].opcode != OPCODE_INVOKE_CLOSURE) return NULL;
    InstrumentCall call = describe(execution, "vm.builtin.invoke_closure", NULL, 0);
    call.nested = true;
    call.results = result;
    call.result_count = 1;
    InstrumentAnswer answer;
    return execution->instrument(execution->instrument_context, &call, &answer);
}

void execution_set_instrument(Execution *execution, Instrument *instrument, void *context) {
    execution->instrument = instrument;
    execution->instrument_context = context;
}
