#include <math.h>

#include "scheduler/jobs/job_export.h"
#include "scheduler/jobs/job_import.h"
#include "scheduler/service/job_service_internal.h"

/* ---- a job into a file ---- */

static Error *fail_ended(const Job *row) {
    FAIL(CONFLICT, "cannot checkpoint a job that is %s", job_state_info(row->state)->name);
}

/* Takes the newest checkpoint, at the next safepoint of a running job. A job that has not begun
 * goes into the file as it was submitted. */
static Error *take_newest(JobService *service, Job *inout_row) {
    if (inout_row->state != JOB_STATE_QUEUED) return NULL;
    Error *error = control_checkpoint(service->control, inout_row->tenant, inout_row->id);
    if (error_code(error) != ERROR_CONFLICT) return error;
    Error *missing = jobs_get(service->store, inout_row->tenant, inout_row->id, inout_row);
    if (!missing && job_state_is_unfinished(inout_row->state)) {
        error_free(error); /* the job has not begun, or somebody has suspended it */
        return NULL;
    }
    error_free(missing); /* the first one says why */
    return error;
}

static Error *export(
    JobService *service, const JobExportRequest *wanted, const char *path, HttpStream *out_stream) {
    TRY(job_export_open(service->store, service->pool, wanted, out_stream));
    if (out_stream->pull) return NULL;
    if (!path)
        FAIL(IO, "the job has so many outputs that its file needs a temporary one, which cannot be "
                 "made: make room on the disk");
    TRY_WRAP(job_export_write(service->store, service->pool, wanted, path),
        "the job has so many outputs that its file is written to the disk first");
    return NULL;
}

/* Releases the job. It stands still until the file is complete. A file that is lost on its way can
 * be asked for again, as long as the job's data is here. */
static Error *release(JobService *service, const Job *row, const JobExportRequest *wanted,
    bool suspended, const char *path, HttpStream *out_stream) {
    Control *control = service->control;
    bool suspends = suspended || row->state == JOB_STATE_QUEUED;
    if (wanted->checkpoint) FAIL(INVALID, "release: the file takes the newest checkpoint");
    if (row->state == JOB_STATE_RELEASED && row->bytes_stored > 0)
        return export(service, wanted, path, out_stream);
    if (row->state == JOB_STATE_QUEUED) TRY(control_suspend(control, row->tenant, row->id));
    TRY(control_freeze(control, row->tenant, row->id));
    Error *error = export(service, wanted, path, out_stream);
    if (!error) error = control_release_to_file(control, row->tenant, row->id);
    if (!error) return NULL;
    if (out_stream->pull) out_stream->close(out_stream->self);
    *out_stream = (HttpStream){.pull = NULL};
    error_free(control_thaw(control, row->tenant, row->id)); /* the export's error is the news */
    if (suspends) error_free(control_resume(control, row->tenant, row->id, NULL));
    return error;
}

Error *job_service_checkpoint(void *self, const Caller *caller, const char *job,
    const JobsApiCheckpointOptions *options, const char *path, HttpStream *out_stream) {
    JobService *service = self;
    Job row;
    TRY(job_service_find(service, caller, job, &row));
    JobExportRequest wanted = {.tenant = row.tenant,
        .job = row.id,
        .checkpoint = options->checkpoint,
        .with_model = options->with_model,
        .owns = options->release};
    bool released = row.state == JOB_STATE_RELEASED && row.bytes_stored > 0;
    bool unfinished = job_state_is_unfinished(row.state);
    if (!unfinished && !(released && options->release)) return fail_ended(&row);
    if (options->release)
        return release(service, &row, &wanted, options->suspended, path, out_stream);
    if (!options->checkpoint && !options->asked) TRY(take_newest(service, &row));
    return export(service, &wanted, path, out_stream);
}

/* ---- a job out of a file ---- */

/* Asks whose the job is that the file owns. */
static Error *check_owner(
    JobService *service, const Caller *caller, JobImportState *import, JobId id) {
    const JobFileOrigin *origin = &job_import_get_file(import)->origin;
    bool vouched;
    if (origin->owner != JOB_FILE_RELEASE) return NULL;
    TRY(job_service_check_elsewhere(service, caller, id, origin->epoch, &vouched));
    if (vouched) job_import_vouch(import);
    return NULL;
}

Error *job_service_restore(void *self, const Caller *caller, const char *path,
    const JobsApiRestoreOptions *options, JobsApiJob *out_job) {
    JobService *service = self;
    OWN(JobImportState, import) = NULL;
    JobId id;
    Job row;
    if (options->threads < 0 || options->threads > JOB_POLICY_THREADS_MAX)
        FAIL(INVALID, "threads: 1 to %d are wanted", JOB_POLICY_THREADS_MAX);
    const JobImportRequest wanted = {.tenant = caller->tenant,
        .path = path,
        .with_outputs = options->with_outputs,
        .device = options->device,
        .threads = (uint32_t)options->threads,
        .check_finite = options->check_finite,
        .suspend_after = (uint64_t)options->suspend_after,
        .suspend_after_ns = job_policy_suspend_ns(options->suspend_after_ms)};
    TRY(job_import_open(service->store, service->pool, &wanted, &import));
    const JobFileOrigin *origin = &job_import_get_file(import)->origin;
    const JobId before = {origin->node, origin->number};
    TRY(check_owner(service, caller, import, before));
    TRY(job_import_submit(import, service->control, &id));
    TRY(jobs_get(service->store, caller->tenant, id, &row));
    TRY(job_service_show(service, &row, out_job));
    if (origin->owner == JOB_FILE_RELEASE && !job_id_equal(id, before))
        job_id_print(before, out_job->was);
    return NULL;
}

/* ---- an older checkpoint ---- */

typedef struct GoBack {
    const Job *row;
    int64_t checkpoint, keep;
} GoBack;

static Error *do_go_back(Connection *catalog, void *context) {
    const GoBack *work = context;
    return jobs_go_back(catalog, work->row->tenant, work->row->id, work->checkpoint, work->keep);
}

Error *job_service_go_back(JobService *service, const Job *row, int64_t checkpoint) {
    ByteWriter OWN_BYTES(bytes) = {0};
    JobPolicy OWN_POLICY(policy) = {0};
    TRY(jobs_get_policy(service->store, row->tenant, row->id, &bytes));
    TRY(job_policy_read(bytes.data, bytes.size, &policy));
    GoBack work = {row, checkpoint, (int64_t)policy.checkpoint_keep};
    return catalog_run(service->catalog, do_go_back, &work);
}
