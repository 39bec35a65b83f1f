#pragma once
/* Transient runs of jobs in memory: each answers with its inputs. */
#include "tests/scheduler/memory_jobs.h"

Error *memory_find_model(
    void *self, const Caller *caller, const char *reference, JobsApiModel *out_model);
Error *memory_run(void *self, const Caller *caller, const JobsApiModel *model,
    Submission *inout_submission, ArrayList *inout_inputs, JobsApiRun *out_run);
