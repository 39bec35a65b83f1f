#pragma once
/* Sends a job's inputs to a daemon: all --input options as one .npz file. Callers:
 * command_submit.c, remote_run.c. Threads: the main thread. */
#include "tools/client/remote.h"
#include "tools/remote/temporary_file.h"

typedef struct JobInputs {
    const char *given; /* the caller's own file; NULL: `made` has the inputs */
    TemporaryFile made;
} JobInputs;

/* Makes the file. A single .npz file is used unchanged; all other inputs go into a temporary file.
 * NAME=FOLDER is one array of the folder's .npy files, in the order of their names: joined along
 * their leading axis, or, if the model's input has one more axis than the files, each as one item.
 */
MUST_CHECK Error *job_inputs_make(
    const CommandContext *context, HttpClient *client, JobInputs *out);
void job_inputs_deinit(JobInputs *inputs);
#define OWN_INPUTS(name) __attribute__((cleanup(job_inputs_deinit))) name

/* Submits a job. out_job: {"job", "state"}. */
MUST_CHECK Error *job_inputs_send(
    HttpClient *client, json_object *policy, const JobInputs *inputs, json_object **out_job);
