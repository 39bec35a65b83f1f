#include "scheduler/executor/job_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "scheduler/executor/job_run_internal.h"
#include "serialize/arrays/array_values.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/checkpoint/checkpoint_class.h"

Error *job_run_create(
    Batch *owned_batch, uint32_t function, const ExecutionOptions *options, JobRun **out_run) {
    void *memory;
    Error *error = memory_alloc(1, sizeof(JobRun), &memory);
    if (error) {
        batch_release(owned_batch);
        return error;
    }
    JobRun *run = memory;
    run->batch = owned_batch;
    run->function = function;
    run->options = *options;
    run->grant_bytes = UINT64_MAX;
    if (run->options.packed) (void)packed_registry_retain(run->options.packed);
    (void)pthread_mutex_init(&run->mutex, NULL);
    kernel_stop_init(&run->kernel_stop);
    run->options.kernel_stop = &run->kernel_stop;
    *out_run = run;
    return NULL;
}

void job_run_release(JobRun *run) {
    if (!run) return;
    execution_release(run->execution);
    batch_release(run->batch);
    batch_outputs_deinit(&run->outputs);
    byte_writer_deinit(&run->out);
    memory_free(run->class_change);
    packed_registry_release(run->options.packed);
    kernel_stop_deinit(&run->kernel_stop);
    (void)pthread_mutex_destroy(&run->mutex);
    memory_free(run);
}

/* Takes a request for the slice's end away. */
static bool take_request(JobRun *run) {
    (void)pthread_mutex_lock(&run->mutex);
    bool requested = run->slice_end_requested;
    run->slice_end_requested = false;
    if (requested) kernel_stop_clear(&run->kernel_stop);
    (void)pthread_mutex_unlock(&run->mutex);
    return requested;
}

/* Under the mutex. */
static void request_end(JobRun *run) {
    run->slice_end_requested = true;
    if (run->execution) execution_request_slice_end(run->execution);
}

void job_run_request_slice_end(JobRun *run) {
    (void)pthread_mutex_lock(&run->mutex);
    request_end(run);
    (void)pthread_mutex_unlock(&run->mutex);
}

void job_run_request_pause(JobRun *run, uint64_t from_ns) {
    (void)pthread_mutex_lock(&run->mutex);
    request_end(run);
    kernel_stop_pause(&run->kernel_stop, from_ns);
    (void)pthread_mutex_unlock(&run->mutex);
}

void job_run_resume(JobRun *run) {
    (void)pthread_mutex_lock(&run->mutex);
    run->slice_end_requested = false;
    if (run->execution) execution_withdraw_slice_end(run->execution);
    kernel_stop_clear(&run->kernel_stop);
    (void)pthread_mutex_unlock(&run->mutex);
}

static void request_stop(JobRun *run, uint32_t wanted) {
    (void)pthread_mutex_lock(&run->mutex);
    request_end(run);
    kernel_stop_want(&run->kernel_stop, wanted);
    (void)pthread_mutex_unlock(&run->mutex);
}

void job_run_request_abandon(JobRun *run) { request_stop(run, KERNEL_STOP_ABANDON); }

void job_run_request_discard(JobRun *run) { request_stop(run, KERNEL_STOP_DISCARD); }

void job_run_set_paused(JobRun *run, void (*paused)(void *listener), void *listener) {
    kernel_stop_set_listener(&run->kernel_stop, paused, listener);
}

LongKernel job_run_get_kernel(JobRun *run) { return kernel_stop_get_kernel(&run->kernel_stop); }

static void set_execution(JobRun *run, Execution *owned_execution) {
    (void)pthread_mutex_lock(&run->mutex);
    Execution *before = run->execution;
    run->execution = owned_execution;
    /* asked for while there was none to tell */
    if (owned_execution && run->slice_end_requested) execution_request_slice_end(owned_execution);
    (void)pthread_mutex_unlock(&run->mutex);
    execution_release(before);
}

static Error *begin_run(JobRun *run, Residency *residency) {
    Value *values;
    Execution *execution;
    uint32_t count = residency->executable->functions[run->function].parameter_count;
    TRY(batch_get_arguments(run->batch, run->next_run, &values));
    Error *error =
        execution_create(residency, &run->options, run->function, values, count, &execution);
    array_values_release(values, count);
    TRY(error);
    memory_pool_set_grant(execution_get_pool(execution, SLOT_DEVICE), run->grant_bytes);
    set_execution(run, execution);
    return NULL;
}

