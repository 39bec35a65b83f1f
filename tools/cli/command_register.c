#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/routes/model_json.h"
#include "serialize/container/executable_file.h"
#include "tools/cli/model_folder.h"
#include "tools/client/model_print.h"
#include "tools/run/precision_report.h"
#include "tools/client/progress.h"
#include "tools/client/remote_models.h"
#include "tools/models/model_home.h"
#include "tools/run/input_options.h"

#define NO_PREPARE                                                                                 \
    { "no-prepare", NULL, false, "leaves packing the weights for this machine to the first run" }

const CommandOption command_register_options[] = {
    {"alias", "A", true, "also gives the version this alias"},
    {"precision", "P", false, "fp32 (default), bf16 or int8: of what has constant weights"},
    {"input", INPUT_FORMS, true,
        "with --precision: what to run on to say how accurate it is; default: made up"},
    INPUT_VALUE_OPTIONS,
    {"format", "F", false, "onnx, relay, nnvm, lva, lvx or relax; default: by the file"},
    {"params", "FILE", false, "the weights of a graph of NNVM, MXNet or TVM's graph executor"},
    {"library", "FILE.so", false,
        "the library of a graph of TVM's graph executor; runs as native code"},
    {"follow-links", NULL, false,
        "also reads external data that links lead to outside the model's own tree of folders"},
    NO_PREPARE,
    {0},
};

const CommandOption command_import_options[] = {
    {"alias", "A", true, "also gives the version this alias"},
    NO_PREPARE,
    {0},
};

static size_t collect_aliases(const CommandContext *context, const char **aliases) {
    size_t count = 0;
    while (count < MODEL_ALIASES_MAX &&
           (aliases[count] = command_option_at(context, "alias", (uint32_t)count)))
        count++;
    return count;
}

static void print_registered(json_object *version) {
    json_object *precision = remote_field(version, "precision");
    printf("%s@%lld registered: %.1f MB stored (%.1f MB raw), %.2f s\n",
        remote_text(version, "model"), (long long)remote_int(version, "version"),
        remote_real(version, "bytes_stored") / 1e6, remote_real(version, "bytes_raw") / 1e6,
        remote_real(version, "seconds"));
    if (!precision) return;
    precision_print_counts(precision);
    precision_print_errors(precision);
}

