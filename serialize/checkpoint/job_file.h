#pragma once
/* The sections of a job file: a checkpoint file that also holds what stands beside the execution of
 * its job, so that the file alone is enough to go on with the job anywhere. Written by the exporter
 * and read by the importer of scheduler/jobs, on any thread.
 *
 *      header                               always
 *      frames … labels, bulk                the execution, unless the job is between two runs
 *      job, origin, inputs, outputs         this module
 *      model                                with its executable; chunks of arrays and model stand
 *                                           in the file, but are listed in these sections
 *
 * Policy and point are the scheduler's own bytes, which it checks itself.
 *
 * Stored as: docs/job-files.md#job-file */
#include "serialize/container/container.h"

enum {
    JOB_FILE_MODEL_SIZE = 130, /* of a reference or a name, with the terminating NUL */
    JOB_FILE_POLICY_MAX = 64 << 10,
    JOB_FILE_POINT_MAX = 64 << 20,
};
#define JOB_FILE_NODE_MAX UINT64_C(0xffffffffffff)

typedef enum JobFileOwner { /* stored */
    JOB_FILE_COPY = 1,      /* its job may run on elsewhere */
    JOB_FILE_RELEASE = 2,   /* the file owns the job */
    JOB_FILE_MOVE = 3,      /* no file: the job goes on its way from node to node. Its inputs begin
                             * with item items_before of its policy instead of items_done */
} JobFileOwner;

typedef struct JobFileOrigin {
    uint64_t node, number; /* the job's id */
    int64_t epoch;
    JobFileOwner owner;
} JobFileOrigin;

/* Arrays as array_bundle_write makes them. Borrowed. */
typedef struct JobFileArrays {
    const void *bytes;
    size_t size;
    const ChunkRef *chunks;
    size_t chunk_count;
} JobFileArrays;

typedef struct JobFile {
    JobFileOrigin origin;
    const char *model; /* a reference, for people */
    uint8_t priority;
    uint8_t release;     /* 1 log, 2 checkpoint: when outputs are visible */
    int64_t items_total; /* -1: a single run */
    int64_t items_done;  /* inputs begin with the next one, but see JOB_FILE_MOVE */
    double deadline_s;   /* left; NaN: none */
    const void *policy, *point;
    size_t policy_size, point_size;
    JobFileArrays inputs;
    const JobFileArrays *outputs; /* by sequence number, from 0 on */
    size_t output_count;
    const void *executable; /* manifest; NULL: it does not go along. Read: packed or not */
    size_t executable_size;
    Digest executable_identity; /* of the header */
    /* of what was read; job_file_deinit */
    struct JobFileMemory *memory;
} JobFile;

/* ---- Writing ---- */

/* The manifest of a job's file.
 *
 * execution: the container of the job's execution, copied as it is; NULL: between two runs.
 * Errors:    INVALID larger than a manifest may be. */
MUST_CHECK Error *job_file_write(const JobFile *file, const Container *execution,
    ByteWriter *out_manifest, Digest *out_identity);

/* ---- Reading: nothing is believed ---- */

/* Whether a checkpoint is a job's. */
bool job_file_is(const Container *container);
bool job_file_has_execution(const Container *container);
/* Forms and limits are checked, and that every chunk listed is one; what arrays, policy, point and
 * executable hold is not looked at. Borrows from the container.
 * Errors: CORRUPT. */
MUST_CHECK Error *job_file_read(const Container *container, JobFile *out_file);
void job_file_deinit(JobFile *file);
#define OWN_JOB_FILE(name) __attribute__((cleanup(job_file_deinit))) name

/* The manifest of the execution alone, as checkpoint_write made it. */
MUST_CHECK Error *job_file_get_execution(const Container *container, ByteWriter *out_manifest);
