/* Instruments and timings of layover.h. */
#include "base/allocator.h"
#include "kernels/tensor/tensor.h"
#include "tools/library/library_internal.h"
#include "vm/execution/instrument.h"
#include "vm/execution/time_evaluator.h"

/* ---- instruments ---- */

/* Bytes of a tensor that is not written may be of anything; the instrument gets nil. */
static Error *give_values(
    LayoverModel *model, const Value *values, uint32_t count, LayoverValue *out) {
    for (uint32_t i = 0; i < count; i++) {
        const bool unwritten = value_is(&values[i], OBJECT_TENSOR) && !values[i].tensor->written;
        if (!unwritten)
            TRY_WRAP(library_value_give(model, &values[i], LIBRARY_SHARE, &out[i]), "%u", i);
    }
    return NULL;
}

static Error *call_instrument(
    LayoverExecution *execution, LayoverCall *call, InstrumentAnswer *out_answer) {
    int skip = 0;
    library_enter_host();
    const char *message = execution->instrument(execution->instrument_context, call, &skip);
    library_leave_host();
    if (message) FAIL(FAILED, "%s", message);
    *out_answer = skip ? INSTRUMENT_SKIP : INSTRUMENT_RUN;
    return NULL;
}

static Error *on_call(void *context, const InstrumentCall *call, InstrumentAnswer *out_answer) {
    void *memory;
    LayoverExecution *execution = context;
    LayoverModel *model = execution->model;
    const uint32_t arguments = call->argument_count, results = call->result_count;
    TRY(memory_alloc((size_t)arguments + results, sizeof(LayoverValue), &memory));
    LayoverValue *values = memory;
    LayoverCall shown = {
        .name = call->name,
        .function = model->residency->executable->functions[call->function].name,
        .pc = call->pc,
        .is_before = call->before,
        .kernel = call->kernel ? call->kernel->name : "",
        .argument_count = arguments,
        .arguments = values,
        .result_count = results,
        .results = values + arguments,
    };
    Error *error = error_wrap(
        give_values(model, call->arguments, arguments, shown.arguments), "instrument: argument");
    if (!error)
        error = error_wrap(
            give_values(model, call->results, results, shown.results), "instrument: result");
    if (!error) error = call_instrument(execution, &shown, out_answer);
    for (uint32_t i = 0; i < arguments + results; i++) layover_value_release(&values[i]);
    memory_free(memory);
    return error;
}

static Error *set_instrument(
    LayoverExecution *execution, LayoverInstrument *instrument, void *context) {
    if (execution->profile) FAIL(CONFLICT, "a profile of this execution is recorded");
    execution->instrument = instrument;
    execution->instrument_context = context;
    execution_set_instrument(execution->execution, instrument ? on_call : NULL, execution);
    return NULL;
}

LayoverError *layover_execution_set_instrument(
    LayoverExecution *execution, LayoverInstrument *instrument, void *context) {
    return library_error(set_instrument(execution, instrument, context));
}

/* ---- timings ---- */

static LayoverTiming timing_of(const TimeEvaluation *evaluation) {
    return (LayoverTiming){
        .repeat = evaluation->rounds,
        .number = evaluation->runs,
        .min_s = evaluation->min_ns * 1e-9,
        .mean_s = evaluation->mean_ns * 1e-9,
        .median_s = evaluation->median_ns * 1e-9,
        .max_s = evaluation->max_ns * 1e-9,
    };
}

static Error *evaluate(LayoverModel *model, const char *function, Value *values, uint32_t count,
    const LayoverTimeOptions *wanted, LayoverTiming *out_timing, double *out_seconds) {
    uint32_t index;
    TimeEvaluation evaluation;
    const ExecutionOptions options = library_options(model);
    const Executable *executable = model->residency->executable;
    const TimeEvaluatorOptions times = {.rounds = wanted ? wanted->repeat : 0,
        .runs = wanted ? wanted->number : 0,
        .round_min_ns = wanted ? wanted->min_repeat_ms * UINT64_C(1000000) : 0};
    TRY(library_check_outside_host());
    TRY(library_process_check(model));
    TRY(executable_find_function(executable, function, &index));
    TRY(library_values_fit(&executable->functions[index], values, count));
    TRY(time_evaluator_run(model->residency, &options, index, values, count, clock_real(), times,
        &evaluation, out_seconds));
    for (uint32_t i = 0; out_seconds && i < evaluation.rounds; i++) out_seconds[i] *= 1e-9;
    *out_timing = timing_of(&evaluation);
    return NULL;
}

static Error *take_and_evaluate(LayoverModel *model, const char *function,
    const LayoverValue *arguments, uint32_t count, const LayoverTimeOptions *options,
    LayoverTiming *out_timing, double *out_seconds) {
    Value *values;
    TRY(library_values_take(model, arguments, count, &values));
    Error *error = evaluate(model, function, values, count, options, out_timing, out_seconds);
    library_values_free(values, count);
    return error;
}

LayoverError *layover_model_time_evaluator(LayoverModel *model, const char *function,
    const LayoverValue *arguments, uint32_t argument_count, const LayoverTimeOptions *options,
    LayoverTiming *out_timing, double *out_seconds) {
    return library_error(take_and_evaluate(
        model, function, arguments, argument_count, options, out_timing, out_seconds));
}
