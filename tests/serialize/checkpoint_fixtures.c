#include "tests/serialize/checkpoint_fixtures.h"

void checkpoint_example_init(CheckpointExample *example, uint64_t instructions) {
    OWN(Execution, execution) = NULL;
    OWN(Snapshot, snapshot) = NULL;
    Digest identity;
    *example = (CheckpointExample){.executable = example_executable()};
    example->residency = example_residency(example->executable);
    execution = example_execution(example->residency, instructions);
    assert_ok(snapshot_take(execution, &snapshot));
    assert_ok(checkpoint_write(
        snapshot, NULL, memory_store_sink(&example->chunks), &example->manifest, &identity));
    assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, example->manifest.data,
        example->manifest.size, memory_store_source(&example->chunks), &example->container));
}

void checkpoint_example_deinit(CheckpointExample *example) {
    container_release(example->container);
    byte_writer_deinit(&example->manifest);
    memory_store_deinit(&example->chunks);
    residency_release(example->residency);
    executable_release(example->executable);
    example_close();
}

Execution *checkpoint_example_finish(
    const CheckpointExample *example, const Container *container, Error **out_error) {
    static const ExecutionOptions options = {0};
    OWN(Execution, execution) = NULL;
    RunResult result;
    *out_error = checkpoint_read(
        container, NULL, CHUNK_VERIFY_SHA256, example->residency, &options, NULL, &execution);
    if (!*out_error) *out_error = execution_run(execution, (Budget){1000}, &result);
    return *out_error ? NULL : TAKE(execution);
}