static Error *describe(const ModelVersion *version, const Executable *executable, uint64_t start_ns,
    json_object **out) {
    TRY(model_json(version, executable, out));
    json_fields_real(*out, "seconds", (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9);
    return NULL;
}

/* Prepares the model as a daemon does. A failure does not stop the registration: the first run
 * reports a missing part. */
static void prepare(
    const CommandContext *context, const ModelAccess *access, Executable *executable) {
    if (command_flag(context, "no-prepare")) return;
    Error *error = model_home_prepare(access->store, access->pool, executable);
    if (error && !context->quiet && !context->json)
        (void)fprintf(stderr, "layover: not prepared for this machine: %s\n", error_message(error));
    error_free(error);
}

/* Compiles a model below float32 and measures the loss before anything is stored. Also done here
 * for a daemon, whose compiler makes the same executable from the same file. */
static Error *compile_lower(const CommandContext *context, const ModelFileOptions *options,
    Executable **out_executable, json_object **out) {
    const char *path = context->arguments[1];
    PrecisionReport report = {0};
    ModelFileOptions reporting = *options;
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    OWN_JSON(precision) = NULL;
    reporting.report = &report;
    TRY(model_access_open_files(&access));
    TRY(model_file_load(access.pool, path, &reporting, &executable));
    TRY(precision_counts_json(options->precision, &report, &precision));
    TRY(precision_measure(context, &access, path, options, executable, precision));
    *out_executable = TAKE(executable);
    *out = TAKE(precision);
    return NULL;
}

/* lower: the executable if it was compiled already, or NULL. */
static Error *register_here(const CommandContext *context, const char *format,
    const ModelFileOptions *options, const Executable *lower, json_object **out) {
    uint64_t start_ns = clock_now_ns(clock_real());
    const char *aliases[MODEL_ALIASES_MAX + 1];
    size_t alias_count = collect_aliases(context, aliases);
    const char *name = context->arguments[0], *path = context->arguments[1];
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    TRY(model_access_open(context, true, &access));
    if (strcmp(format, "lvx") == 0)
        TRY(model_access_import(&access, name, path, aliases, alias_count, &version, &executable));
    else {
        if (lower)
            executable = executable_retain(lower);
        else
            TRY(model_file_load(access.pool, path, options, &executable));
        TRY(model_access_register(&access, name, executable, aliases, alias_count, &version));
    }
    prepare(context, &access, executable);
    return describe(&version, executable, start_ns, out);
}

/* Prints the warnings of the daemon's compiler. The compiler here, which runs only for a lower
 * precision, would print the same ones. */
static void take_warnings(json_object *inout_object, TextBuilder *out_warnings) {
    json_object *array;
    const bool found = json_object_object_get_ex(inout_object, "warnings", &array) &&
                       json_object_is_type(array, json_type_array);
    text_builder_deinit(out_warnings);
    for (size_t i = 0; found && i < json_object_array_length(array); i++) {
        text_append(out_warnings, json_object_get_string(json_object_array_get_idx(array, i)));
        text_append(out_warnings, "\n");
    }
    json_object_object_del(inout_object, "warnings");
}

/* A daemon takes one file: a model of several files is compiled here. */
static Error *register_there(CommandContext *context, HttpClient *client, const char *format,
    const ModelFileOptions *options, json_object **out) {
    char path[] = "/tmp/layover.XXXXXX";
    const char *given = context->arguments[1];
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    if (!options->params && !options->library)
        return remote_models_register(context, client, format, options->precision, out);
    TRY(model_access_open_files(&access));
    TRY(model_file_load(access.pool, given, options, &executable));
    const int descriptor = mkstemp(path);
    if (descriptor < 0) FAIL(IO, "a temporary file cannot be made in /tmp");
    (void)close(descriptor);
    Error *error = executable_write_file(executable, access.pool, path);
    context->arguments[1] = path;
    if (!error) error = remote_models_register(context, client, "lvx", NULL, out);
    context->arguments[1] = given;
    (void)unlink(path);
    return error;
}

Error *command_register(CommandContext *context) {
    const char *name = context->arguments[0], *path, *format;
    char found[PATH_MAX];
    OWN(HttpClient, client) = NULL;
    json_object *object = NULL;
    ModelFileOptions options = {
        .format = command_option(context, "format"),
        .precision = command_option(context, "precision"),
        .params = command_option(context, "params"),
        .library = command_option(context, "library"),
        .follow_links = command_flag(context, "follow-links"),
    };
    TextBuilder OWN_TEXT(warnings) = {0};
    options.warnings = &warnings;
    const bool lowers = precision_is_lower(options.precision);
    OWN(Executable, lower) = NULL;
    OWN_JSON(precision) = NULL;
    if (!lowers && command_flag(context, "input"))
        FAIL(USAGE, "register: --input is for --precision bf16 and int8");
    if (!text_is_name(name))
        FAIL(INVALID, "%s is no model name: letters, digits and . _ - are, at most 64", name);
    TRY(model_folder_find(&context->arguments[1], found));
    path = context->arguments[1];
    TRY(model_file_format(path, options.format, &format));
    TRY(remote_find(context, &client));
    Progress progress = progress_start(context, "compiling");
    progress_update(&progress, 0, 0);
    Error *error = lowers ? compile_lower(context, &options, &lower, &precision) : NULL;
    if (!error)
        error = client ? register_there(context, client, format, &options, &object)
                       : register_here(context, format, &options, lower, &object);
    progress_end(&progress);
    TRY(error);
    if (client) take_warnings(object, &warnings);
    if (precision) json_object_object_add(object, "precision", TAKE(precision));
    model_print_warnings(context, &warnings, object);
    return remote_show(context, object, print_registered);
}

Error *command_import(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    json_object *object;
    TRY(remote_find(context, &client));
    TRY(client ? remote_models_register(context, client, "lvx", NULL, &object)
               : register_here(context, "lvx", &(ModelFileOptions){0}, NULL, &object));
    return remote_show(context, object, print_registered);
}
