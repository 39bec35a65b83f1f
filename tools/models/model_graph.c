#include "tools/models/model_graph.h"

#include "base/file.h"
#include "serialize/relax/relax_library.h"

/* An empty file is not mapped. */
static Error *map_beside(
    const char *path, MappedFile **out_file, const uint8_t **out_data, size_t *out_size) {
    static const uint8_t nothing[1];
    if (!path) return NULL;
    TRY(file_map(path, MODEL_FILE_SIZE_MAX, out_file));
    *out_data = *out_file ? mapped_file_data(*out_file) : nothing;
    *out_size = *out_file ? (size_t)mapped_file_size(*out_file) : 0;
    return NULL;
}

/* Zeroes in place of missing bytes may be the cause of any error. */
static Error *check_damage(const char *path, const MappedFile *file, Error *owned_error) {
    if (!file || !mapped_file_is_damaged(file)) return owned_error;
    error_free(owned_error); /* the damage is told */
    FAIL(IO, "cannot read %s: it became shorter meanwhile, or its disk fails", path);
}

/* Refuses a graph with a library of another one now, not when it runs. */
static Error *check_library(const Executable *executable, const uint8_t *data, size_t size) {
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        bool exported = true;
        if (function->kind == FUNCTION_PACKED)
            TRY(relax_library_exports(data, size, function->name, &exported));
        if (!exported)
            FAIL(NOT_FOUND,
                "the library has no function %s, which the graph calls: neither __tvm_ffi_%s nor, "
                "as a library of TVM before 0.21, %s",
                function->name, function->name, function->name);
    }
    return NULL;
}

Error *model_graph_compile(const ModelFileOptions *options, CompileOptions *inout_compile,
    const uint8_t *data, size_t size, Executable **out_executable) {
    OWN(MappedFile, params) = NULL;
    OWN(MappedFile, library) = NULL;
    OWN(Executable, executable) = NULL;
    TRY(map_beside(options->params, &params, &inout_compile->params, &inout_compile->params_size));
    TRY(map_beside(
        options->library, &library, &inout_compile->library, &inout_compile->library_size));
    Error *error = compile_source("nnvm", data, size, inout_compile, &executable);
    if (!error && options->library)
        error = check_library(executable, inout_compile->library, inout_compile->library_size);
    error = check_damage(options->params, params, error);
    TRY(check_damage(options->library, library, error));
    *out_executable = TAKE(executable);
    return NULL;
}

static Error *compile_inner(
    const uint8_t *data, size_t size, bool *out_found, Executable **out_executable) {
    RelaxLibraryGraph inner;
    OWN(Executable, executable) = NULL;
    *out_found = false;
    if (!relax_library_probe(data, size)) return NULL;
    TRY(relax_library_find_graph(data, size, out_found, &inner));
    if (!*out_found) return NULL;
    const CompileOptions options = {.params = inner.params,
        .params_size = inner.params_size,
        .inner_params = true,
        .library = data,
        .library_size = size,
        .hole_begin = inner.blob_begin,
        .hole_size = inner.blob_size};
    TRY(compile_source("nnvm", inner.json, inner.json_size, &options, &executable));
    TRY(check_library(executable, data, size));
    *out_executable = TAKE(executable);
    return NULL;
}

Error *model_graph_load_library(const char *path, bool *out_found, Executable **out_executable) {
    OWN(MappedFile, file) = NULL;
    OWN(Executable, executable) = NULL;
    *out_found = false;
    TRY(file_map(path, MODEL_FILE_SIZE_MAX, &file));
    if (!file) return NULL;
    Error *error = compile_inner(
        mapped_file_data(file), (size_t)mapped_file_size(file), out_found, &executable);
    TRY(check_damage(path, file, error_wrap(error, "%s", path)));
    *out_executable = TAKE(executable);
    return NULL;
}