/* An output while it grows. A list may hold one tensor a million times, so the memory of an
 * execution does not bound its output. */
typedef struct Collection {
    ArrayList arrays;
    uint64_t bytes, bytes_max; /* max 0: any */
} Collection;
#define OWN_COLLECTION(name) __attribute__((cleanup(collection_deinit))) name

static void collection_deinit(Collection *collection) { array_list_deinit(&collection->arrays); }

static Collection collection(const JobRun *run) {
    return (Collection){.bytes_max = run->options.memory_limit_bytes[SLOT_HOST]};
}

static Error *collect(void *self, NamedArray *inout_array) {
    Collection *to = self;
    if (to->arrays.count == JOB_RUN_ARRAYS_MAX)
        FAIL(EXHAUSTED, "an output of more than %d arrays", JOB_RUN_ARRAYS_MAX);
    to->bytes += inout_array->size; /* each is bounded by the memory it was in */
    if (to->bytes_max && to->bytes > to->bytes_max)
        FAIL(EXHAUSTED, "an output of %" PRIu64 " bytes, of %" PRIu64 " that one may have",
            to->bytes, to->bytes_max);
    return array_list_add(&to->arrays, inout_array);
}

static Error *emit(JobRun *run, JobRunSink sink, ArrayList *arrays) {
    TRY(sink.output(sink.self, run->sequence, arrays, job_run_items_done(run)));
    run->sequence++;
    return NULL;
}

static Error *emit_yields(JobRun *run, JobRunSink sink, bool *out_any) {
    Value value;
    uint64_t number;
    while (execution_take_yield(run->execution, &value, &number)) {
        Collection OWN_COLLECTION(output) = collection(run);
        char name[64];
        *out_any = true;
        (void)snprintf(name, sizeof name, "yield.%" PRId64, run->sequence);
        Error *error =
            array_values_export(&value, name, (ArraySink){.add = collect, .self = &output});
        value_release(&value);
        if (!error) error = emit(run, sink, &output.arrays);
        TRY(error);
    }
    return NULL;
}

static Error *end_run(JobRun *run, JobRunSink sink) {
    Collection OWN_COLLECTION(output) = collection(run);
    TRY(array_values_export_result(run->execution, (ArraySink){.add = collect, .self = &output}));
    int64_t items = batch_items_before(run->batch, run->next_run + 1) -
                    batch_items_before(run->batch, run->next_run);
    if (batch_item_count(run->batch) != BATCH_SINGLE)
        TRY(batch_outputs_check(&run->outputs, &output.arrays, items));
    set_execution(run, NULL);
    run->next_run++;
    return emit(run, sink, &output.arrays);
}

static void count(JobRun *run) {
    ExecutionCounters counters = execution_get_counters(run->execution);
    run->counters = (JobRunCounters){counters.instructions, counters.kernel_calls,
        execution_get_peak_bytes(run->execution), execution_get_traffic(run->execution)};
}

static Budget budget_to_suspension(const JobRun *run) {
    uint64_t done = execution_get_counters(run->execution).instructions;
    return (Budget){run->suspend_at > done ? run->suspend_at - done : 0};
}

static bool is_at_suspension(const JobRun *run) {
    return run->suspend_at && !run->suspend_passed &&
           execution_get_counters(run->execution).instructions == run->suspend_at;
}

/* Part of a run. out_ended: the slice is over, out_result says why. */
static Error *step(
    JobRun *run, Residency *residency, JobRunSink sink, bool *out_ended, JobRunResult *out_result) {
    RunResult result;
    bool yielded = false;
    if (!run->execution) TRY(begin_run(run, residency));
    if (is_at_suspension(run)) {
        run->suspend_passed = *out_ended = true;
        *out_result = (JobRunResult){JOB_RUN_SUSPENDED, 0};
        return NULL;
    }
    TRY(execution_run(run->execution, budget_to_suspension(run), &result));
    count(run);
    TRY(emit_yields(run, sink, &yielded));
    if (result.kind == RUN_FINISHED) return end_run(run, sink);
    /* taking yields may have freed the memory */
    if (result.kind == RUN_NEEDS_MEMORY && !yielded) {
        *out_result = (JobRunResult){JOB_RUN_NEEDS_MEMORY, result.bytes};
        *out_ended = true;
    }
    if (result.kind == RUN_SUSPENDED) {
        run->suspend_passed = true;
        *out_result = (JobRunResult){JOB_RUN_SUSPENDED, 0};
        *out_ended = true;
    }
    return NULL; /* blocked by its yields, which are taken now; or asked to end, see take_request */
}

