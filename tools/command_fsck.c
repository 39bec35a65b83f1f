#include <stdio.h>
#include <string.h>

#include "store/fsck.h"
#include "store/gc.h"
#include "tools/model_access.h"
#include "tools/progress.h"

const CommandOption command_fsck_options[] = {
    {"repair-from", "FILE", false,
        "an exported file that still has what is missing or damaged here"},
    {0},
};

const CommandOption command_gc_options[] = {{0}};

/* What the store cannot see: that a manifest is one, has its name and refers to these chunks. */
static Error *check_manifest(void *context, const FsckExecutable *executable) {
    (void)context;
    OWN(Container, container) = NULL;
    TRY(container_open_manifest(CONTAINER_EXECUTABLE, executable->manifest,
        executable->manifest_size, (ChunkSource){0}, &container));
    TRY(container_check_identity(container, &executable->identity));
    size_t at = 0;
    for (uint32_t i = 0; i < container_bulk_count(container); i++) {
        ContainerBulk bulk;
        TRY(container_get_bulk(container, i, &bulk));
        for (size_t k = 0; k < bulk.chunk_count; k++, at++)
            if (at >= executable->chunk_count ||
                !digest_equal(&bulk.refs[k].hash, &executable->chunks[at].hash))
                FAIL(CORRUPT, "the catalog refers to other chunks than the manifest");
    }
    if (at != executable->chunk_count)
        FAIL(CORRUPT, "the catalog refers to %zu chunks, the manifest to %zu",
            executable->chunk_count, at);
    return NULL;
}

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
    json_object *object, *errors = json_object_new_array();
    TRY(command_json_object(&object));
    for (uint64_t i = 0; i < kept; i++)
        json_object_array_add(errors, json_object_new_string(result->errors[i]));
    command_json_int(object, "chunks", (int64_t)result->chunks);
    command_json_int(object, "bytes", (int64_t)result->bytes);
    command_json_int(object, "executables", (int64_t)result->executables);
    command_json_int(object, "repaired", (int64_t)result->repaired);
    command_json_int(object, "orphan_chunks", (int64_t)result->orphan_chunks);
    json_object_object_add(object, "errors", errors);
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
        .check_manifest = check_manifest,
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
    TRY(command_json_object(&object));
    command_json_int(object, "executables", (int64_t)result.executables);
    command_json_int(object, "chunks", (int64_t)result.chunks);
    command_json_int(object, "bytes", (int64_t)result.bytes);
    return command_print_json(object);
}
