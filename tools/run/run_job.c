#include "tools/run/run_job.h"

#include "base/allocator.h"
#include "scheduler/executor/job_point.h"
#include "scheduler/node/job_policy.h"
#include "serialize/arrays/array_bundle.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/container/executable_file.h"

static Error *read_arrays(
    const RunJob *job, const JobFileArrays *arrays, WorkerPool *pool, ArrayList *out) {
    return array_bundle_read(arrays->bytes, arrays->size, arrays->chunks, arrays->chunk_count, pool,
        CHUNK_VERIFY_SHA256, container_get_source(job->container), UINT64_MAX, out);
}

static Error *read_policy(RunJob *job) {
    JobPolicy OWN_POLICY(policy) = {0};
    JobPoint OWN_POINT(point) = {0};
    TRY(job_policy_read(job->file.policy, job->file.policy_size, &policy));
    TRY_WRAP(job_point_read(job->file.point, job->file.point_size, &point), "point");
    if (policy.items || job->file.items_total >= 0)
        FAIL(INVALID, "the file of a batch job; a daemon goes on with it: layover restore FILE");
    if (point.next_run != 0 || (uint64_t)point.sequence != job->file.output_count)
        FAIL(CORRUPT, "%zu outputs before output %lld of run %llu", job->file.output_count,
            (long long)point.sequence, (unsigned long long)point.next_run);
    job->random_key = policy.random_key;
    job->function = policy.function;
    policy.function = NULL;
    return NULL;
}

static Error *open_job(WorkerPool *pool, RunJob *job) {
    TRY(job_file_read(job->container, &job->file));
    TRY(read_policy(job));
    for (size_t i = 0; i < job->file.output_count; i++) {
        ArrayList OWN_ARRAYS(arrays) = {0};
        TRY_WRAP(read_arrays(job, &job->file.outputs[i], pool, &arrays), "output %zu", i);
        for (size_t k = 0; k < arrays.count; k++)
            TRY(array_list_add(&job->outputs, &arrays.items[k]));
    }
    return error_recode(array_list_check_names(&job->outputs), ERROR_CORRUPT);
}

Error *run_job_open(Container *container, WorkerPool *pool, RunJob *out_job) {
    RunJob OWN_RUN_JOB(job) = {.container = container};
    TRY(open_job(pool, &job));
    *out_job = job;
    job = (RunJob){0};
    return NULL;
}

void run_job_close(RunJob *job) {
    array_list_deinit(&job->outputs);
    memory_free(job->function);
    job_file_deinit(&job->file);
    *job = (RunJob){0};
}

Error *run_job_read_inputs(const RunJob *job, WorkerPool *pool, ArrayList *out_inputs) {
    return error_wrap(read_arrays(job, &job->file.inputs, pool, out_inputs), "inputs");
}

Error *run_job_load_model(const RunJob *job, WorkerPool *pool, Executable **out_executable) {
    OWN(Container, model) = NULL;
    if (!job->file.executable) FAIL(NOT_FOUND, "the file has no executable");
    TRY(container_open_manifest(CONTAINER_EXECUTABLE, job->file.executable,
        job->file.executable_size, container_get_source(job->container), &model));
    TRY(container_check_identity(model, &job->file.executable_identity));
    return executable_read(model, pool, CHUNK_VERIFY_SHA256, out_executable);
}

/* ---- writing ---- */

static Error *copy_chunks(const RunJob *job, WorkerPool *pool, ChunkSink sink) {
    OWN(Container, model) = NULL;
    ChunkSource source = container_get_source(job->container);
    for (size_t i = 0; i < job->file.output_count; i++)
        TRY(chunk_copy(job->file.outputs[i].chunks, job->file.outputs[i].chunk_count, pool,
            CHUNK_VERIFY_SHA256, source, sink));
    if (!job->file.executable) return NULL;
    TRY(container_open_manifest(
        CONTAINER_EXECUTABLE, job->file.executable, job->file.executable_size, source, &model));
    return container_copy_chunks(model, pool, CHUNK_VERIFY_SHA256, sink);
}

/* The file has no inputs: the execution has them. */
static Error *write_manifest(const RunJob *job, const Container *execution, ByteWriter *out) {
    ArrayBundle OWN_BUNDLE(none) = {0};
    const ArrayList nothing = {0};
    JobFile file = job->file;
    Digest identity;
    TRY(array_bundle_write(&nothing, NULL, (ChunkSink){0}, &none));
    file.inputs = (JobFileArrays){.bytes = none.bytes.data, .size = none.bytes.size};
    return job_file_write(&file, execution, out, &identity);
}

Error *run_job_write(const RunJob *job, const Snapshot *snapshot, WorkerPool *pool,
    const char *path, uint64_t *out_bytes) {
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, file) = NULL;
    OWN(Container, execution) = NULL;
    ByteWriter OWN_BYTES(alone) = {0};
    ByteWriter OWN_BYTES(manifest) = {0};
    Digest identity;
    TRY(file_output_create(path, &output));
    TRY(container_file_create(output, NULL, &file));
    ChunkSink sink = container_file_get_sink(file);
    TRY(checkpoint_write(snapshot, pool, sink, &alone, &identity));
    TRY(container_open_manifest(
        CONTAINER_CHECKPOINT, alone.data, alone.size, (ChunkSource){0}, &execution));
    TRY(copy_chunks(job, pool, sink));
    TRY(write_manifest(job, execution, &manifest));
    TRY(container_file_finish(file, manifest.data, manifest.size));
    TRY(file_output_commit(output));
    *out_bytes = file_output_size(output);
    return NULL;
}
