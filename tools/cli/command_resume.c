#include <string.h>

#include "tools/run/remote_run.h"
#include "tools/client/route_call.h"
#include "tools/run/run_report.h"

const CommandOption command_resume_options[] = {
    {"model", "FILE.lvx", false, "the executable, where the home does not have it"},
    {"from", "ID", false, "of a job: the checkpoint to go on from; default the newest"},
    RUN_SHARED_OPTIONS,
    {0},
};

static const RouteCall resume_job = {
    .route = ROUTE_JOB_RESUME,
    .fields =
        (const RouteField[]){{"device", ROUTE_FIELD_TEXT}, {"from", ROUTE_FIELD_INTEGER}, {0}},
    .line = "{job} {state}",
};

static Error *open_with_file(const CommandContext *context, ModelAccess *access, const char *file,
    const Digest *identity, RunMachine *out_machine) {
    const ModelFileOptions options = {.format = "lvx"};
    OWN(Executable, executable) = NULL;
    TRY(model_access_open_files(access));
    TRY(model_file_load(access->pool, file, &options, &executable));
    if (!digest_equal(&executable->identity, identity))
        FAIL(INVALID, "%s is not the executable of this checkpoint", file);
    return run_machine_open(context, access->pool, TAKE(executable), out_machine);
}

/* job: a job file, which may contain the executable, or NULL. */
static Error *open_machine(const CommandContext *context, ModelAccess *access, const RunJob *job,
    const Digest *identity, RunMachine *out_machine) {
    char text[DIGEST_TEXT_SIZE];
    const char *file = command_option(context, "model");
    OWN(Executable, executable) = NULL;
    if (file) return open_with_file(context, access, file, identity, out_machine);
    TRY(model_access_open(context, true, access));
    Error *error =
        run_machine_open_stored(context, access, identity, "its executable", out_machine);
    if (error_code(error) != ERROR_NOT_FOUND) return error;
    if (!job || !job->file.executable) {
        error_free(error); /* the message below says more */
        digest_print(identity, text);
        FAIL(NOT_FOUND,
            "the checkpoint needs executable %s, which this home does not have; import it "
            "or give --model FILE.lvx",
            text);
    }
    error_free(error); /* the job's file contains the executable */
    TRY(run_job_load_model(job, access->pool, &executable));
    return run_machine_open(context, access->pool, TAKE(executable), out_machine);
}

/* job: NULL unless the file is a job's. */
static Error *resume_from(
    CommandContext *context, const char *path, const Container *container, const RunJob *job) {
    ModelAccess OWN_ACCESS(access) = {0};
    RunMachine OWN_MACHINE(machine) = {0};
    CheckpointHeader header;
    TRY_WRAP(checkpoint_read_header(container, &header), "%s", path);
    Error *error = open_machine(context, &access, job, &header.executable, &machine);
    checkpoint_header_deinit(&header);
    TRY(error);
    machine.job = job;
    bool begins = job && !job_file_has_execution(container);
    TRY_WRAP(begins ? run_machine_start_job(&machine) : run_machine_resume(&machine, container),
        "%s", path);
    return run_to_end(context, &machine);
}

static Error *resume_here(CommandContext *context, const char *path) {
    OWN(Container, container) = NULL;
    RunJob OWN_RUN_JOB(job) = {0};
    TRY(container_open_path(CONTAINER_CHECKPOINT, path, &container));
    bool is_job = job_file_is(container);
    if (is_job) TRY_WRAP(run_job_open(container, NULL, &job), "%s", path);
    return resume_from(context, path, container, is_job ? &job : NULL);
}

/* An argument with a / or ending in .lvc is a file, any other one a job. */
Error *command_resume(CommandContext *context) {
    const char *what = context->arguments[0];
    OWN(HttpClient, client) = NULL;
    if (!strchr(what, '/') && !text_ends_with(what, ".lvc"))
        return route_call_run(context, &resume_job);
    TRY(run_options_check(context));
    if (command_option(context, "from")) FAIL(USAGE, "--from: %s is a file, no job", what);
    TRY(remote_find(context, &client));
    return client ? remote_run_file(context, client) : resume_here(context, what);
}
