#pragma once
/* What a tenant asked for beside model and inputs, as it stands in a job's row.
 *
 * Stored as: docs/formats.md#job-policy */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    JOB_POLICY_SHARED_MAX = 64,
    JOB_POLICY_NAME_MAX = 1200, /* bytes of a function's, device's or input's name */
};

typedef struct JobPolicy {
    char *function;
    char *device; /* "": any */
    bool items;
    uint64_t batch; /* items of a run; 0: 1 */
    char **shared;  /* inputs that go whole to each run */
    uint32_t shared_count;
    uint64_t weight; /* 1 … */
    uint64_t checkpoint_keep;
    uint64_t checkpoint_every_ns; /* 0: only when it must move */
    uint32_t threads;             /* of a kernel; 0: the device's */
    bool check_finite;
    uint64_t random_key; /* of the job's random numbers: Philox. Chosen when it is taken in */
} JobPolicy;

void job_policy_deinit(JobPolicy *policy);
#define OWN_POLICY(name) __attribute__((cleanup(job_policy_deinit))) name
void job_policy_write(const JobPolicy *policy, ByteWriter *writer);
/* Errors: CORRUPT, UNSUPPORTED. */
MUST_CHECK Error *job_policy_read(const void *bytes, size_t size, JobPolicy *out_policy);
