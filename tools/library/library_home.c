/* Homes of layover.h: the verbs of the command line that work on a home without a daemon. */
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/routes/model_json.h"
#include "scheduler/node/model_loader.h"
#include "store/models/models.h"
#include "tools/library/library_internal.h"
#include "tools/models/model_file.h"
#include "tools/models/model_home.h"
#include "tools/relax/model_relax.h"
#include "vm/assembly/assembly.h"

struct LayoverHome {
    char *path;
    char *tenant; /* NULL: the default one */
};

Error *library_home_open(const char *path, const char *tenant, LayoverHome **out) {
    void *memory;
    if (path && !*path) FAIL(INVALID, "the path of the home is empty");
    TRY(memory_alloc(1, sizeof(LayoverHome), &memory));
    OWN(LayoverHome, home) = memory;
    TRY(path ? memory_copy_text(path, &home->path) : store_default_home(&home->path));
    if (tenant) TRY(memory_copy_text(tenant, &home->tenant));
    *out = TAKE(home);
    return NULL;
}

LayoverError *layover_home_open(const char *path, const char *tenant, LayoverHome **out_home) {
    return library_error(library_home_open(path, tenant, out_home));
}

void layover_home_close(LayoverHome *home) {
    if (!home) return;
    memory_free(home->path);
    memory_free(home->tenant);
    memory_free(home);
}

const char *layover_home_path(const LayoverHome *home) { return home->path; }

/* ---- one visit of a home ---- */

typedef struct Visit {
    Store *store;
    TenantId tenant;
    WorkerPool *pool;
    bool locked;
} Visit;

static void visit_end(Visit *visit) {
    store_close(visit->store);
    if (visit->locked) library_process_unlock_homes();
    worker_pool_release(visit->pool);
}
#define OWN_VISIT(name) __attribute__((cleanup(visit_end))) Visit name

static Error *open_pool(Visit *visit) {
    const uint32_t cores = worker_pool_core_count();
    if (visit->pool) return NULL;
    return worker_pool_create("layover", cores > 1 ? cores - 1 : 1, &visit->pool);
}

static Error *enter(const LayoverHome *home, StoreFlags flags, Visit *visit) {
    visit->tenant = TENANT_DEFAULT;
    library_process_lock_homes();
    visit->locked = true;
    TRY(store_open(home->path, flags, &visit->store));
    return home->tenant ? store_find_tenant(visit->store, home->tenant, &visit->tenant) : NULL;
}

Error *library_home_read(
    const LayoverHome *home, const char *reference, WorkerPool *pool, Executable **out) {
    ModelVersion OWN_VERSION(version) = {0};
    OWN_VISIT(visit) = {0};
    TRY(enter(home, STORE_EXISTING, &visit));
    TRY(models_find(visit.store, visit.tenant, reference, &version));
    return error_wrap(model_loader_load(visit.store, visit.tenant, pool, &version.executable, out),
        "%s", reference);
}

/* ---- answers ---- */

static Error *models(const LayoverHome *home, LayoverValue *out) {
    OWN_VISIT(visit) = {0};
    OWN(ModelList, list) = NULL;
    OWN_JSON(rows) = json_object_new_array();
    if (!rows) FAIL(OUT_OF_MEMORY, "no memory for the answer");
    TRY(enter(home, STORE_CREATE, &visit));
    TRY(models_list(visit.store, visit.tenant, &list));
    for (size_t i = 0; i < list->count; i++) {
        json_object *row;
        TRY(model_version_json(&list->items[i], &row));
        json_object_array_add(rows, row);
    }
    return library_answer(TAKE(rows), out);
}

LayoverError *layover_home_models(LayoverHome *home, LayoverValue *out_json) {
    return library_error(models(home, out_json));
}

/* Finds a version and reads its executable. */
static Error *find(const LayoverHome *home, const char *reference, Visit *visit,
    ModelVersion *version, Executable **out) {
    TRY(open_pool(visit));
    TRY(enter(home, STORE_CREATE, visit));
    TRY(models_find(visit->store, visit->tenant, reference, version));
    return error_wrap(
        model_loader_load(visit->store, visit->tenant, visit->pool, &version->executable, out),
        "%s", reference);
}