/* Names "item 57" or "items 56 to 63" of the run in an error. */
static Error *name_items(const JobRun *run, Error *error) {
    if (batch_item_count(run->batch) == BATCH_SINGLE) return error;
    int64_t begin = batch_items_before(run->batch, run->next_run);
    int64_t end = batch_items_before(run->batch, run->next_run + 1);
    if (end - begin == 1) return error_wrap(error, "item %" PRId64, begin);
    return error_wrap(error, "items %" PRId64 " to %" PRId64, begin, end - 1);
}

Error *job_run_slice(JobRun *run, Residency *residency, JobRunSink sink, JobRunResult *out_result) {
    bool ended = false;
    while (!ended) {
        if (!run->execution && run->next_run >= batch_run_count(run->batch)) {
            *out_result = (JobRunResult){JOB_RUN_FINISHED, 0};
            return NULL;
        }
        if (take_request(run)) {
            *out_result = (JobRunResult){JOB_RUN_SLICE_ENDED, 0};
            return NULL;
        }
        Error *error = step(run, residency, sink, &ended, out_result);
        if (error) return name_items(run, error);
    }
    return NULL;
}

int64_t job_run_items_done(const JobRun *run) {
    return batch_items_before(run->batch, run->next_run);
}

int64_t job_run_items_total(const JobRun *run) { return batch_item_count(run->batch); }

JobRunCounters job_run_get_counters(const JobRun *run) { return run->counters; }

int64_t job_run_sequence(const JobRun *run) { return run->sequence; }

void job_run_set_grant(JobRun *run, uint64_t bytes) {
    run->grant_bytes = bytes;
    if (run->execution)
        memory_pool_set_grant(execution_get_pool(run->execution, SLOT_DEVICE), bytes);
}

void job_run_set_suspend_at(JobRun *run, uint64_t instructions, bool passed) {
    run->suspend_at = instructions;
    run->suspend_passed = passed;
}

uint64_t job_run_device_bytes(const JobRun *run) {
    if (!run->execution) return 0;
    return memory_pool_used_bytes(execution_get_pool(run->execution, SLOT_DEVICE));
}

bool job_run_is_out(const JobRun *run) { return run->is_out; }

uint64_t job_run_host_bytes(const JobRun *run) { return run->is_out ? run->out.size : 0; }

static Error *write_out(JobRun *run, WorkerPool *pool, ByteWriter *out_file) {
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(run->execution, &snapshot));
    return checkpoint_write_memory(snapshot, pool, out_file);
}

Error *job_run_move_out(JobRun *run, WorkerPool *pool) {
    if (run->is_out) return NULL;
    if (run->execution) {
        ByteWriter OWN_BYTES(file) = {0};
        TRY(write_out(run, pool, &file));
        run->out = file;
        file = (ByteWriter){0};
        set_execution(run, NULL);
    }
    run->is_out = true;
    return NULL;
}

Error *job_run_note_class(JobRun *run, const Container *container, const Residency *residency) {
    memory_free(run->class_change);
    run->class_change = NULL;
    return checkpoint_class_find_change(
        container, residency->devices[SLOT_DEVICE], &run->class_change);
}

char *job_run_take_class_change(JobRun *run) { return TAKE(run->class_change); }

Error *job_run_move_in(JobRun *run, Residency *residency, WorkerPool *pool) {
    if (!run->is_out) return NULL;
    if (run->out.size > 0) {
        OWN(Container, container) = NULL;
        Execution *execution;
        TRY(container_open_memory(CONTAINER_CHECKPOINT, run->out.data, run->out.size, &container));
        TRY(job_run_note_class(run, container, residency));
        TRY(checkpoint_read(
            container, pool, CHUNK_VERIFY_XXH3, residency, &run->options, NULL, &execution));
        memory_pool_set_grant(execution_get_pool(execution, SLOT_DEVICE), run->grant_bytes);
        set_execution(run, execution);
        container_release(TAKE(container)); /* the container borrows the bytes */
        byte_writer_deinit(&run->out);
    }
    run->is_out = false;
    return NULL;
}
