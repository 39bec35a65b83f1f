#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/file.h"
#include "scheduler/node/compile_child.h"
#include "scheduler/node/compile_memory.h"
#include "scheduler/http/server/http_page.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/routes/model_json.h"
#include "scheduler/jobs/model_answer.h"
#include "scheduler/node/model_loader.h"

static const char *const no_fields[] = {NULL};
static const char output_name[] = "compiled.lvx";

/* NAME@VERSION of the last version of the page before, or nothing. */
static Error *read_place(
    const HttpPage *page, char out_model[MODEL_NAME_SIZE], int64_t *out_version) {
    const char *at = strchr(page->after_text, '@');
    size_t length = at ? (size_t)(at - page->after_text) : 0;
    out_model[0] = 0;
    *out_version = 0;
    if (!*page->after_text) return NULL;
    if (length == 0 || length >= MODEL_NAME_SIZE || !text_parse_i64(at + 1, out_version))
        FAIL(INVALID, "?after=%.80s: NAME@VERSION of a page before is wanted", page->after_text);
    memcpy(out_model, page->after_text, length);
    out_model[length] = 0;
    return NULL;
}

static void name_next(const HttpPage *page, const ModelVersion *last, HttpResponse *response) {
    char place[MODEL_REFERENCE_SIZE];
    (void)snprintf(place, sizeof place, "%s@%lld", last->model, (long long)last->version);
    http_page_end_text(page, place, response);
}

Error *route_model_list(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    OWN(ModelList, list) = NULL;
    HttpPage page;
    char model[MODEL_NAME_SIZE];
    int64_t version;
    json_object *line;
    TRY(http_page_read_text(request, &page));
    TRY(read_place(&page, model, &version));
    TRY(models_list_page(
        service->store, request->caller.tenant, model, version, page.limit, &list));
    http_response_lines(response);
    for (size_t i = 0; i < list->count && http_page_take(&page, response); i++) {
        TRY(model_version_json(&list->items[i], &line));
        TRY(http_response_line(response, line));
    }
    page.more = page.more || list->more;
    if (page.count > 0) name_next(&page, &list->items[page.count - 1], response);
    return NULL;
}

/* NAME or NAME@VERSION from the address. */
static Error *read_reference(const HttpRequest *request, char out[MODEL_REFERENCE_SIZE]) {
    const char *model = http_request_name(request, 0);
    const char *version = request->match.name_count > 1 ? http_request_name(request, 1) : "newest";
    TextBuilder OWN_TEXT(text) = {0};
    if (!text_is_name(model)) FAIL(INVALID, "%.80s is no model name", model);
    bool newest = strcmp(version, "newest") == 0;
    if (!newest && !text_is_name(version)) FAIL(INVALID, "%.80s is no version or alias", version);
    text_appendf(&text, newest ? "%s" : "%s@%s", model, version);
    TRY(text_builder_check(&text));
    memcpy(out, text_builder_get(&text), text.size + 1); /* two names and an @ always fit */
    return NULL;
}

Error *route_model_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    char reference[MODEL_REFERENCE_SIZE];
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    TRY(read_reference(request, reference));
    TRY(models_find(service->store, request->caller.tenant, reference, &version));
    TRY(model_loader_load(
        service->store, request->caller.tenant, service->pool, &version.executable, &executable));
    TRY(model_json(&version, executable, &object));
    return http_response_json(response, object);
}

static Error *name_newest(
    Store *store, TenantId tenant, char inout_reference[MODEL_REFERENCE_SIZE]) {
    ModelVersion OWN_VERSION(version) = {0};
    TextBuilder OWN_TEXT(text) = {0};
    TRY(models_find(store, tenant, inout_reference, &version));
    text_appendf(&text, "%s@%lld", version.model, (long long)version.version);
    TRY(text_builder_check(&text));
    if (text.size >= MODEL_REFERENCE_SIZE) FAIL(INVALID, "%s: too long", version.model);
    memcpy(inout_reference, text_builder_get(&text), text.size + 1);
    return NULL;
}

Error *route_model_remove(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    char reference[MODEL_REFERENCE_SIZE];
    uint64_t count;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    TRY(read_reference(request, reference));
    if (request->match.name_count > 1 && !strchr(reference, '@')) /* one version, not all of them */
        TRY(name_newest(service->store, request->caller.tenant, reference));
    TRY(models_remove(service->store, request->caller.tenant, reference, &count));
    TRY(model_removed_json(count, &object));
    return http_response_json(response, object);
}

