/* Yielded values of an execution, and its checkpoints in memory. */
#include "base/allocator.h"
#include "serialize/checkpoint/checkpoint.h"
#include "tools/library/library_internal.h"
#include "vm/execution/snapshot.h"

static Error *run_to_yield(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state) {
    if (execution_count_yields(execution->execution) > 0) {
        *out_state = LAYOVER_YIELDED;
        return NULL;
    }
    execution_end_at_yields(execution->execution, true);
    Error *error = library_run(execution, instructions, out_state);
    execution_end_at_yields(execution->execution, false);
    execution_withdraw_slice_end(execution->execution); /* the run may have ended first */
    if (!error && execution_count_yields(execution->execution) > 0 &&
        *out_state != LAYOVER_SUSPENDED)
        *out_state = LAYOVER_YIELDED;
    return error;
}

LayoverError *layover_execution_run_to_yield(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state) {
    return library_error(run_to_yield(execution, instructions, out_state));
}

static Error *take_yield(LayoverExecution *execution, LayoverValue *out_value, int *out_found) {
    Value value;
    uint64_t sequence;
    if (!execution_take_yield(execution->execution, &value, &sequence)) {
        *out_found = 0;
        return NULL;
    }
    Error *error = library_value_give(execution->model, &value, LIBRARY_COPY, out_value);
    value_release(&value);
    if (!error) *out_found = 1;
    return error_wrap(error, "yielded value %llu", (unsigned long long)sequence);
}

LayoverError *layover_execution_take_yield(
    LayoverExecution *execution, LayoverValue *out_value, int *out_found) {
    return library_error(take_yield(execution, out_value, out_found));
}

static Error *checkpoint(LayoverExecution *execution, void **out_bytes, size_t *out_size) {
    OWN(Snapshot, snapshot) = NULL;
    ByteWriter OWN_BYTES(file) = {0};
    TRY(library_process_check(execution->model));
    TRY(snapshot_take(execution->execution, &snapshot));
    TRY(checkpoint_write_memory(snapshot, execution->model->pool, &file));
    *out_bytes = file.data;
    *out_size = file.size;
    file = (ByteWriter){0};
    return NULL;
}

LayoverError *layover_execution_checkpoint_bytes(
    LayoverExecution *execution, void **out_bytes, size_t *out_size) {
    return library_error(checkpoint(execution, out_bytes, out_size));
}

void layover_bytes_free(void *bytes) { memory_free(bytes); }

static Error *resume(LayoverModel *model, const void *bytes, size_t size, const char *what,
    LayoverExecution **out_execution) {
    OWN(Container, container) = NULL;
    TRY_WRAP(container_open_memory(CONTAINER_CHECKPOINT, bytes, size, &container), "%s", what);
    return library_resume(model, container, what, out_execution);
}

LayoverError *layover_execution_resume_bytes(LayoverModel *model, const void *bytes, size_t size,
    const char *what, LayoverExecution **out_execution) {
    return library_error(resume(model, bytes, size, what, out_execution));
}
