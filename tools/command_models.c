#include <stdio.h>
#include <time.h>

#include "scheduler/http/model_json.h"
#include "tools/model_access.h"

const CommandOption command_models_options[] = {{0}};
const CommandOption command_show_options[] = {{0}};
const CommandOption command_rm_options[] = {{0}};
const CommandOption command_alias_options[] = {{0}};

static void print_header(void) {
    printf("%-24s %7s %12s  %-16s %-16s %s\n", "model", "version", "MB stored", "created",
        "executable", "aliases");
}

static void print_row(const ModelVersion *version) {
    char identity[DIGEST_TEXT_SIZE], created[32] = "";
    struct tm calendar;
    time_t seconds = (time_t)version->created;
    digest_print(&version->executable, identity);
    if (localtime_r(&seconds, &calendar))
        (void)strftime(created, sizeof created, "%Y-%m-%d %H:%M", &calendar);
    printf("%-24s %7lld %12.1f  %-16s %.16s", version->model, (long long)version->version,
        (double)version->bytes_stored / 1e6, created, identity);
    for (size_t i = 0; i < version->alias_count; i++)
        printf("%s%s", i ? "," : " ", version->aliases[i]);
    printf("\n");
}

Error *command_models(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(ModelList, list) = NULL;
    TRY(model_access_open(context, true, &access));
    TRY(models_list(access.store, access.tenant, &list));
    if (!context->json && list->count > 0) print_header();
    for (size_t i = 0; i < list->count; i++) {
        json_object *object;
        if (!context->json) {
            print_row(&list->items[i]);
            continue;
        }
        TRY(model_version_json(&list->items[i], &object));
        TRY(command_print_json(object));
    }
    return NULL;
}

static void print_ports(const char *what, const Port *ports, uint32_t count) {
    for (uint32_t i = 0; ports && i < count; i++) {
        TextBuilder OWN_TEXT(shape) = {0};
        for (uint32_t d = 0; d < ports[i].shape.rank; d++) {
            text_append(&shape, d ? ", " : "");
            if (ports[i].shape.dims[d] >= 0)
                text_appendf(&shape, "%lld", (long long)ports[i].shape.dims[d]);
            else
                text_append(&shape, ports[i].symbols[d] ? ports[i].symbols[d] : "?");
        }
        printf("  %-8s %s: %s [%s]\n", what, ports[i].name, dtype_name(ports[i].dtype),
            ports[i].rank_known ? text_builder_get(&shape) : "?");
    }
}

Error *command_show(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    TRY(model_access_open(context, true, &access));
    TRY(model_access_load(&access, context->arguments[0], &version, &executable));
    if (!context->json) {
        print_header();
        print_row(&version);
        for (uint32_t i = 0; i < executable->function_count; i++) {
            const Function *function = &executable->functions[i];
            if (!(function->flags & FUNCTION_EXPORTED)) continue;
            printf("function %s\n", function->name);
            print_ports("input", function->parameters, function->parameter_count);
            print_ports("output", function->results, function->result_count);
        }
        return NULL;
    }
    json_object *object;
    TRY(model_json(&version, executable, &object));
    return command_print_json(object);
}

Error *command_rm(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    uint64_t count;
    json_object *object;
    TRY(model_access_open(context, true, &access));
    TRY(models_remove(access.store, access.tenant, context->arguments[0], &count));
    if (!context->json) {
        printf("%s: %llu version%s removed; layover gc gives the space back\n",
            context->arguments[0], (unsigned long long)count, count == 1 ? "" : "s");
        return NULL;
    }
    TRY(command_json_object(&object));
    command_json_int(object, "removed", (int64_t)count);
    return command_print_json(object);
}

Error *command_alias(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    json_object *object;
    int64_t number;
    const char *name = context->arguments[0], *alias = context->arguments[1];
    if (!text_parse_i64(context->arguments[2], &number) || number < 1)
        FAIL(USAGE, "alias: %s is no version number", context->arguments[2]);
    TRY(model_access_open(context, true, &access));
    TRY(models_set_alias(access.store, access.tenant, name, alias, number));
    if (!context->json) {
        printf("%s@%s is %s@%lld\n", name, alias, name, (long long)number);
        return NULL;
    }
    char reference[MODEL_REFERENCE_SIZE];
    (void)snprintf(reference, sizeof reference, "%s@%lld", name, (long long)number);
    TRY(models_find(access.store, access.tenant, reference, &version));
    TRY(model_version_json(&version, &object));
    return command_print_json(object);
}
