#pragma once
/* A batch: how a job's inputs are cut into runs of its function, and how the runs' outputs belong
 * together. Run k holds the same items at any time and on any machine. Called by job_run.c, by the
 * control thread's I/O tasks, by scheduler/jobs/ and by the command line. A batch does not change
 * after it was made: any thread may read it.
 *
 * A single run is a batch of one run that gets all inputs whole. */
#include "serialize/arrays/array_list.h"
#include "vm/code/executable.h"

typedef struct Batch Batch;

enum { BATCH_SIZE_MAX = 1 << 20, BATCH_SINGLE = -1 };

typedef struct BatchOptions {
    bool items;                /* false: a single run; of the other members only items_before is
                                * used */
    uint64_t size;             /* items of a run, if the function takes more than one; 0: 1 */
    const char *const *shared; /* names of inputs that every run gets whole */
    size_t shared_count;
    /* Items before those that the inputs hold. They were used earlier, and their runs cannot begin
     * any more. For a single run: 1 when its inputs are used. */
    int64_t items_before;
} BatchOptions;

/* Whether every run gets the input of that name whole. */
bool batch_options_share(const BatchOptions *options, const char *name);

/* Makes a batch. The leading axis of every input that is not shared is the item axis. If the
 * function's leading dimension is 1, a run has one item; if it is free, options->size, the last run
 * maybe fewer.
 *
 * inout_inputs: the arrays' memory moves into the batch.
 * Errors: INVALID an input that is unknown, missing, given twice, without an item axis, or with
 *         another number of items than the rest, by its name; items_before within a run;
 *         UNSUPPORTED strings. */
MUST_CHECK Error *batch_create(const Executable *executable, uint32_t function,
    ArrayList *inout_inputs, const BatchOptions *options, Batch **out_batch);
void batch_release(Batch *batch);
DEFINE_OWN(Batch, batch_release);

/* BATCH_SINGLE: a single run. */
int64_t batch_item_count(const Batch *batch);
uint64_t batch_run_count(const Batch *batch);
/* Whether the batch holds the inputs of a run. */
bool batch_has_run(const Batch *batch, uint64_t run);
/* Items of the runs before this one. run: up to batch_run_count. */
int64_t batch_items_before(const Batch *batch, uint64_t run);
/* The arguments of a run: views of the batch's memory, in the function's order. Freed by
 * array_values_release(out_values, the function's parameter_count). Errors: INVALID the run's
 * inputs are used. */
MUST_CHECK Error *batch_get_arguments(const Batch *batch, uint64_t run, Value **out_values);
/* The bytes of all inputs. */
uint64_t batch_bytes(const Batch *batch);

/* The form that all outputs of a batch job share: names, types, dimensions after the leading one.
 * Empty before the first run's outputs. */
typedef struct BatchOutputs {
    NamedArray *items; /* without data */
    size_t count;
    bool known;
} BatchOutputs;
void batch_outputs_deinit(BatchOutputs *outputs);
/* Takes the form of the first run's outputs and checks later outputs against that form. run_items:
 * how many items the run had. Errors: FAILED an output without so many items on its leading axis,
 * or with other dimensions than before, by its name. */
MUST_CHECK Error *batch_outputs_check(
    BatchOutputs *inout_outputs, const ArrayList *arrays, int64_t run_items);
