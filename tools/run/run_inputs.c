#include <string.h>
#include <sys/resource.h>

#include "base/allocator.h"
#include "base/file.h"
#include "serialize/arrays/array_values.h"
#include "serialize/arrays/npy.h"
#include "serialize/arrays/npz_file.h"
#include "serialize/arrays/npz_ports.h"
#include "serialize/arrays/safetensors.h"
#include "tools/run/input_shape.h"
#include "tools/run/input_value.h"
#include "tools/run/run_machine.h"

#define INPUT_FILE_SIZE_MAX ((size_t)64 << 30)

/* function: the function that the arrays are inputs of, or NULL if it is unknown here. */
typedef Error *FileReader(
    const uint8_t *data, size_t size, const char *name, const Function *function, ArrayList *list);

static Error *read_npy(
    const uint8_t *data, size_t size, const char *name, const Function *function, ArrayList *list) {
    NamedArray array;
    (void)function;
    TRY(npy_read(data, size, name, &array));
    return array_list_add(list, &array);
}

/* Appends the arrays of a file that holds several. */
static Error *append(ArrayList *list, ArrayList *more) {
    for (size_t i = 0; i < more->count; i++) TRY(array_list_add(list, &more->items[i]));
    return NULL;
}

/* Upper bound on the memory of this process. */
static uint64_t memory_max(void) {
    struct rlimit limit;
    const uint64_t machine = memory_machine_bytes();
    uint64_t bytes = machine && machine < INPUT_FILE_SIZE_MAX ? machine : INPUT_FILE_SIZE_MAX;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < bytes) bytes = limit.rlim_cur;
    return bytes;
}

/* A small file may unpack to many bytes: arrays that do not fit the function are refused before. */
static Error *read_npz(
    const uint8_t *data, size_t size, const char *name, const Function *function, ArrayList *list) {
    NpzFile OWN_NPZ(file) = {0};
    (void)name;
    TRY(npz_file_open(data, size, memory_max(), &file));
    if (function) TRY(npz_ports_check(&file, function, false));
    return npz_file_read(&file, list);
}

static Error *read_safetensors(
    const uint8_t *data, size_t size, const char *name, const Function *function, ArrayList *list) {
    (void)name, (void)function;
    ArrayList OWN_ARRAYS(more) = {0};
    TRY(safetensors_read(data, size, &more));
    return append(list, &more);
}

static Error *read_file(const char *path, const char *name, const Function *function,
    FileReader *reader, ArrayList *list) {
    uint8_t *data;
    size_t size;
    TRY(file_read(path, INPUT_FILE_SIZE_MAX, &data, &size));
    Error *error = reader(data, size, name, function, list);
    memory_unmap(data, size);
    return error_wrap(error, "%s", path);
}

Error *run_inputs_read_option(const char *text, const Function *function, ArrayList *list) {
    const char *equals = strchr(text, '='), *file = text + (text[0] == '@');
    if (text_ends_with(text, ".npz")) return read_file(file, NULL, function, read_npz, list);
    if (text_ends_with(text, ".safetensors"))
        return read_file(file, NULL, function, read_safetensors, list);
    if (!equals || equals == text)
        FAIL(USAGE,
            "--input %s: FILE.npz, FILE.safetensors, @FILE.json, NAME=FILE.npy or NAME=VALUE is "
            "wanted",
            text);
    char *name;
    TRY(memory_copy_text(text, &name));
    name[equals - text] = 0;
    file = equals[1] == '@' ? equals + 2 : equals + 1;
    Error *error = read_file(file, name, function, read_npy, list);
    memory_free(name);
    return error;
}

/* Chooses the function by the names of an archive's arrays, before one of them is unpacked. */
static Error *choose_by_file(
    const char *path, const Executable *executable, uint32_t *inout_function) {
    uint8_t *data;
    size_t size;
    NpzFile OWN_NPZ(file) = {0};
    if (!text_ends_with(path, ".npz")) return NULL;
    path += path[0] == '@';
    TRY(file_read(path, INPUT_FILE_SIZE_MAX, &data, &size));
    Error *error = npz_file_open(data, size, memory_max(), &file);
    for (size_t i = 0; !error && i < file.count; i++)
        *inout_function =
            executable_choose_function(executable, *inout_function, file.items[i].name);
    npz_file_close(&file);
    file = (NpzFile){0};
    memory_unmap(data, size);
    return error_wrap(error, "%s", path);
}

Error *run_inputs_read(const CommandContext *context, const Executable *executable,
    uint32_t *inout_function, Value **out_values, uint32_t *out_count) {
    ArrayList OWN_ARRAYS(list) = {0};
    const char *text;
    uint32_t function = *inout_function;
    for (uint32_t i = 0; (text = command_option_at(context, "input", i)); i++)
        TRY(choose_by_file(text, executable, &function));
    for (uint32_t i = 0; (text = command_option_at(context, "input", i)); i++)
        TRY(input_value_is_inline(text)
                ? input_value_read(context, text, executable, &function, &list)
                : run_inputs_read_option(text, &executable->functions[function], &list));
    for (size_t i = 0; i < list.count; i++)
        function = executable_choose_function(executable, function, list.items[i].name);
    const Function *of = &executable->functions[function];
    TRY(input_shape_check_options(context, of));
    TRY(array_values_bind(&list, of, out_values));
    *inout_function = function;
    *out_count = of->parameter_count;
    return NULL;
}
