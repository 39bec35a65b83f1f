#include "bench/bench_other.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

typedef struct Other {
    Execution *execution;
    uint64_t budget;
    atomic_bool stop;
    double seconds;
    uint64_t instructions;
    Error *error;
    pthread_t thread;
} Other;

static void *compute(void *context) {
    Other *other = context;
    uint64_t start_ns = clock_now_ns(clock_real());
    while (!atomic_load(&other->stop) && !other->error) {
        RunResult result;
        other->error = execution_run(other->execution, (Budget){other->budget}, &result);
        other->instructions += other->budget;
    }
    other->seconds = (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
    return NULL;
}

static Error *begin(Execution *execution, uint64_t budget, Other *out) {
    *out = (Other){.execution = execution, .budget = budget};
    if (pthread_create(&out->thread, NULL, compute, out) != 0)
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    return NULL;
}

static Error *end(Other *other, double *out_rate) {
    atomic_store(&other->stop, true);
    (void)pthread_join(other->thread, NULL);
    *out_rate = (double)other->instructions / other->seconds;
    return other->error;
}

Error *bench_other_compare(
    Execution *execution, uint64_t budget, BenchWork *work, void *context, double *out_kept) {
    Other other;
    double alone, beside;
    TRY(begin(execution, budget, &other));
    (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    TRY(end(&other, &alone));
    TRY(begin(execution, budget, &other));
    Error *error = work(context);
    Error *other_error = end(&other, &beside);
    if (error) error_free(other_error);
    TRY(error ? error : other_error);
    *out_kept = beside / alone;
    return NULL;
}
