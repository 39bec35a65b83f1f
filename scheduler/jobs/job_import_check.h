#pragma once
/* What a checkpoint file says of a job, checked against itself and against the model. */
#include "scheduler/executor/job_point.h"
#include "scheduler/jobs/job_import.h"
#include "serialize/checkpoint/job_file.h"

/* What stands behind one restore until the catalog has it. */
struct JobImportState {
    JobImport wanted;
    Store *store;
    WorkerPool *pool;
    Container *container;
    JobFile file; /* of a checkpoint that is no job's: origin.number is 0 */
    JobFileArrays inputs;
    Digest inputs_name; /* equal names: equal inputs */
    Batch *batch;       /* of them; NULL where only their form was read */
    bool moves;
    bool keeps_outputs;
    bool imports_model;
    Container *model;    /* in the file; NULL: the tenant has it */
    Executable *outline; /* set before job_import_check */
    /* set by job_import_check */
    JobPolicy policy;
    uint32_t function;
    JobPoint point;
    Container *execution; /* NULL: between two runs */
    ByteWriter execution_packed;
    uint64_t bytes_left;   /* of arrays that may still be decoded */
    uint64_t instructions; /* of the execution */
    uint64_t live_bytes;
    /* made of them */
    char model_name[MODEL_REFERENCE_SIZE];
    ByteWriter policy_bytes, point_bytes, no_inputs;
    bool has_point, is_staged, vouched;
    ChunkUpload *upload;
    JobContent input_content, checkpoint, *outputs;
    size_t output_count;
};

/* What is missing is missing in the file, and no answer to the request: NOT_FOUND becomes CORRUPT.
 */
MUST_CHECK Error *job_import_of_file(Error *owned_error);
void job_import_deinit(JobImportState *state);

/* Reads the file's sections. Errors: CORRUPT. */
MUST_CHECK Error *job_import_check_file(JobImportState *state);
/* What it comes from, in messages. */
const char *job_import_what(const JobImportState *state);
/* All of it: policy, function, inputs, point, outputs, execution; every array that is to be stored
 * is decoded. The execution's values are checked when it goes on.
 * Errors: CORRUPT, INVALID. */
MUST_CHECK Error *job_import_check(JobImportState *state);
