#pragma once
/* One execution with everything it needs in this process: devices, residency, options; checkpoints
 * of it. */
#include "scheduler/executor/resident_models.h"
#include "serialize/arrays/array_list.h"
#include "serialize/checkpoint/checkpoint.h"
#include "store/weights/weight_cache.h"
#include "tools/client/model_access.h"
#include "tools/client/run_job.h"

typedef struct RunMachine {
    char *device_spec;
    Device *host, *device; /* one and the same for cpu */
    WorkerPool *pool;      /* borrowed */
    Executable *executable;
    const ModelAccess *access; /* of a model of the home; borrowed. NULL: it came otherwise */
    Digest identity;           /* of that model */
    const char *name;          /* what errors call it; borrowed */
    WeightCache *weights;      /* of the home; NULL: prepared weights are not kept */
    WeightImages images;
    bool quiet;
    Residency *residency;
    Execution *execution; /* NULL before a start */
    ExecutionOptions options;
    const RunJob *job; /* whose run it is; borrowed. NULL: none's */
} RunMachine;

/* Opens the devices and makes the executable resident. owned_executable is consumed. */
MUST_CHECK Error *run_machine_open(const CommandContext *context, WorkerPool *pool,
    Executable *owned_executable, RunMachine *out_machine);
/* The same with an executable of the home, whose prepared weights are found there, and kept for the
 * next time. access, name: borrowed as long as the machine lives. Errors: NOT_FOUND the tenant has
 * none of this identity. */
MUST_CHECK Error *run_machine_open_stored(const CommandContext *context, const ModelAccess *access,
    const Digest *identity, const char *name, RunMachine *out_machine);
/* Packs the weights of a model of the home for this machine's cpu and keeps them there, unless they
 * are: its first run then packs nothing. executable: with its identity and its weights. */
MUST_CHECK Error *run_machine_prepare(const ModelAccess *access, Executable *executable);
void run_machine_close(RunMachine *machine);
#define OWN_MACHINE(name) __attribute__((cleanup(run_machine_close))) name

/* Starts a function on the inputs named on the command line. */
MUST_CHECK Error *run_machine_start(RunMachine *machine, const CommandContext *context);
/* Starts machine->job, which has not begun, on its own inputs. */
MUST_CHECK Error *run_machine_start_job(RunMachine *machine);
/* Goes on from a checkpoint of this executable. */
MUST_CHECK Error *run_machine_resume(RunMachine *machine, const Container *container);
MUST_CHECK Error *run_machine_checkpoint(
    RunMachine *machine, const char *path, uint64_t *out_bytes);
/* Moves the execution off the device into memory, gives the device back, waits for SIGCONT, takes
 * it again. */
MUST_CHECK Error *run_machine_pause(RunMachine *machine);
/* Runs an execution to its end; what it yields is dropped. Errors: EXHAUSTED the device has no room
 * for it; the execution's. */
MUST_CHECK Error *run_machine_finish(Execution *execution);
uint64_t run_machine_peak_bytes(const RunMachine *machine);

/* The arrays of one --input: FILE.npz, FILE.safetensors, NAME=FILE.npy. function: what they are
 * for, so that those of a .npz that do not fit are refused before they are unpacked; NULL: not
 * known. Errors: INVALID also an .npz that unpacks to more than this process could have. */
MUST_CHECK Error *run_inputs_read_option(
    const char *text, const Function *function, ArrayList *list);
/* The inputs of a function from --input options: arrays by name, checked when the execution is
 * made. array_values_release. */
MUST_CHECK Error *run_inputs_read(const CommandContext *context, const Executable *executable,
    uint32_t function, Value **out_values, uint32_t *out_count);
/* Results (and yields) of a finished execution to an .npz file.
 *
 * earlier: what was taken of it before; NULL: nothing. */
MUST_CHECK Error *run_outputs_write(
    Execution *execution, const ArrayList *earlier, const char *path);
