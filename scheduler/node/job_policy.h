#pragma once
/* The choices that a tenant made for a job beside model and inputs, as stored in the job's row.
 * Called by the control thread, scheduler/jobs/, fsck and the command line. Pure: a policy belongs
 * to its caller.
 *
 * Stored as: docs/job-files.md#job-policy */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "scheduler/executor/batch.h"
#include "vm/execution/execution.h"

enum {
    JOB_POLICY_SHARED_MAX = 64,
    JOB_POLICY_NAME_MAX = 1200, /* bytes of a function's, device's or input's name */
    JOB_POLICY_WEIGHT_MAX = 1000000,
    JOB_POLICY_KEEP_MAX = 1000,
    JOB_POLICY_THREADS_MAX = 4096,
};

typedef struct JobPolicy {
    char *function;
    char *device; /* "": any */
    bool items;
    uint64_t batch; /* items of a run; 0: 1 */
    char **shared;  /* inputs that every run gets whole */
    uint32_t shared_count;
    uint64_t weight; /* 1 … */
    uint64_t checkpoint_keep;
    uint64_t checkpoint_every_ns; /* 0: only when the job must move */
    uint32_t threads;             /* of a kernel; 0: the device's */
    bool check_finite;
    uint64_t random_key; /* key of the job's random numbers (Philox), chosen when the job is
                          * submitted */
    /* For a job from a file: items whose inputs are not stored any more; see BatchOptions. */
    uint64_t items_before;
    /* A single run is suspended once, when it has completed so many instructions, from the first
     * one on; 0: never. */
    uint64_t suspend_at;
    uint64_t suspend_after_ns; /* the same, so long after the beginning of its first slice */
} JobPolicy;

/* Converts a request's milliseconds to nanoseconds; -1 (never) becomes 0. */
uint64_t job_policy_suspend_ns(int64_t milliseconds);
/* Errors: INVALID a batch job that is to be suspended after instructions or a time. */
MUST_CHECK Error *job_policy_check_suspension(const JobPolicy *policy);
/* How the job's inputs are cut. Borrows from the policy. */
BatchOptions job_policy_batch_options(const JobPolicy *policy);
/* The execution options that the policy sets; limits come from execution_limits.h. */
ExecutionOptions job_policy_execution_options(const JobPolicy *policy);
void job_policy_deinit(JobPolicy *policy);
#define OWN_POLICY(name) __attribute__((cleanup(job_policy_deinit))) name
void job_policy_write(const JobPolicy *policy, ByteWriter *writer);
/* Errors: CORRUPT, UNSUPPORTED. */
MUST_CHECK Error *job_policy_read(const void *bytes, size_t size, JobPolicy *out_policy);
/* Checks that job_policy_read can read the bytes; context is ignored (FsckOptions.check_policy). */
MUST_CHECK Error *job_policy_check(void *context, const void *bytes, size_t size);
