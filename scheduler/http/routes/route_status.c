#include <stdio.h>

#include "base/clock.h"
#include "scheduler/http/server/http_page.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"

static const char *const no_fields[] = {NULL};

static Error *answer_flag(HttpResponse *response, const char *name, bool value) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_object_object_add(object, name, json_object_new_boolean(value));
    return http_response_json(response, object);
}

Error *route_health_live(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    (void)service, (void)request;
    return answer_flag(response, "live", true);
}

Error *route_health_ready(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    bool ready = atomic_load(&service->ready);
    (void)request;
    TRY(answer_flag(response, "ready", ready));
    if (!ready) response->status = error_info(ERROR_UNREACHABLE)->http_status;
    return NULL;
}

Error *route_metrics_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    TRY(http_request_check_query(request, no_fields));
    response->content_type = "text/plain; version=0.0.4";
    return metrics_print(service->metrics, &response->text);
}

static Error *device_json(const JobsApiDevice *device, json_object **out) {
    json_object *object;
    TRY(jobs_api_device_json(device, &object));
    json_fields_text_or_null(object, "job", device->job);
    json_fields_text_or_null(object, "tenant", device->tenant);
    json_fields_int(object, "speed", (int64_t)device->speed);
    json_fields_real(object, "busy_seconds", device->busy_seconds);
    *out = object;
    return NULL;
}

static Error *add_device(void *context, const JobsApiDevice *device) {
    json_object *line;
    TRY(device_json(device, &line));
    return http_response_line(context, line);
}

Error *route_device_list(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    TRY(http_request_check_query(request, no_fields));
    http_response_lines(response);
    return jobs->class_->devices(jobs->self, &request->caller, add_device, response);
}

static Error *collect_device(void *context, const JobsApiDevice *device) {
    json_object *item;
    TRY(device_json(device, &item));
    json_object_array_add(context, item);
    return NULL;
}

typedef struct TenantPage {
    HttpPage page;
    char last[JOBS_API_TEXT_SIZE];
    json_object *items;
    HttpResponse *response;
} TenantPage;

static Error *collect_tenant(void *context, const JobsApiTenant *tenant) {
    TenantPage *page = context;
    json_object *item;
    if (!http_page_take(&page->page, page->response)) return NULL;
    (void)snprintf(page->last, sizeof page->last, "%s", tenant->tenant);
    TRY(json_fields_create(&item));
    json_fields_text(item, "tenant", tenant->tenant);
    json_fields_int(item, "weight", tenant->weight);
    json_fields_int(item, "queued", tenant->queued);
    json_fields_int(item, "running", tenant->running);
    json_fields_int(item, "suspended", tenant->suspended);
    json_fields_real(item, "device_seconds", tenant->device_seconds);
    json_fields_real(item, "share", tenant->share);
    json_object_array_add(page->items, item);
    return NULL;
}

Error *route_top_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    Clock clock = clock_real();
    json_object *object;
    OWN_JSON(devices) = json_object_new_array();
    OWN_JSON(tenants) = json_object_new_array();
    TenantPage page = {.items = tenants, .response = response};
    TRY(http_page_read_text(request, &page.page));
    TRY(jobs->class_->devices(jobs->self, &request->caller, collect_device, devices));
    TRY(jobs->class_->tenants(jobs->self, &request->caller, page.page.after_text,
        page.page.limit + 1, collect_tenant, &page));
    TRY(json_fields_create(&object));
    json_fields_real(object, "time", clock.calendar_s(clock.self));
    json_object_object_add(object, "devices", TAKE(devices));
    json_object_object_add(object, "tenants", TAKE(tenants));
    http_page_end_text(&page.page, page.last, response);
    return http_response_json(response, object);
}