Error *route_model_alias(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"alias", "version", NULL};
    const char *model = http_request_name(request, 0), *alias = NULL;
    int64_t number = 0;
    ModelVersion OWN_VERSION(version) = {0};
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    OWN_JSON(body) = NULL;
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_text(body, "alias", &alias));
    TRY(json_body_number(body, "version", 1, INT64_MAX, &number));
    if (!alias || !number) FAIL(INVALID, "alias and version are wanted");
    TRY(models_set_alias(service->store, request->caller.tenant, model, alias, number));
    TextBuilder OWN_TEXT(reference) = {0};
    text_appendf(&reference, "%s@%lld", model, (long long)number);
    TRY(text_builder_check(&reference));
    TRY(models_find(
        service->store, request->caller.tenant, text_builder_get(&reference), &version));
    TRY(model_version_json(&version, &object));
    return http_response_json(response, object);
}

Error *route_model_export(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    char reference[MODEL_REFERENCE_SIZE];
    ModelVersion OWN_VERSION(version) = {0};
    TextBuilder OWN_TEXT(number) = {0};
    HttpStream stream;
    TRY(http_request_check_query(request, no_fields));
    TRY(read_reference(request, reference));
    TRY(models_find(service->store, request->caller.tenant, reference, &version));
    text_appendf(&number, "%lld", (long long)version.version);
    TRY(text_builder_check(&number));
    TRY(model_answer_open(service->store, request->caller.tenant, &version.executable, &stream));
    http_response_bytes(response, stream);
    http_response_header(response, "Layover-Version", text_builder_get(&number));
    return NULL;
}

/* An uploaded model: a folder that has only this file, so that the folder can be given to a
 * sandboxed compiler. */
typedef struct Upload {
    char *folder, *source, *output;
} Upload;

static void remove_upload(Upload *upload) {
    if (upload->source) (void)unlink(upload->source);
    if (upload->output) (void)unlink(upload->output);
    if (upload->folder) (void)rmdir(upload->folder);
    memory_free(upload->source);
    memory_free(upload->output);
    memory_free(upload->folder);
}
#define OWN_UPLOAD(name) __attribute__((cleanup(remove_upload))) name

static Error *make_path(const char *folder, const char *name, char **out) {
    TextBuilder OWN_TEXT(path) = {0};
    text_appendf(&path, "%s/%s", folder, name);
    return text_builder_take(&path, out);
}

static Error *make_upload(
    const HttpService *service, const HttpRequest *request, Upload *out_upload) {
    char *folder;
    TRY(make_path(service->upload_folder, "model.XXXXXX", &folder));
    if (!mkdtemp(folder)) {
        memory_free(folder);
        FAIL(IO, "a temporary folder cannot be made");
    }
    out_upload->folder = folder;
    TRY(make_path(folder, http_request_name(request, 0), &out_upload->source));
    TRY(make_path(folder, output_name, &out_upload->output));
    if (!request->body_path)
        return file_write_atomic(out_upload->source, request->body, request->body_size);
    /* the server still has the file mapped, and removes the old name, which may be missing */
    if (link(request->body_path, out_upload->source) != 0)
        FAIL(IO, "an uploaded file cannot be moved");
    return NULL;
}

/* Names the tenant's quota in the error if the quota ended the compilation. */
static Error *name_quota(Error *owned_error, const CompileChild *child, uint64_t host_quota) {
    if (!child->data_bytes || error_code(owned_error) != ERROR_OUT_OF_MEMORY) return owned_error;
    error_free(owned_error);
    FAIL(EXHAUSTED,
        "compiling this model takes more than %llu bytes of memory, which is what the tenant's "
        "quota "
        "host_bytes of %llu allows for it",
        (unsigned long long)child->data_bytes, (unsigned long long)host_quota);
}

