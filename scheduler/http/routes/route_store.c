#include <unistd.h>

#include "base/allocator.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/routes/model_json.h"
#include "scheduler/node/job_policy.h"
#include "scheduler/node/model_loader.h"

static const char *const no_fields[] = {NULL};

Error *route_store_gc(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    GcResult result;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    TRY(gc_run(service->store, &result));
    TRY(model_gc_json(&result, &object));
    return http_response_json(response, object);
}

Error *route_store_fsck(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    OWN(Container, copy) = NULL;
    OWN(FsckResult, result) = NULL;
    ChunkSource source = {0};
    json_object *object;
    static const char *const fields[] = {"repair", NULL};
    bool repair = false;
    TRY(http_request_check_query(request, fields));
    TRY(http_request_query_flag(request, "repair", &repair));
    if (request->body_size) {
        TRY(request->body_path
                ? container_open_path(CONTAINER_ANY, request->body_path, &copy)
                : container_open_memory(CONTAINER_ANY, request->body, request->body_size, &copy));
        source = container_get_source(copy);
    }
    FsckOptions options = {
        .pool = service->pool,
        .check_manifest = model_loader_check_manifest,
        .check_policy = job_policy_check,
        .repair = repair,
        .repair_from = request->body_size ? &source : NULL,
    };
    TRY(fsck_run(service->store, &options, &result));
    TRY(model_fsck_json(result, &object));
    return http_response_json(response, object);
}
