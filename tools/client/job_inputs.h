#pragma once
/* A job's inputs on their way to a daemon: everything that --input names as one .npz file. */
#include "tools/client/remote.h"

typedef struct JobInputs {
    char path[4096];
    bool temporary;
} JobInputs;

/* A single .npz file goes as it is; everything else is put into a temporary one. NAME=FOLDER is one
 * array of the folder's .npy files, in the order of their names: joined on their leading axis, or,
 * where the model's input has one more axis than they, each as one item. */
MUST_CHECK Error *job_inputs_make(
    const CommandContext *context, HttpClient *client, JobInputs *out);
void job_inputs_deinit(JobInputs *inputs);
#define OWN_INPUTS(name) __attribute__((cleanup(job_inputs_deinit))) name

/* Submits a job. out_job: {"job", "state"}. */
MUST_CHECK Error *job_inputs_send(
    HttpClient *client, json_object *policy, const JobInputs *inputs, json_object **out_job);
