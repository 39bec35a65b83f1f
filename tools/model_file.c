#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "compiler/compile.h"
#include "serialize/executable_file.h"
#include "tools/model_access.h"

enum { PROBE_BYTES = 8 };

Error *model_file_format(const char *path, const char *wanted, const char **out_format) {
    static const char *const known[] = {"onnx", "lva", "lvx", "relax", "relay", "nnvm"};
    for (size_t i = 0; wanted && i < sizeof known / sizeof *known; i++)
        if (strcmp(wanted, known[i]) == 0) {
            *out_format = known[i];
            return NULL;
        }
    if (wanted) FAIL(USAGE, "--format %s: onnx, lva, lvx, relax, relay or nnvm", wanted);
    uint8_t head[PROBE_BYTES] = {0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = descriptor < 0 ? 0 : read(descriptor, head, sizeof head);
    if (descriptor >= 0) (void)close(descriptor);
    if (got == PROBE_BYTES && container_probe(head, sizeof head) != CONTAINER_ANY)
        *out_format = "lvx";
    else
        *out_format = text_ends_with(path, ".lva") ? "lva" : "onnx";
    return NULL;
}

/* The folder of a path, for a model's external data. */
static int open_folder(const char *path) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    if (length + 2 > sizeof folder) return -1;
    memcpy(folder, slash ? path : ".", slash ? length : 1);
    folder[slash ? length : 1] = 0;
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static Error *compile_file(const char *path, const char *format, const ModelFileOptions *options,
    Executable **out_executable) {
    uint8_t *data;
    size_t size;
    TRY(file_read(path, MODEL_FILE_SIZE_MAX, &data, &size));
    int folder = options->self_contained ? -1 : open_folder(path);
    CompileOptions compile = {
        .dump_after = options->dump_after,
        .dump = options->dump,
        .precision = options->precision,
        .report = options->report,
        .warnings = options->warnings,
        .directory_descriptor = folder,
    };
    Error *error = compile_source(format, data, size, &compile, out_executable);
    if (folder >= 0) (void)close(folder);
    memory_unmap(data, size);
    return error_wrap(error, "%s", path);
}

Error *model_file_load(ModelAccess *access, const char *path, const ModelFileOptions *options,
    Executable **out_executable) {
    const char *format;
    TRY(model_file_format(path, options->format, &format));
    if (strcmp(format, "lvx") == 0) {
        if (precision_is_lower(options->precision))
            FAIL(UNSUPPORTED, "--precision %s: an executable is compiled already",
                options->precision);
        return executable_read_file(path, access->pool, out_executable);
    }
    return compile_file(path, format, options, out_executable);
}

void model_file_tell_warnings(
    const CommandContext *context, const TextBuilder *warnings, json_object *inout_object) {
    json_object *array = json_object_new_array();
    for (const char *line = text_builder_get(warnings); *line;) {
        const int size = (int)strcspn(line, "\n");
        json_object_array_add(array, json_object_new_string_len(line, size));
        if (!context->json && !context->quiet)
            (void)fprintf(stderr, "layover: warning: %.*s\n", size, line);
        line += size + (line[size] == '\n');
    }
    if (inout_object && json_object_array_length(array) > 0)
        json_object_object_add(inout_object, "warnings", array);
    else
        json_object_put(array);
}
