#pragma once
/* clang-format off */
/* liblayover, its second header: models and jobs of a daemon (`layover serve`), over its socket or
 * over TCP. A job is a run that the daemon keeps: it survives the program and the daemon, and it is
 * suspended, resumed, forked and moved by its name. tools/library implements this header.
 *
 *   LayoverClient *client; LayoverJob *job; LayoverNamedValues *outputs; const char *state;
 *   LayoverNamedValue input = {"x", {.kind = LAYOVER_TENSOR, .tensor = x}};
 *   LayoverError *error = layover_client_open(NULL, &client);
 *   if (!error) error = layover_client_submit(client, "resnet@prod", &input, 1, NULL, &job);
 *   if (!error) error = layover_job_wait(job, 0, 0, &state);
 *   if (!error) error = layover_job_outputs(job, 0, &outputs);
 *
 * Answers are JSON texts, values of the kind LAYOVER_STRING: the object that `layover --json` prints
 * for the verb, or an array of such objects (docs/http.md has the fields).
 *
 * Ownership. The caller owns handles, answers and outputs. A job keeps what it needs of its client.
 * Threads.   Any thread may call any function, several at a time for one client or job: each call
 *            has a connection of its own, and up to 8 idle ones are kept. A forked process opens
 *            connections of its own.
 * Errors.    Each function: UNREACHABLE no answer; the daemon's own error under its code, such as
 *            UNAUTHENTICATED, NOT_FOUND, CONFLICT, EXHAUSTED; CORRUPT an answer that makes no sense. */
/* clang-format on */
#include "layover.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Clients. ---- */

/* Where the daemon is. All members may be NULL. */
typedef struct LayoverServer {
    /* A socket's path, "http://HOST:PORT", "https://HOST:PORT", or the name of a profile that
     * `layover login` made; an address has a '/' or a ':'. NULL: the home below, else what the
     * command line would choose (docs/command-line.md). */
    const char *server;
    const char *home;   /* the folder of a home that a daemon holds */
    const char *token;  /* NULL: the profile's, or that of LAYOVER_TOKEN or LAYOVER_TOKEN_FILE */
    const char *tenant; /* for whom an administrator acts; NULL: the token's tenant */
    const char
        *ca_file; /* certificates to trust, PEM; NULL: the profile's, LAYOVER_CA, the system's */
} LayoverServer;

typedef struct LayoverClient LayoverClient;
/* Makes a client. The daemon is asked by the first call.
 *
 * server: NULL: all members NULL. It is copied.
 * Errors: UNREACHABLE no daemon holds the home; INVALID the address; NOT_FOUND the profile;
 *         REFUSED a file with a token that others may read. */
LAYOVER_API LayoverError *layover_client_open(
    const LayoverServer *server, LayoverClient **out_client);
/* Closes the handle. Jobs that were made with the client go on to work. */
LAYOVER_API void layover_client_close(LayoverClient *client);
/* The address that was chosen, which the client owns. */
LAYOVER_API const char *layover_client_server(const LayoverClient *client);

/* Stores a model's file as the newest version of a name. Members of the registration that describe
 * a second file (params, library) or follow_links are INVALID here: the daemon compiles one file.
 */
LAYOVER_API LayoverError *layover_client_register(LayoverClient *client, const char *name,
    const char *file, const LayoverRegistration *registration, LayoverValue *out_json);
/* Lists all versions of all models, as an array. */
LAYOVER_API LayoverError *layover_client_models(LayoverClient *client, LayoverValue *out_json);
/* Describes a version ("resnet", "resnet@3", "resnet@prod") with its functions. */
LAYOVER_API LayoverError *layover_client_show(
    LayoverClient *client, const char *reference, LayoverValue *out_json);
/* Removes a model ("resnet") or one version of it. */
LAYOVER_API LayoverError *layover_client_remove(
    LayoverClient *client, const char *reference, LayoverValue *out_json);
/* Writes a version to an executable file (.lvx), atomically and durably. out_bytes: its size. */
LAYOVER_API LayoverError *layover_client_export(
    LayoverClient *client, const char *reference, const char *path, uint64_t *out_bytes);
/* Lists jobs in the order in which they came, as an array. state: NULL: all; else "running" … */
LAYOVER_API LayoverError *layover_client_jobs(
    LayoverClient *client, const char *state, LayoverValue *out_json);

/* ---- Jobs. ---- */

/* An array under a name: an input or an output. */
typedef struct LayoverNamedValue {
    const char *name;
    LayoverValue value; /* LAYOVER_TENSOR or LAYOVER_TEXTS */
} LayoverNamedValue;
/* Holds everything that it points to. */
typedef struct LayoverNamedValues {
    uint32_t count;
    LayoverNamedValue *items; /* a value that the caller keeps it replaces by nil */
} LayoverNamedValues;
/* Releases the values and the rest. */
LAYOVER_API void layover_named_values_free(LayoverNamedValues *values);

/* How a job runs. All members may be 0 or NULL. */
typedef struct LayoverSubmission {
    const char *function; /* NULL: "main" */
    const char *priority; /* "high", "normal" or "low"; NULL: normal */
    const char *device;   /* such as "cpu"; NULL: any */
    const char *key;      /* the same key again is the same job */
    const char *release; /* "log": outputs are visible at once; "checkpoint": behind a checkpoint */
    double deadline_s;   /* from now; 0: none */
    double checkpoint_every_s; /* 0: the daemon's setting */
    uint32_t checkpoint_keep;  /* how many checkpoints stay; 0: 1 */
    uint32_t weight;           /* the job's share among its tenant's jobs; 0: 1 */
    int items;                 /* not 0: the leading axis of each input is the item axis */
    uint32_t batch;            /* items of a run; 0: 1 */
    const char *const *shared; /* with items: inputs that go whole to each run */
    uint32_t shared_count;
    uint64_t suspend_after; /* instructions after which the job is suspended; 0: never */
} LayoverSubmission;