static Error *show(const LayoverHome *home, const char *reference, LayoverValue *out) {
    OWN_VISIT(visit) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    json_object *answer;
    TRY(find(home, reference, &visit, &version, &executable));
    TRY(model_json(&version, executable, &answer));
    return library_answer(answer, out);
}

LayoverError *layover_home_show(LayoverHome *home, const char *reference, LayoverValue *out_json) {
    return library_error(show(home, reference, out_json));
}

static Error *disasm(
    const LayoverHome *home, const char *reference, bool with_data, LayoverValue *out) {
    OWN_VISIT(visit) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    char *made;
    TRY(find(home, reference, &visit, &version, &executable));
    TRY(assembly_print(executable, with_data, &text));
    TRY(text_builder_take(&text, &made));
    *out = (LayoverValue){LAYOVER_STRING, {.text = made}};
    return NULL;
}

LayoverError *layover_home_disasm(
    LayoverHome *home, const char *reference, int with_data, LayoverValue *out_text) {
    return library_error(disasm(home, reference, with_data != 0, out_text));
}

/* ---- registering ---- */

static const LayoverRegistration plain = {0};

static Error *check_registration(const char *name, const LayoverRegistration *registration) {
    if (!text_is_name(name))
        FAIL(INVALID, "%.80s is no model name: letters, digits and . _ - are, at most 64", name);
    if (registration->alias_count > MODEL_ALIASES_MAX)
        FAIL(INVALID, "%u aliases; a registration gives at most %d", registration->alias_count,
            MODEL_ALIASES_MAX);
    return NULL;
}

/* Compiles before the home is opened: meanwhile others may use it. */
static Error *compile(const char *file, const LayoverRegistration *registration, WorkerPool *pool,
    TextBuilder *warnings, Executable **out) {
    const ModelFileOptions options = {
        .format = registration->format,
        .precision = registration->precision,
        .params = registration->params,
        .library = registration->library,
        .follow_links = registration->follow_links != 0,
        .warnings = warnings,
    };
    return model_file_load(pool, file, &options, out);
}

/* executable: NULL: an executable file is imported. */
static Error *store(const Visit *visit, const char *name, const char *file,
    const LayoverRegistration *registration, ModelVersion *version, Executable **inout_executable) {
    OWN(Container, container) = NULL;
    if (*inout_executable)
        return model_loader_register(visit->store, visit->tenant, visit->pool, name,
            *inout_executable, registration->aliases, registration->alias_count, version);
    TRY(container_open_path(CONTAINER_EXECUTABLE, file, &container));
    return model_loader_import(visit->store, visit->tenant, visit->pool, name, container, file,
        registration->aliases, registration->alias_count, version, inout_executable);
}

/* A model that cannot be prepared is stored all the same: its first run says what is missing. */
static void prepare(const Visit *visit, Executable *executable, TextBuilder *warnings) {
    Error *error = model_home_prepare(visit->store, visit->pool, executable);
    if (error) text_appendf(warnings, "not prepared for this machine: %s\n", error_message(error));
    error_free(error);
}

