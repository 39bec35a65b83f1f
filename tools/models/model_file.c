#include "tools/models/model_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "compiler/compile.h"
#include "compiler/nnvm/nnvm_graph.h"
#include "compiler/relay/relay_import.h"
#include "serialize/container/executable_file.h"
#include "serialize/relay/relay_file.h"
#include "tools/models/model_graph.h"
#include "tools/relax/model_relax.h"

enum { PROBE_BYTES = 8, HEAD_BYTES = 4096 };

Error *model_file_format(const char *path, const char *wanted, const char **out_format) {
    static const char *const known[] = {"onnx", "lva", "lvx", "relax", "relay", "nnvm"};
    for (size_t i = 0; wanted && i < sizeof known / sizeof *known; i++)
        if (strcmp(wanted, known[i]) == 0) {
            *out_format = known[i];
            return NULL;
        }
    if (wanted) FAIL(USAGE, "--format %s: onnx, lva, lvx, relax, relay or nnvm", wanted);
    uint8_t head[HEAD_BYTES] = {0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = descriptor < 0 ? 0 : read(descriptor, head, sizeof head);
    if (descriptor >= 0) (void)close(descriptor);
    const size_t size = got > 0 ? (size_t)got : 0;
    if (relay_file_probe(head, size))
        FAIL(UNSUPPORTED,
            "%s: an executable of TVM's Relay VM; its kernels are native code of a TVM that is no "
            "longer published, so it can be looked at (layover inspect) but not run",
            path);
    if (size >= PROBE_BYTES && container_probe(head, PROBE_BYTES) != CONTAINER_ANY)
        *out_format = "lvx";
    else if (model_relax_is_file(path, head, size))
        *out_format = "relax";
    else if (text_ends_with(path, ".lva"))
        *out_format = "lva";
    else if (nnvm_graph_probe(head, size))
        *out_format = "nnvm";
    else
        *out_format = text_ends_with(path, ".relay") || relay_probe(head, size) ? "relay" : "onnx";
    return NULL;
}

/* How many levels above the named folder the tree of the folder's links may begin. A hub's cache
 * has models--x/snapshots/REVISION[/…]/model.onnx, a link to models--x/blobs/…, and so has the
 * data. */
enum { TREE_LEVELS_MAX = 4 };

static uint32_t count_parts(const char *path) {
    uint32_t count = 0;
    for (; *path; path++) count += path[0] == '/' && path[1] != 0;
    return count;
}

/* Cuts the last part off; "/a" becomes "". */
static void cut_part(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
}

static bool holds(const char *folder, const char *path) {
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* Finds the smallest folder that contains both the folder that the caller named and the file to
 * which the name leads. The folder may be at most TREE_LEVELS_MAX levels up, and not the root, a
 * folder of the root or the caller's home. Otherwise the result is the named folder. */
static void find_tree(const char *folder, const char *file, char out[PATH_MAX]) {
    const char *home = getenv("HOME");
    char common[PATH_MAX];
    uint32_t levels = 0;
    (void)snprintf(out, PATH_MAX, "%s", folder);
    (void)snprintf(common, sizeof common, "%s", folder);
    while (!holds(common, file)) {
        cut_part(common);
        levels++;
    }
    if (levels > TREE_LEVELS_MAX || count_parts(common) < 2) return;
    if (home && strcmp(home, common) == 0) return;
    (void)snprintf(out, PATH_MAX, "%s", common);
}

/* Opens the folder that the caller named, for a model's external data. */
static Error *open_folder(
    const char *path, bool follow_links, char tree[PATH_MAX], OnnxFolder *out) {
    char named[PATH_MAX], folder[PATH_MAX], file[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) + 1 : 0;
    (void)snprintf(named, sizeof named, "%.*s.", length, path);
    if (!realpath(named, folder) || !realpath(path, file))
        FAIL(IO, "%s: %s", path, strerror(errno));
    find_tree(folder, file, tree);
    *out = (OnnxFolder){open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), follow_links ? "" : tree};
    if (out->descriptor < 0) FAIL(IO, "%s: %s", folder, strerror(errno));
    return NULL;
}

static Error *compile_data(const char *path, const char *format, const ModelFileOptions *options,
    const uint8_t *data, size_t size, Executable **out_executable) {
    char tree[PATH_MAX];
    OnnxFolder folder;
    CompileOptions compile = {
        .dump_after = options->dump_after,
        .dump = options->dump,
        .precision = options->precision,
        .report = options->report,
        .warnings = options->warnings,
    };
    if (options->params || options->library)
        return model_graph_compile(options, &compile, data, size, out_executable);
    if (options->self_contained)
        return compile_source(format, data, size, &compile, out_executable);
    TRY(open_folder(path, options->follow_links, tree, &folder));
    compile.folder = &folder;
    Error *error = compile_source(format, data, size, &compile, out_executable);
    (void)close(folder.descriptor);
    return error;
}

/* The compiler copies the tensors' bytes once and everything else before it looks at it, so the
 * file need not be in memory of its own. */
static Error *compile_mapped(
    const char *path, const ModelFileOptions *options, Executable **out_executable) {
    OWN(MappedFile, file) = NULL;
    OWN(Executable, executable) = NULL;
    TRY(file_map(path, MODEL_FILE_SIZE_MAX, &file));
    Error *error = compile_data(path, "onnx", options, file ? mapped_file_data(file) : NULL,
        file ? (size_t)mapped_file_size(file) : 0, &executable);
    if (file && mapped_file_is_damaged(file)) {
        error_free(error); /* the zeroes in place of the missing bytes may have caused it */
        FAIL(IO, "cannot read %s: it became shorter meanwhile, or its disk fails", path);
    }
    TRY_WRAP(error, "%s", path);
    *out_executable = TAKE(executable);
    return NULL;
}

static Error *compile_file(const char *path, const char *format, const ModelFileOptions *options,
    Executable **out_executable) {
    uint8_t *data;
    size_t size;
    if (strcmp(format, "onnx") == 0) return compile_mapped(path, options, out_executable);
    TRY(file_read(path, MODEL_FILE_SIZE_MAX, &data, &size));
    Error *error = compile_data(path, format, options, data, size, out_executable);
    memory_unmap(data, size);
    return error_wrap(error, "%s", path);
}

Error *model_file_load(WorkerPool *pool, const char *path, const ModelFileOptions *options,
    Executable **out_executable) {
    const char *format;
    TRY(model_file_format(path, options->format, &format));
    const bool translated = strcmp(format, "relax") == 0;
    if ((options->params || options->library) && strcmp(format, "nnvm") != 0)
        FAIL(USAGE, "--%s is for graphs of NNVM, MXNet and TVM's graph executor; %s is %s",
            options->params ? "params" : "library", path, format);
    if (translated || strcmp(format, "lvx") == 0) {
        if (precision_is_lower(options->precision))
            FAIL(UNSUPPORTED, "--precision %s: an executable is compiled already",
                options->precision);
        bool is_graph = false;
        if (translated) TRY(model_graph_load_library(path, &is_graph, out_executable));
        if (is_graph) return NULL;
        if (translated) return model_relax_load(path, out_executable);
        return executable_read_file(path, pool, out_executable);
    }
    return compile_file(path, format, options, out_executable);
}
