#pragma once
/* One execution in this process with everything that it needs: devices, residency, options,
 * checkpoints. Callers: the verbs run, resume, register and bench, precision_report.c. Threads: the
 * main thread. */
#include "scheduler/executor/resident_models.h"
#include "serialize/arrays/array_list.h"
#include "serialize/checkpoint/checkpoint.h"
#include "store/weights/weight_cache.h"
#include "tools/client/model_access.h"
#include "tools/run/run_job.h"

typedef struct RunMachine {
    char *device_spec;
    char *native_preload;  /* NULL: none */
    Device *host, *device; /* one and the same for cpu */
    WorkerPool *pool;      /* borrowed */
    Executable *executable;
    /* set for a model of the home; borrowed. NULL: the model comes from a file */
    const ModelAccess *access;
    Digest identity;      /* the identity of that model */
    const char *name;     /* the model's name in errors; borrowed */
    WeightCache *weights; /* the home's cache; NULL: prepared weights are not kept */
    WeightImages images;
    bool quiet;
    Residency *residency;
    Execution *execution; /* NULL before a start */
    ExecutionOptions options;
    const RunJob *job; /* the job that runs; borrowed. NULL: no job */
} RunMachine;

/* Opens the devices and makes the executable resident. owned_executable is consumed. */
MUST_CHECK Error *run_machine_open(const CommandContext *context, WorkerPool *pool,
    Executable *owned_executable, RunMachine *out_machine);
/* Opens an executable of the home. Its prepared weights are read from there, and kept for the next
 * run. access, name: borrowed as long as the machine lives. Errors: NOT_FOUND the tenant has no
 * executable of this identity. */
MUST_CHECK Error *run_machine_open_stored(const CommandContext *context, const ModelAccess *access,
    const Digest *identity, const char *name, RunMachine *out_machine);
void run_machine_close(RunMachine *machine);
#define OWN_MACHINE(name) __attribute__((cleanup(run_machine_close))) name

/* Starts a function on the inputs of the command line. */
MUST_CHECK Error *run_machine_start(RunMachine *machine, const CommandContext *context);
/* Starts machine->job, which has not begun, on its own inputs. */
MUST_CHECK Error *run_machine_start_job(RunMachine *machine);
/* Continues from a checkpoint of this executable. */
MUST_CHECK Error *run_machine_resume(RunMachine *machine, const Container *container);
MUST_CHECK Error *run_machine_checkpoint(
    RunMachine *machine, const char *path, uint64_t *out_bytes);
/* Moves the execution off the device into memory, releases the device, waits for SIGCONT, and opens
 * the device again. */
MUST_CHECK Error *run_machine_pause(RunMachine *machine);
/* Runs an execution to its end and drops its yields. Errors: EXHAUSTED the device has no room for
 * the execution; the execution's. */
MUST_CHECK Error *run_machine_finish(Execution *execution);
uint64_t run_machine_peak_bytes(const RunMachine *machine);

/* Reads the arrays of one --input that is not inline (input_value.h): FILE.npz, FILE.safetensors,
 * NAME=FILE.npy, with or without @ before the file. function: the function that gets them; arrays
 * of a .npz that do not fit are refused before they are unpacked; NULL: unknown. Errors: INVALID
 * also an .npz that unpacks to more than this process could have. */
MUST_CHECK Error *run_inputs_read_option(
    const char *text, const Function *function, ArrayList *list);
/* Reads a function's inputs from --input options: arrays by name, checked when the execution is
 * made. Release with array_values_release. inout_function: becomes the function that also takes
 * values for the model's own (executable_choose_function), if one of them is among the arrays. */
MUST_CHECK Error *run_inputs_read(const CommandContext *context, const Executable *executable,
    uint32_t *inout_function, Value **out_values, uint32_t *out_count);
/* Writes results (and yields) of a finished execution to an .npz file.
 *
 * earlier: outputs that were taken before; NULL: none. */
MUST_CHECK Error *run_outputs_write(
    Execution *execution, const ArrayList *earlier, const char *path);
/* Copies the same arrays to a list. Errors: also INVALID two arrays of one name. */
MUST_CHECK Error *run_outputs_collect(
    Execution *execution, const ArrayList *earlier, ArrayList *out_arrays);