static Error *register_model(const LayoverHome *home, const char *name, const char *file,
    const LayoverRegistration *registration, LayoverValue *out) {
    const uint64_t start_ns = clock_now_ns(clock_real());
    const char *format;
    OWN_VISIT(visit) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    TextBuilder OWN_TEXT(warnings) = {0};
    json_object *answer;
    TRY(check_registration(name, registration));
    TRY(model_file_format(file, registration->format, &format));
    TRY(open_pool(&visit));
    if (strcmp(format, "lvx") != 0)
        TRY(compile(file, registration, visit.pool, &warnings, &executable));
    TRY(enter(home, STORE_CREATE, &visit));
    TRY(store(&visit, name, file, registration, &version, &executable));
    if (!registration->no_prepare) prepare(&visit, executable, &warnings);
    TRY(text_builder_check(&warnings));
    TRY(model_json(&version, executable, &answer));
    model_warnings_json(&warnings, answer);
    json_fields_real(answer, "seconds", (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9);
    return library_answer(answer, out);
}

LayoverError *layover_home_register(LayoverHome *home, const char *name, const char *file,
    const LayoverRegistration *registration, LayoverValue *out_json) {
    return library_error(
        register_model(home, name, file, registration ? registration : &plain, out_json));
}

/* ---- changes ---- */

static Error *set_alias(const LayoverHome *home, const char *name, const char *alias,
    int64_t number, LayoverValue *out) {
    OWN_VISIT(visit) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    TextBuilder OWN_TEXT(reference) = {0};
    json_object *answer;
    text_appendf(&reference, "%s@%lld", name, (long long)number);
    TRY(text_builder_check(&reference));
    TRY(enter(home, STORE_CREATE, &visit));
    TRY(models_set_alias(visit.store, visit.tenant, name, alias, number));
    TRY(models_find(visit.store, visit.tenant, text_builder_get(&reference), &version));
    TRY(model_version_json(&version, &answer));
    return library_answer(answer, out);
}

LayoverError *layover_home_alias(LayoverHome *home, const char *name, const char *alias,
    int64_t version, LayoverValue *out_json) {
    return library_error(set_alias(home, name, alias, version, out_json));
}

static Error *remove_model(const LayoverHome *home, const char *reference, LayoverValue *out) {
    OWN_VISIT(visit) = {0};
    uint64_t count;
    json_object *answer;
    TRY(enter(home, STORE_CREATE, &visit));
    TRY(models_remove(visit.store, visit.tenant, reference, &count));
    TRY(model_removed_json(count, &answer));
    return library_answer(answer, out);
}

LayoverError *layover_home_remove(
    LayoverHome *home, const char *reference, LayoverValue *out_json) {
    return library_error(remove_model(home, reference, out_json));
}

static Error *write_source(
    const Visit *visit, const ModelVersion *version, const char *path, uint64_t *out_bytes) {
    OWN(Executable, executable) = NULL;
    TRY(model_loader_load(
        visit->store, visit->tenant, visit->pool, &version->executable, &executable));
    return error_wrap(model_relax_write(executable, path, out_bytes), "%s", version->model);
}

static Error *export_model(
    const LayoverHome *home, const char *reference, const char *path, LayoverValue *out) {
    OWN_VISIT(visit) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    uint64_t bytes;
    json_object *answer;
    TRY(open_pool(&visit));
    TRY(enter(home, STORE_CREATE, &visit));
    TRY(models_find(visit.store, visit.tenant, reference, &version));
    TRY(text_ends_with(path, ".bin") ? write_source(&visit, &version, path, &bytes)
                                     : model_loader_export(visit.store, visit.tenant, visit.pool,
                                           &version.executable, path, &bytes));
    TRY(model_version_json(&version, &answer));
    json_fields_text(answer, "file", path);
    json_fields_int(answer, "bytes", (int64_t)bytes);
    return library_answer(answer, out);
}

LayoverError *layover_home_export(
    LayoverHome *home, const char *reference, const char *path, LayoverValue *out_json) {
    return library_error(export_model(home, reference, path, out_json));
}

static Error *check(
    const LayoverHome *home, bool repair, const char *repair_from, LayoverValue *out) {
    OWN_VISIT(visit) = {0};
    OWN(FsckResult, result) = NULL;
    const FsckOptions options = {.repair = repair};
    json_object *answer;
    TRY(open_pool(&visit));
    TRY(enter(home, STORE_CREATE, &visit));
    TRY(model_home_check(visit.store, visit.pool, &options, repair_from, &result));
    TRY(model_fsck_json(result, &answer));
    return library_answer(answer, out);
}

LayoverError *layover_home_fsck(
    LayoverHome *home, int repair, const char *repair_from, LayoverValue *out_json) {
    return library_error(check(home, repair != 0, repair_from, out_json));
}

static Error *collect(const LayoverHome *home, LayoverValue *out) {
    OWN_VISIT(visit) = {0};
    GcResult result;
    json_object *answer;
    TRY(enter(home, STORE_CREATE, &visit));
    TRY(gc_run(visit.store, &result));
    TRY(model_gc_json(&result, &answer));
    return library_answer(answer, out);
}

LayoverError *layover_home_gc(LayoverHome *home, LayoverValue *out_json) {
    return library_error(collect(home, out_json));
}

LayoverError *layover_home_open_model(
    LayoverHome *home, const char *reference, const char *device, LayoverModel **out_model) {
    return library_error(library_open_model(home, reference, device, out_model));
}
