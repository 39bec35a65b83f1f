#include <stdio.h>

#include "scheduler/http/routes/model_json.h"
#include "tools/client/model_access.h"
#include "tools/client/progress.h"
#include "tools/client/route_call.h"
#include "tools/models/model_home.h"

const CommandOption command_fsck_options[] = {
    {"repair-from", "FILE", false,
        "an exported file that still has what is missing or damaged here"},
    {"repair", NULL, false,
        "sets settings of tenants that make no sense to their defaults, and counts anew what they "
        "have stored"},
    {0},
};

const CommandOption command_gc_options[] = {{0}};

static void show_progress(void *context, uint64_t chunks_done, uint64_t chunks_total) {
    progress_update(context, chunks_done, chunks_total);
}

static void print_found(json_object *found) {
    json_object *errors = remote_field(found, "errors");
    size_t count =
        json_object_is_type(errors, json_type_array) ? json_object_array_length(errors) : 0;
    for (size_t i = 0; i < count; i++)
        printf("%s\n", json_object_get_string(json_object_array_get_idx(errors, i)));
    printf("%lld chunks (%.1f MB) of %lld executables checked: %lld errors, %lld repaired, "
           "%lld chunks for gc\n",
        (long long)remote_int(found, "chunks"), remote_real(found, "bytes") / 1e6,
        (long long)remote_int(found, "executables"), (long long)remote_int(found, "error_count"),
        (long long)remote_int(found, "repaired"), (long long)remote_int(found, "orphan_chunks"));
    printf("%lld files of prepared weights checked, %lld of them damaged and removed\n",
        (long long)remote_int(found, "weight_files"),
        (long long)remote_int(found, "weight_files_removed"));
}

enum { ERRORS_SAID_MAX = 10 };

/* Repeats the errors on standard error, for scripts that keep only that. */
static void say_found(json_object *found, int64_t count) {
    json_object *errors = remote_field(found, "errors");
    size_t told =
        json_object_is_type(errors, json_type_array) ? json_object_array_length(errors) : 0;
    if (told > ERRORS_SAID_MAX) told = ERRORS_SAID_MAX;
    for (size_t i = 0; i < told; i++)
        (void)fprintf(stderr, "layover: fsck: %s\n",
            json_object_get_string(json_object_array_get_idx(errors, i)));
    if (count > (int64_t)told)
        (void)fprintf(stderr, "layover: fsck: and %lld more\n", (long long)count - (int64_t)told);
}

static Error *check_here(
    const CommandContext *context, const char *path, Progress *progress, json_object **out) {
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(FsckResult, result) = NULL;
    const FsckOptions options = {
        .repair = command_flag(context, "repair"),
        .progress = show_progress,
        .progress_context = progress,
    };
    TRY(model_access_open(context, true, &access));
    TRY(model_home_check(access.store, access.pool, &options, path, &result));
    return model_fsck_json(result, out);
}

static Error *check_remotely(
    const CommandContext *context, HttpClient *client, const char *path, json_object **out) {
    TextBuilder OWN_TEXT(address) = {0};
    remote_path(&address, ROUTE_FSCK, NULL);
    if (command_flag(context, "repair")) http_client_query(&address, "repair", "1");
    return path ? remote_send_file(client, &address, path, out)
                : remote_ask(client, HTTP_METHOD_POST, &address, NULL, out);
}

Error *command_fsck(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    json_object *object;
    const char *path = command_option(context, "repair-from");
    TRY(remote_find(context, &client));
    Progress progress = progress_start(context, "checking");
    Error *error = client ? check_remotely(context, client, path, &object)
                          : check_here(context, path, &progress, &object);
    progress_end(&progress);
    TRY(error);
    const int64_t errors = remote_int(object, "error_count");
    context->exit_code = errors > 0 ? 1 : 0;
    say_found(object, errors);
    return remote_show(context, object, print_found);
}

static const RouteCall collect = {
    .route = ROUTE_GC,
    .line = "{chunks} chunks deleted, {bytes:M} MB",
};

Error *command_gc(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(HttpClient, client) = NULL;
    GcResult result;
    json_object *object;
    TRY(remote_find(context, &client));
    if (client)
        TRY(route_call_ask(context, client, &collect, &object));
    else {
        TRY(model_access_open(context, true, &access));
        TRY(gc_run(access.store, &result));
        TRY(model_gc_json(&result, &object));
    }
    return route_call_show(context, object, collect.line);
}
