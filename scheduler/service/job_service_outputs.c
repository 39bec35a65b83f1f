#include "scheduler/service/job_service_internal.h"
#include "scheduler/service/output_answer.h"

Error *job_service_outputs(void *self, const Caller *caller, const char *job, int64_t since,
    HttpStream *out_stream, JobsApiOutputs *out) {
    JobService *service = self;
    Job row;
    TRY(job_service_find(service, caller, job, &row));
    if (row.state == JOB_STATE_MOVED)
        return job_service_pass_outputs(service, caller, &row, since, out_stream, out);
    return output_answer_open(service->store, &row, since, &output_answer_limits, out_stream, out);
}