static Error *compile(HttpService *service, const HttpRequest *request, const Upload *upload,
    TextBuilder *inout_warnings) {
    CompileChild child = {
        .compiler = service->compiler,
        .folder = upload->folder,
        .source = http_request_name(request, 0),
        .output = output_name,
        .format = http_request_query(request, "format"),
        .precision = http_request_query(request, "precision"),
        .warnings = inout_warnings,
    };
    MemoryCharge OWN_CHARGE(charge) = {0};
    uint64_t host_quota;
    TRY(service->accounts.class_->host_bytes(
        service->accounts.self, request->caller.tenant, &host_quota));
    if (service->compile_memory)
        TRY(compile_memory_take(service->compile_memory, request->caller.tenant, host_quota,
            request->body_size, &charge));
    child.memory_bytes = charge.bytes;
    child.data_bytes = compile_memory_data_bytes(host_quota, request->body_size);
    uint64_t start_ns = clock_now_ns(clock_real());
    TRY(service->accounts.class_->store_bytes_left(
        service->accounts.self, request->caller.tenant, &child.file_bytes));
    if (child.file_bytes == UINT64_MAX) child.file_bytes = 0;
    Error *error = compile_child_run(&child);
    metrics_observe_ns(
        service->metrics, METRIC_COMPILE_SECONDS, clock_now_ns(clock_real()) - start_ns);
    return name_quota(error, &child, host_quota);
}

static bool is_executable(const HttpRequest *request) {
    enum { PROBE_BYTES = 8 };
    const char *format = http_request_query(request, "format");
    if (format) return strcmp(format, "lvx") == 0;
    return request->body_size >= PROBE_BYTES &&
           container_probe(request->body, PROBE_BYTES) != CONTAINER_ANY;
}

static Error *check_register(const HttpRequest *request) {
    static const char *const fields[] = {"format", "precision", "prepare", "alias", NULL};
    static const char *const formats[] = {"onnx", "lva", "lvx", "relax", "relay", "nnvm", NULL};
    const char *format = http_request_query(request, "format");
    const char *precision = http_request_query(request, "precision");
    const char *prepare = http_request_query(request, "prepare");
    bool known = !format;
    TRY(http_request_check_query(request, fields));
    if (!text_is_name(http_request_name(request, 0)))
        FAIL(INVALID, "%.80s is no model name: letters, digits and . _ - are, at most 64",
            http_request_name(request, 0));
    for (size_t i = 0; !known && formats[i]; i++) known = strcmp(format, formats[i]) == 0;
    if (!known) FAIL(INVALID, "?format= is onnx, lva, lvx, relax, relay or nnvm");
    if (precision && strcmp(precision, "fp32") && strcmp(precision, "bf16") &&
        strcmp(precision, "int8"))
        FAIL(INVALID, "?precision= is fp32, bf16 or int8");
    if (precision && strcmp(precision, "fp32") && is_executable(request))
        FAIL(UNSUPPORTED, "?precision=%s: an executable is compiled already", precision);
    if (prepare && strcmp(prepare, "yes") && strcmp(prepare, "no"))
        FAIL(INVALID, "?prepare= is yes or no");
    if (request->body_size == 0) FAIL(INVALID, "the model file is empty");
    return NULL;
}

static bool wants_preparing(const HttpRequest *request) {
    const char *prepare = http_request_query(request, "prepare");
    return !prepare || strcmp(prepare, "yes") == 0;
}

Error *route_model_register(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const char *aliases[MODEL_ALIASES_MAX + 1], *name = http_request_name(request, 0);
    size_t alias_count = 0;
    uint64_t start_ns = clock_now_ns(clock_real());
    Upload OWN_UPLOAD(upload) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Container, container) = NULL;
    OWN(Executable, executable) = NULL;
    TextBuilder OWN_TEXT(warnings) = {0};
    json_object *object;
    TRY(check_register(request));
    while ((aliases[alias_count] = http_request_query_at(request, "alias", (uint32_t)alias_count)))
        if (++alias_count > MODEL_ALIASES_MAX)
            FAIL(INVALID, "more than %d aliases", MODEL_ALIASES_MAX);
    if (is_executable(request))
        TRY_WRAP(container_open_memory(
                     CONTAINER_EXECUTABLE, request->body, request->body_size, &container),
            "%s", name);
    else {
        TRY(make_upload(service, request, &upload));
        TRY(compile(service, request, &upload, &warnings));
        TRY(container_open_path(CONTAINER_EXECUTABLE, upload.output, &container));
    }
    TRY(model_loader_import(service->store, request->caller.tenant, service->pool, name, container,
        name, aliases, alias_count, &version, &executable));
    if (wants_preparing(request))
        service->jobs.class_->model_stored(
            service->jobs.self, request->caller.tenant, &version.executable);
    TRY(model_json(&version, executable, &object));
    model_warnings_json(&warnings, object);
    json_fields_real(object, "seconds", (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9);
    return http_response_json(response, object);
}
