#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "scheduler/http/model_json.h"
#include "tools/model_access.h"
#include "tools/progress.h"

const CommandOption command_register_options[] = {
    {"alias", "A", true, "also gives the version this alias"},
    {"precision", "P", false, "fp32 (default); bf16 and int8 are not there yet"},
    {"format", "F", false, "onnx, lva or lvx; default: by the file"},
    {0},
};

const CommandOption command_import_options[] = {
    {"alias", "A", true, "also gives the version this alias"},
    {0},
};

static size_t collect_aliases(const CommandContext *context, const char **aliases) {
    size_t count = 0;
    while (count < MODEL_ALIASES_MAX &&
           (aliases[count] = command_option_at(context, "alias", (uint32_t)count)))
        count++;
    return count;
}

static Error *answer(const CommandContext *context, const ModelVersion *version,
    const Executable *executable, uint64_t start_ns) {
    double seconds = (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
    if (!context->json) {
        printf("%s@%lld registered: %.1f MB stored (%.1f MB raw), %.2f s\n", version->model,
            (long long)version->version, (double)version->bytes_stored / 1e6,
            (double)version->bytes_raw / 1e6, seconds);
        return NULL;
    }
    json_object *object;
    TRY(model_json(version, executable, &object));
    command_json_double(object, "seconds", seconds);
    return command_print_json(object);
}

Error *command_register(CommandContext *context) {
    uint64_t start_ns = clock_now_ns(clock_real());
    const char *name = context->arguments[0], *path = context->arguments[1], *format;
    const char *aliases[MODEL_ALIASES_MAX + 1];
    size_t alias_count = collect_aliases(context, aliases);
    ModelFileOptions options = {
        .format = command_option(context, "format"),
        .precision = command_option(context, "precision"),
    };
    if (!text_is_name(name))
        FAIL(INVALID, "%s is no model name: letters, digits and . _ - are, at most 64", name);
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    TRY(model_file_format(path, options.format, &format));
    TRY(model_access_open(context, true, &access));
    Progress progress = progress_start(context, "compiling");
    progress_update(&progress, 0, 0);
    Error *error;
    if (strcmp(format, "lvx") == 0)
        error =
            model_access_import(&access, name, path, aliases, alias_count, &version, &executable);
    else {
        error = model_file_load(&access, path, &options, &executable);
        if (!error)
            error =
                model_access_register(&access, name, executable, aliases, alias_count, &version);
    }
    progress_end(&progress);
    TRY(error);
    return answer(context, &version, executable, start_ns);
}

Error *command_import(CommandContext *context) {
    uint64_t start_ns = clock_now_ns(clock_real());
    const char *aliases[MODEL_ALIASES_MAX + 1];
    size_t alias_count = collect_aliases(context, aliases);
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    TRY(model_access_open(context, true, &access));
    TRY(model_access_import(&access, context->arguments[0], context->arguments[1], aliases,
        alias_count, &version, &executable));
    return answer(context, &version, executable, start_ns);
}
