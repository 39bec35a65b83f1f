/* Checkpoints of a program that uses every kind of object, alone and in jobs' files. The first
 * byte: 0 file  1 file, repaired  2 manifest, repaired. What is restored runs on. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "serialize/arrays/array_bundle.h"
#include "serialize/checkpoint/checkpoint_summary.h"
#include "serialize/container/executable_file.h"
#include "serialize/checkpoint/job_file.h"
#include "tests/fuzz/fuzz_repair.h"
#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_target.h"
#include "vm/assembly/assembly.h"

static const char program[] = "constant @w = float32[3] {1, 2, 3}\n"
                              "constant @s = shape [3]\n"
                              "constant @name = string \"value.kind\"\n"
                              "primitive %add = Add\n"
                              "packed packed.find(1)\n"
                              "packed shape_heap.new(1)\n"
                              "function helper(2) last_uses {\n"
                              "    InvokePacked %add r0, r1 -> r2\n"
                              "    Yield r2\n"
                              "    Ret r2\n"
                              "}\n"
                              "function main() exported last_uses {\n"
                              "    InvokePacked %add @w, @w -> r0\n"
                              "    LoadConst @w -> r1\n"
                              "    ListNew r0, r1, 7 -> r2\n"
                              "    AllocClosure &helper, first, r0 -> r3\n"
                              "    AllocADT 4, r2, r3, 5 -> r4\n"
                              "    Call &packed.find, @name -> r5\n"
                              "    Call &shape_heap.new, 4 -> r6\n"
                              "    AllocStorage 64, 64, 1, float32 -> r7\n"
                              "    AllocTensor r7, 0, float32, 3 -> r8\n"
                              "    AllocTensor r7, 32, float32, 3 -> r9\n"
                              "    InvokePacked %add r0, r1 => r8\n"
                              "    LoadConst @s -> r10\n"
                              "    InvokeClosure r3, r8 -> r11\n"
                              "    Invoke &helper, r11, r8 -> r11\n"
                              "    AllocADT 0, r2, r3, r4, r5, r6, r8, r10, r11 -> r12\n"
                              "    Ret r12\n"
                              "}\n";

static Residency *program_residency(void) {
    static Residency *residency;
    if (residency) return residency;
    OWN(Executable, executable) = NULL;
    Error *error = assembly_parse(program, strlen(program), &executable);
    if (!error) error = executable_identify(executable, NULL);
    if (!error)
        error = residency_create(executable, fuzz_device(), fuzz_device(), NULL, &residency);
    if (error) (void)fprintf(stderr, "fuzz_checkpoint: %s\n", error_message(error));
    assert(!error);
    return residency;
}

static Error *run(const Container *container) {
    OWN(Execution, execution) = NULL;
    TRY(checkpoint_read(
        container, NULL, CHUNK_VERIFY_XXH3, program_residency(), fuzz_options(), NULL, &execution));
    fuzz_run_execution(execution);
    return NULL;
}

static void read_arrays(const Container *container, const JobFileArrays *from) {
    enum { BYTES_MAX = 1 << 20 };
    ArrayList OWN_ARRAYS(arrays) = {0};
    error_free(array_bundle_read(from->bytes, from->size, from->chunks, from->chunk_count, NULL,
        CHUNK_VERIFY_XXH3, container_get_source(container), BYTES_MAX, &arrays));
}

static void read_model(const Container *container, const JobFile *file) {
    OWN(Container, model) = NULL;
    OWN(Executable, outline) = NULL;
    Error *error = container_open_manifest(CONTAINER_EXECUTABLE, file->executable,
        file->executable_size, container_get_source(container), &model);
    if (!error) error = executable_read_outline(model, &outline);
    error_free(error);
}

/* A job's file: what stands in it, and its execution alone, which is one like others. */
static Error *read_job(const Container *container) {
    JobFile OWN_JOB_FILE(file) = {0};
    OWN(Container, alone) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    TRY(job_file_read(container, &file));
    read_arrays(container, &file.inputs);
    for (size_t i = 0; i < file.output_count; i++) read_arrays(container, &file.outputs[i]);
    if (file.executable) read_model(container, &file);
    if (!job_file_has_execution(container)) return NULL;
    TRY(job_file_get_execution(container, &manifest));
    TRY(container_open_manifest(CONTAINER_CHECKPOINT, manifest.data, manifest.size,
        container_get_source(container), &alone));
    return run(alone);
}

static Error *read_and_run(const Container *container) {
    CheckpointSummary summary;
    Error *error = checkpoint_summary_read(container, &summary);
    if (!error) checkpoint_summary_deinit(&summary);
    error_free(error);
    return job_file_is(container) ? read_job(container) : run(container);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_open_container(CONTAINER_CHECKPOINT, data, size, read_and_run);
    return 0;
}
