#pragma once
/* Requests that make jobs of a daemon, and that fetch a job's checkpoint. Callers: the library, the
 * command line. Threads: any; one at a time for each client. */
#include "serialize/arrays/array_list.h"
#include "tools/remote/remote_request.h"

/* Writes the inputs of a job to an .npz file. */
MUST_CHECK Error *job_request_write_inputs(const char *path, const ArrayList *inputs);
/* Submits a job.
 *
 * policy:      the fields that docs/http.md lists, the model among them.
 * inputs_path: an .npz file.
 * out_job:     {"job", "state", ...}. */
MUST_CHECK Error *job_request_submit(
    HttpClient *client, json_object *policy, const char *inputs_path, json_object **out_job);
/* Makes a job from a checkpoint file. device: NULL: any. */
MUST_CHECK Error *job_request_restore(HttpClient *client, const char *path, bool with_outputs,
    const char *device, json_object **out_job);

typedef struct JobCheckpointWish {
    const char *from; /* the checkpoint's number as text; NULL: the newest */
    bool with_model;  /* the executable goes along */
    bool release;     /* the file takes the job over */
} JobCheckpointWish;
/* Writes a checkpoint of a job to a file (.lvc). */
MUST_CHECK Error *job_request_checkpoint(HttpClient *client, const char *job,
    const JobCheckpointWish *wish, const char *path, uint64_t *out_bytes);
