#include <stdio.h>
#include <string.h>

#include "scheduler/http/model_json.h"
#include "scheduler/model_loader.h"
#include "tools/model_access.h"
#include "tools/progress.h"

const CommandOption command_fsck_options[] = {
    {"repair-from", "FILE", false,
        "an exported file that still has what is missing or damaged here"},
    {0},
};

const CommandOption command_gc_options[] = {{0}};

static void show_progress(void *context, uint64_t chunks_done, uint64_t chunks_total) {
    progress_update(context, chunks_done, chunks_total);
}

static Error *answer(CommandContext *context, const FsckResult *result) {
    uint64_t kept = result->error_count < FSCK_ERRORS_MAX ? result->error_count : FSCK_ERRORS_MAX;
    context->exit_code = result->error_count ? 1 : 0;
    if (!context->json) {
        for (uint64_t i = 0; i < kept; i++) printf("%s\n", result->errors[i]);
        printf("%llu chunks (%.1f MB) of %llu executables checked: %llu errors, %llu repaired, "
               "%llu chunks for gc\n",
            (unsigned long long)result->chunks, (double)result->bytes / 1e6,
            (unsigned long long)result->executables, (unsigned long long)result->error_count,
            (unsigned long long)result->repaired, (unsigned long long)result->orphan_chunks);
        return NULL;
    }
    json_object *object;
    TRY(model_fsck_json(result, &object));
    return command_print_json(object);
}

Error *command_fsck(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Container, copy) = NULL;
    OWN(FsckResult, result) = NULL;
    ChunkSource source = {0};
    const char *path = command_option(context, "repair-from");
    TRY(model_access_open(context, true, &access));
    if (path) {
        TRY(container_open_path(CONTAINER_ANY, path, &copy));
        source = container_get_source(copy);
    }
    Progress progress = progress_start(context, "checking");
    FsckOptions options = {
        .pool = access.pool,
        .check_manifest = model_loader_check_manifest,
        .repair_from = path ? &source : NULL,
        .progress = show_progress,
        .progress_context = &progress,
    };
    Error *error = fsck_run(access.store, &options, &result);
    progress_end(&progress);
    TRY(error);
    return answer(context, result);
}

Error *command_gc(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    GcResult result;
    json_object *object;
    TRY(model_access_open(context, true, &access));
    TRY(gc_run(access.store, &result));
    if (!context->json) {
        printf("%llu chunks deleted, %.1f MB\n", (unsigned long long)result.chunks,
            (double)result.bytes / 1e6);
        return NULL;
    }
    TRY(model_gc_json(&result, &object));
    return command_print_json(object);
}
