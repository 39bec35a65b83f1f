#include "vm/execution/time_evaluator.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"

enum { ROUNDS_DEFAULT = 5 };
static const uint64_t ROUND_NS_DEFAULT = 100000000;

typedef struct Evaluated {
    Residency *residency;
    const ExecutionOptions *options;
    const Value *arguments;
    Clock clock;
    uint32_t function, argument_count;
} Evaluated;

static Error *run_once(const Evaluated *evaluated) {
    OWN(Execution, execution) = NULL;
    TRY(execution_create(evaluated->residency, evaluated->options, evaluated->function,
        evaluated->arguments, evaluated->argument_count, &execution));
    for (;;) {
        RunResult result;
        TRY(execution_run(execution, (Budget){0}, &result));
        if (result.kind == RUN_FINISHED) return NULL;
        Value yielded;
        uint64_t sequence;
        if (result.kind != RUN_BLOCKED) FAIL(FAILED, "a timed run stopped before its end");
        while (execution_take_yield(execution, &yielded, &sequence)) value_release(&yielded);
    }
}

static Error *run_round(const Evaluated *evaluated, uint64_t runs, uint64_t *out_ns) {
    uint64_t start = clock_now_ns(evaluated->clock);
    for (uint64_t i = 0; i < runs; i++) TRY(run_once(evaluated));
    *out_ns = clock_now_ns(evaluated->clock) - start;
    return NULL;
}

static int compare_times(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static TimeEvaluation summarise(double *times, uint32_t rounds, uint64_t runs) {
    qsort(times, rounds, sizeof(double), compare_times);
    TimeEvaluation result = {.rounds = rounds,
        .runs = runs,
        .min_ns = times[0],
        .median_ns = times[rounds / 2],
        .max_ns = times[rounds - 1]};
    for (uint32_t i = 0; i < rounds; i++) result.mean_ns += times[i] / rounds;
    return result;
}

/* Doubles the runs until a round is long enough; also warms everything up. */
static Error *choose_runs(
    const Evaluated *evaluated, uint64_t first, uint64_t min_ns, uint64_t *out_runs) {
    for (uint64_t runs = first ? first : 1;; runs *= 2) {
        uint64_t ns;
        TRY(run_round(evaluated, runs, &ns));
        if (ns >= min_ns || runs >= UINT64_C(1) << 40) {
            *out_runs = runs;
            return NULL;
        }
    }
}

Error *time_evaluator_run(Residency *residency, const ExecutionOptions *options, uint32_t function,
    const Value *arguments, uint32_t argument_count, Clock clock, TimeEvaluatorOptions evaluator,
    TimeEvaluation *out, double *out_round_ns) {
    Evaluated evaluated = {residency, options, arguments, clock, function, argument_count};
    uint32_t rounds = evaluator.rounds ? evaluator.rounds : ROUNDS_DEFAULT;
    if (rounds > TIME_EVALUATOR_ROUNDS_MAX)
        FAIL(INVALID, "%u rounds; there may be %d", rounds, TIME_EVALUATOR_ROUNDS_MAX);
    uint64_t runs = evaluator.runs;
    const uint64_t least = evaluator.round_min_ns ? evaluator.round_min_ns : ROUND_NS_DEFAULT;
    if (runs == 0 || evaluator.round_min_ns)
        TRY(choose_runs(&evaluated, runs, least, &runs));
    else
        TRY(run_once(&evaluated));
    void *memory;
    TRY(memory_alloc(rounds, sizeof(double), &memory));
    double *times = memory;
    Error *error = NULL;
    for (uint32_t i = 0; !error && i < rounds; i++) {
        uint64_t ns = 0;
        error = run_round(&evaluated, runs, &ns);
        times[i] = (double)ns / (double)runs;
    }
    if (!error && out_round_ns) memcpy(out_round_ns, times, rounds * sizeof *times);
    if (!error) *out = summarise(times, rounds, runs);
    memory_free(times);
    return error;
}
