#include <string.h>

#include "tools/run_report.h"

const CommandOption command_resume_options[] = {
    {"model", "FILE.lvx", false, "the executable, where the home does not have it"},
    RUN_SHARED_OPTIONS,
    {0},
};

static Error *load_executable(const CommandContext *context, ModelAccess *access,
    const Digest *identity, Executable **out_executable) {
    char text[DIGEST_TEXT_SIZE];
    const char *file = command_option(context, "model");
    ModelFileOptions options = {.format = "lvx"};
    OWN(Executable, executable) = NULL;
    if (file) {
        TRY(model_access_open_files(access));
        TRY(model_file_load(access, file, &options, &executable));
        if (!digest_equal(&executable->identity, identity))
            FAIL(INVALID, "%s is not the executable of this checkpoint", file);
        *out_executable = TAKE(executable);
        return NULL;
    }
    TRY(model_access_open(context, true, access));
    Error *error = model_access_load_identity(access, identity, out_executable);
    if (error_code(error) != ERROR_NOT_FOUND) return error;
    error_free(error); /* said more clearly here */
    digest_print(identity, text);
    FAIL(NOT_FOUND,
        "the checkpoint needs executable %s, which this home does not have; import it "
        "or give --model FILE.lvx",
        text);
}

Error *command_resume(CommandContext *context) {
    const char *path = context->arguments[0];
    ModelAccess OWN_ACCESS(access) = {0};
    RunMachine OWN_MACHINE(machine) = {0};
    OWN(Executable, executable) = NULL;
    OWN(Container, container) = NULL;
    CheckpointHeader header;
    TRY(run_options_check(context));
    if (!strchr(path, '/') && !text_ends_with(path, ".lvc"))
        FAIL(UNREACHABLE,
            "resume: job %s needs a daemon, and none is there; a file has a / in its "
            "name or ends in .lvc",
            path);
    TRY(container_open_path(CONTAINER_CHECKPOINT, path, &container));
    TRY_WRAP(checkpoint_read_header(container, &header), "%s", path);
    Error *error = load_executable(context, &access, &header.executable, &executable);
    checkpoint_header_deinit(&header);
    TRY(error);
    TRY(run_machine_open(context, access.pool, TAKE(executable), &machine));
    TRY_WRAP(run_machine_resume(&machine, container), "%s", path);
    return run_to_end(context, &machine);
}
