#pragma once
/* Checks what a checkpoint file says of a job, against itself and against the model. Called by
 * job_import.c alone; a state belongs to one thread. */
#include "scheduler/executor/job_point.h"
#include "scheduler/jobs/job_import_request.h"
#include "scheduler/node/submission.h"
#include "serialize/checkpoint/job_file.h"

/* The state of one restore until the catalog has the job. */
typedef struct JobImportState {
    JobImportRequest wanted;
    Store *store;
    WorkerPool *pool;
    Container *container;
    JobFile file; /* origin.number is 0 for a checkpoint that is no job's */
    JobFileArrays inputs;
    Digest inputs_name; /* equal names: equal inputs */
    Batch *batch;       /* of the inputs; NULL if only their form was read */
    bool moves;
    bool keeps_outputs;
    bool imports_model;
    Container *model;    /* in the file; NULL: the tenant has the model */
    Executable *outline; /* set before job_import_check */
    /* What is asked for, with the file's policy: job_import_check and job_import.c fill it. */
    Submission submission;
    /* set by job_import_check */
    JobPoint point;
    Container *execution; /* NULL: between two runs */
    ByteWriter execution_packed;
    uint64_t bytes_left;   /* of arrays that may still be decoded */
    uint64_t instructions; /* of the execution */
    /* made from the parts above */
    char model_name[MODEL_REFERENCE_SIZE];
    ByteWriter point_bytes, no_inputs;
    bool has_point, is_staged, vouched;
    ChunkUpload *upload;
    JobContent checkpoint, *outputs;
    size_t output_count;
} JobImportState;

/* Turns NOT_FOUND into CORRUPT: the missing thing is missing in the file, which is no answer to the
 * request. */
MUST_CHECK Error *job_import_of_file(Error *owned_error);
void job_import_deinit(JobImportState *state);

/* Reads the file's sections. Errors: CORRUPT. */
MUST_CHECK Error *job_import_check_file(JobImportState *state);
/* The name of the file or node, for messages. */
const char *job_import_what(const JobImportState *state);
/* Checks all of it: policy, function, inputs, point, outputs, execution; decodes every array that
 * is to be stored. The execution's values are checked when it is restored. Errors: CORRUPT,
 * INVALID. */
MUST_CHECK Error *job_import_check(JobImportState *state);
