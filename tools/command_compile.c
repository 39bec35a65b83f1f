#include <stdio.h>

#include "base/clock.h"
#include "serialize/executable_file.h"
#include "tools/model_access.h"

const CommandOption command_compile_options[] = {
    {"output", "OUT.lvx", false, "the executable file to write (also -o)"},
    {"format", "F", false, "onnx, lva or lvx; default: by the file"},
    {"precision", "P", false, "fp32 (default); bf16 and int8 are not there yet"},
    {"dump-after", "PASS", false, "prints the program as it is behind this pass"},
    {0},
};

Error *command_compile(CommandContext *context) {
    uint64_t start_ns = clock_now_ns(clock_real());
    const char *output = command_option(context, "output");
    TextBuilder OWN_TEXT(dump) = {0};
    ModelFileOptions options = {
        .format = command_option(context, "format"),
        .precision = command_option(context, "precision"),
        .dump_after = command_option(context, "dump-after"),
        .dump = &dump,
    };
    if (!output && !options.dump_after)
        FAIL(USAGE, "compile: -o OUT.lvx or --dump-after is missing");
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    TRY(model_access_open_files(&access));
    TRY(model_file_load(&access, context->arguments[0], &options, &executable));
    if (options.dump_after) (void)fputs(text_builder_get(&dump), stdout);
    if (output) TRY(executable_write_file(executable, access.pool, output));
    double seconds = (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
    if (!output) return NULL;
    char identity[DIGEST_TEXT_SIZE];
    digest_print(&executable->identity, identity);
    if (!context->json) {
        printf("%s: executable %.16s, %.2f s\n", output, identity, seconds);
        return NULL;
    }
    json_object *object, *functions;
    TRY(command_json_object(&object));
    Error *error = model_functions_json(executable, &functions);
    if (error) {
        json_object_put(object);
        return error;
    }
    command_json_text(object, "executable", identity);
    json_object_object_add(object, "functions", functions);
    command_json_double(object, "seconds", seconds);
    return command_print_json(object);
}
