#pragma once
/* A submission: a job's request on its way from the route or the job file to the job's row. A route
 * or job_import.c fills it, job_intake.c or job_import.c completes it, the control thread reads it.
 *
 *      route_submit.c --> JobsApi.submit --> job_intake.c --+
 *                                                           +--> control_submit --> jobs_submit
 *      job file, manifest ---------------> job_import.c ----+                       jobs_restore
 *
 * Ownership: the submission owns its policy, the stored policy and its batch; the control thread
 * takes policy, batch and arrival for the job. Other members are borrowed until control_submit has
 * returned. A submission is submitted once.
 * Threads: the sender's; while the sender waits for the answer, the control thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/node/job_policy.h"
#include "scheduler/policy/policy_event.h"
#include "store/jobs/jobs.h"

struct ControlArrival;

typedef struct Submission {
    /* ---- The request: set by the route or by job_import.c. ---- */
    TenantId tenant;
    const char *model; /* NAME, NAME@3, NAME@alias */
    JobPolicy policy;
    PolicyClass priority;
    JobRelease release;
    double deadline;    /* seconds since 1970; NaN: none */
    const char *key;    /* NULL: none */
    JobState state;     /* the row's first state: NONE (queued), SUSPENDED or IN_DOUBT */
    const void *inputs; /* an .npz file; NULL: the function takes none */
    size_t inputs_size;
    /* The next four belong to a job from a file or from another node. Such a job begins at its
     * checkpoint and has no batch. restore: NULL for a new job; submission_row stands for its
     * member `job`. */
    const JobRestore *restore;
    JobOrigin origin;
    int64_t epoch;
    struct ControlArrival *arrival; /* the run that was opened for it; NULL: none */

    /* ---- Derived from the request: set by job_intake.c or job_import.c. ---- */
    Digest executable;
    uint32_t function;
    uint64_t constant_bytes; /* of the executable */
    bool device_strings;     /* the same */
    uint64_t live_bytes;     /* of the first run's arguments, or of the execution's tensors */
    int64_t item_count;      /* -1: a single run */
    JobContent stored_inputs;
    ByteWriter stored_policy;
    Digest request; /* the digest of all that was sent under the key */
    bool brief;     /* of a transient job: its sender must not wait, and lends it its thread */
    Batch *batch;   /* the inputs in memory; NULL: the inputs are only in the store */
} Submission;

/* Sets the defaults: a single run of class normal with the device's threads, outputs visible at
 * once, one checkpoint, no deadline, no key.
 *
 * function: NULL for main. device: NULL for any. out: zeroed before. */
MUST_CHECK Error *submission_init(Submission *out, const char *function, const char *device);
void submission_deinit(Submission *submission);
#define OWN_SUBMISSION(name) __attribute__((cleanup(submission_deinit))) name

/* Writes the policy into stored_policy. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *submission_store_policy(Submission *submission);
/* The submission as the store takes it. Borrows from the submission. */
JobSubmission submission_row(const Submission *submission);
