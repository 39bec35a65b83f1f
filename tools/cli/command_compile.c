#include <stdio.h>

#include "base/clock.h"
#include "base/library/crypto_library.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/routes/model_json.h"
#include "serialize/container/executable_file.h"
#include "tools/cli/model_folder.h"
#include "tools/client/model_print.h"
#include "tools/run/precision_report.h"
#include "tools/client/sandbox.h"

const CommandOption command_compile_options[] = {
    {"output", "OUT.lvx", false, "the executable file to write (also -o)"},
    {"format", "F", false, "onnx, relay, nnvm, lva, lvx or relax; default: by the file"},
    {"params", "FILE", false, "the weights of a graph of NNVM, MXNet or TVM's graph executor"},
    {"library", "FILE.so", false,
        "the library of a graph of TVM's graph executor; runs as native code"},
    {"precision", "P", false, "fp32 (default), bf16 or int8: of what has constant weights"},
    {"dump-after", "PASS", false, "prints the program as it is behind this pass"},
    {"follow-links", NULL, false,
        "also reads external data that links lead to outside the model's own tree of folders"},
    {"sandbox", NULL, false,
        "gives up everything but the working folder before it reads FILE, which must hold all its "
        "data"},
    {"memory-max", "BYTES", false, "with --sandbox: of address space; 0: no limit"},
    {"data-max", "BYTES", false, "with --sandbox: of memory that can be written; 0: no limit"},
    {"seconds-max", "S", false, "with --sandbox: of processor time, for each of two cores"},
    {"file-max", "BYTES", false, "with --sandbox: of the output; 0: no limit"},
    {0},
};

/* Called before a second thread starts and before untrusted bytes are read. */
static Error *enter_sandbox(const CommandContext *context) {
    int64_t memory, data, seconds, file;
    TRY(command_integer(context, "memory-max", 0, INT64_MAX, 0, &memory));
    TRY(command_integer(context, "data-max", 0, INT64_MAX, 0, &data));
    TRY(command_integer(context, "seconds-max", 0, INT32_MAX, 0, &seconds));
    TRY(command_integer(context, "file-max", 0, INT64_MAX, 0, &file));
    if (!command_flag(context, "sandbox")) return NULL;
    /* opened now: large constants are hashed, and the sandbox lets no library open */
    TRY(crypto_library_open());
    return sandbox_enter(&(SandboxLimits){.memory_bytes = (uint64_t)memory,
        .data_bytes = (uint64_t)data,
        .file_bytes = (uint64_t)file,
        .cpu_seconds = (uint64_t)seconds * 2});
}

/* A thread's stack counts as memory that can be written. */
static Error *open_pool(const CommandContext *context, ModelAccess *access) {
    int64_t data;
    TRY(command_integer(context, "data-max", 0, INT64_MAX, 0, &data));
    if (!data) return model_access_open_files(access);
    return worker_pool_create("layover", 1, &access->pool);
}

Error *command_compile(CommandContext *context) {
    uint64_t start_ns = clock_now_ns(clock_real());
    const char *output = command_option(context, "output");
    TextBuilder OWN_TEXT(dump) = {0};
    TextBuilder OWN_TEXT(warnings) = {0};
    PrecisionReport report = {0};
    OWN_JSON(precision) = NULL;
    ModelFileOptions options = {
        .format = command_option(context, "format"),
        .precision = command_option(context, "precision"),
        .params = command_option(context, "params"),
        .library = command_option(context, "library"),
        .report = &report,
        .warnings = &warnings,
        .dump_after = command_option(context, "dump-after"),
        .dump = &dump,
        .self_contained = command_flag(context, "sandbox"),
        .follow_links = command_flag(context, "follow-links"),
    };
    if (!output && !options.dump_after)
        FAIL(USAGE, "compile: -o OUT.lvx or --dump-after is missing");
    char found[PATH_MAX];
    TRY(model_folder_find(&context->arguments[0], found));
    TRY(enter_sandbox(context));
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    TRY(open_pool(context, &access));
    TRY(model_file_load(access.pool, context->arguments[0], &options, &executable));
    if (options.dump_after) (void)fputs(text_builder_get(&dump), stdout);
    if (output) TRY(executable_write_file(executable, access.pool, output));
    double seconds = (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
    if (!output) return NULL;
    if (precision_is_lower(options.precision))
        TRY(precision_counts_json(options.precision, &report, &precision));
    char identity[DIGEST_TEXT_SIZE];
    digest_print(&executable->identity, identity);
    if (!context->json) {
        model_print_warnings(context, &warnings, NULL);
        printf("%s: executable %.16s, %.2f s\n", output, identity, seconds);
        if (precision) precision_print_counts(precision);
        return NULL;
    }
    json_object *object, *functions;
    TRY(json_fields_create(&object));
    Error *error = model_functions_json(executable, &functions);
    if (error) {
        json_object_put(object);
        return error;
    }
    json_fields_text(object, "executable", identity);
    json_object_object_add(object, "functions", functions);
    model_print_warnings(context, &warnings, object);
    json_fields_real(object, "seconds", seconds);
    if (precision) json_object_object_add(object, "precision", TAKE(precision));
    return command_print_json(object);
}
