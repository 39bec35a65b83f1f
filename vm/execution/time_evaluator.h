#pragma once
/* Times a function: many runs of it, warmed up, in rounds. Called by tests and by hosts of the VM;
 * one thread. */
#include "base/clock.h"
#include "vm/execution/execution.h"

typedef struct TimeEvaluation {
    uint32_t rounds;
    uint64_t runs;                             /* per round */
    double min_ns, mean_ns, median_ns, max_ns; /* of one run, over the rounds */
} TimeEvaluation;

enum { TIME_EVALUATOR_ROUNDS_MAX = 10000 };

typedef struct TimeEvaluatorOptions {
    uint32_t rounds;       /* 0: 5 */
    uint64_t runs;         /* per round; 0: as many as round_min_ns needs */
    uint64_t round_min_ns; /* runs are doubled until a round takes this long; 0: 100 ms, and with
                            * `runs` no limit */
} TimeEvaluatorOptions;

/* Each run is an execution of its own; making it is part of the time.
 *
 * out_round_ns: NULL, or room for each round's time of one run.
 * Errors:       any error of a run; FAILED a run stops before its end. */
MUST_CHECK Error *time_evaluator_run(Residency *residency, const ExecutionOptions *options,
    uint32_t function, const Value *arguments, uint32_t argument_count, Clock clock,
    TimeEvaluatorOptions evaluator, TimeEvaluation *out, double *out_round_ns);
