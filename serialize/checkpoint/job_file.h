#pragma once
/* The sections of a job file: a checkpoint file with everything beside the execution of its job, so
 * that the file alone suffices to continue the job anywhere. Written by the exporter and read by
 * the importer of scheduler/jobs; read by tools/client and command_inspect.c. Threads: any.
 *
 *      header                               always
 *      frames … labels, bulk                the execution, unless the job is between two runs
 *      job, origin, inputs, outputs         this module
 *      model                                with its executable; chunks of arrays and model stand
 *                                           in the file, but are listed in these sections
 *
 * Policy and point are opaque bytes of the scheduler, which checks them itself.
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
    JOB_FILE_COPY = 1,      /* the job may continue elsewhere */
    JOB_FILE_RELEASE = 2,   /* the file owns the job */
    /* no file: the job moves from node to node. Its inputs begin with item items_before of its
     * policy instead of items_done */
    JOB_FILE_MOVE = 3,
} JobFileOwner;

typedef struct JobFileOrigin {
    uint64_t node, number; /* the job's id */
    int64_t epoch;
    JobFileOwner owner;
} JobFileOrigin;

/* Arrays in the form of array_bundle_write. Not owned. */
typedef struct JobFileArrays {
    const void *bytes;
    size_t size;
    const ChunkRef *chunks;
    size_t chunk_count;
} JobFileArrays;

typedef struct JobFile {
    JobFileOrigin origin;
    const char *model; /* the model's reference, for people */
    uint8_t priority;
    uint8_t release;     /* 1 log, 2 checkpoint: when outputs become visible */
    int64_t items_total; /* -1: a single run */
    int64_t items_done;  /* the inputs begin with the next item, except for JOB_FILE_MOVE */
    double deadline_s;   /* seconds left; NaN: none */
    const void *policy, *point;
    size_t policy_size, point_size;
    JobFileArrays inputs;
    const JobFileArrays *outputs; /* by sequence number, from 0 on */
    size_t output_count;
    const void *executable; /* manifest; NULL: not in the file. When read: packed or not */
    size_t executable_size;
    Digest executable_identity; /* the executable's identity in the header */
    /* the memory of a file that was read; job_file_deinit */
    struct JobFileMemory *memory;
} JobFile;

/* ---- Writing ---- */

/* Writes the manifest of a job's file.
 *
 * execution: the container of the job's execution, copied unchanged; NULL: between two runs.
 * Errors:    INVALID larger than a manifest may be. */
MUST_CHECK Error *job_file_write(const JobFile *file, const Container *execution,
    ByteWriter *out_manifest, Digest *out_identity);

/* ---- Reading: the whole file is checked ---- */

/* Returns whether a checkpoint is a job's. */
bool job_file_is(const Container *container);
bool job_file_has_execution(const Container *container);
/* Reads a job's file. Checks forms and limits, and that every listed chunk exists; does not look
 * into arrays, policy, point and executable. The result points into the container.
 * Errors: CORRUPT. */
MUST_CHECK Error *job_file_read(const Container *container, JobFile *out_file);
void job_file_deinit(JobFile *file);
#define OWN_JOB_FILE(name) __attribute__((cleanup(job_file_deinit))) name

/* Makes the manifest of the execution alone, as checkpoint_write wrote it. */
MUST_CHECK Error *job_file_get_execution(const Container *container, ByteWriter *out_manifest);