typedef struct LayoverJob LayoverJob;
/* Submits a job. The answer comes when the job is durable.
 *
 * inputs:     the function's inputs by their names, in any order. The tensors are taken, also when
 *             the call fails, and their deleters are called before it returns.
 * submission: NULL: all members 0.
 * Errors:     INVALID an input that the function does not have, or of another shape; EXHAUSTED a
 *             quota. */
LAYOVER_API LayoverError *layover_client_submit(LayoverClient *client, const char *reference,
    const LayoverNamedValue *inputs, uint32_t input_count, const LayoverSubmission *submission,
    LayoverJob **out_job);
/* The same with the inputs of an .npz file. */
LAYOVER_API LayoverError *layover_client_submit_file(LayoverClient *client, const char *reference,
    const char *inputs_path, const LayoverSubmission *submission, LayoverJob **out_job);
/* Makes a handle of a job by its id, such as "3f9a0c72d1e4-17". Errors: NOT_FOUND. */
LAYOVER_API LayoverError *layover_client_find_job(
    LayoverClient *client, const char *id, LayoverJob **out_job);
/* Makes a job from a checkpoint file.
 *
 * with_outputs: not 0: brings the outputs so far along; else a batch job begins with the next item.
 * device:       NULL: any. */
LAYOVER_API LayoverError *layover_client_restore(LayoverClient *client, const char *path,
    int with_outputs, const char *device, LayoverJob **out_job);
/* Frees the handle. The job goes on. */
LAYOVER_API void layover_job_free(LayoverJob *job);
/* The job's id, which the handle owns. It stays the same when the job moves to another node. */
LAYOVER_API const char *layover_job_id(const LayoverJob *job);

/* Describes the job with its newest events. */
LAYOVER_API LayoverError *layover_job_info(LayoverJob *job, LayoverValue *out_json);
/* Waits until the job ends or is suspended. A job that failed or was cancelled is no error here;
 * layover_job_info says why it ended ("why").
 *
 * limit_ms:       0: none. Beyond it: INTERRUPTED; the job goes on.
 * past_suspended: not 0: a suspended job is waited for, too, until somebody resumes it.
 * out_state:      "succeeded", "failed", "cancelled", "suspended", "moved", "released"; a constant.
 * Blocks:         until then, for hours if need be. */
LAYOVER_API LayoverError *layover_job_wait(
    LayoverJob *job, uint64_t limit_ms, int past_suspended, const char **out_state);
/* A function that sees each change of a job: one JSON object, which lives until it returns. Not 0
 * ends the watch. */
typedef int LayoverJobWatcher(void *context, const char *json);
/* Follows a job until it ends or the watcher ends the watch. It is called on this thread.
 *
 * inout_since: the last line that was seen, from 0; a later watch goes on behind it. */
LAYOVER_API LayoverError *layover_job_watch(
    LayoverJob *job, int64_t *inout_since, LayoverJobWatcher *watcher, void *context);

/* Reads the outputs by their names. Those of a batch job are joined along the item axis.
 *
 * partial: not 0: the outputs so far of a job that has not succeeded; else such a job is INVALID.
 * Memory:  all outputs at once; layover_job_outputs_file does with less. */
LAYOVER_API LayoverError *layover_job_outputs(
    LayoverJob *job, int partial, LayoverNamedValues **out_outputs);
/* Writes them to an .npz file, atomically. out_bytes: how many came. */
LAYOVER_API LayoverError *layover_job_outputs_file(
    LayoverJob *job, int partial, const char *path, uint64_t *out_bytes);

/* Suspends the job at its next instruction; returns when its checkpoint is durable. */
LAYOVER_API LayoverError *layover_job_suspend(LayoverJob *job);
/* Lets a suspended job go on.
 *
 * device: where; NULL: any.
 * from:   the number of the checkpoint to go on from; 0: where it stands. */
LAYOVER_API LayoverError *layover_job_resume(LayoverJob *job, const char *device, uint64_t from);
/* Ends the job. */
LAYOVER_API LayoverError *layover_job_cancel(LayoverJob *job);
/* Makes a second job from a checkpoint. from: its number; 0: the newest. */
LAYOVER_API LayoverError *layover_job_fork(LayoverJob *job, uint64_t from, LayoverJob **out_job);
/* Forgets a job that has ended. The handle stays the caller's. */
LAYOVER_API LayoverError *layover_job_remove(LayoverJob *job);
/* Lists the job's checkpoints with their numbers, as an array. */
LAYOVER_API LayoverError *layover_job_checkpoints(LayoverJob *job, LayoverValue *out_json);
/* Writes a checkpoint to a file (.lvc), atomically and durably. `layover resume FILE` and
 * layover_client_restore go on from it.
 *
 * from:       the checkpoint's number; 0: the newest.
 * with_model: not 0: the executable goes along.
 * out_bytes:  the file's size. */
LAYOVER_API LayoverError *layover_job_checkpoint(
    LayoverJob *job, uint64_t from, int with_model, const char *path, uint64_t *out_bytes);

#ifdef __cplusplus
}
#endif
