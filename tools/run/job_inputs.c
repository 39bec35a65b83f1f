#include "tools/run/job_inputs.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/file.h"
#include "scheduler/http/client/json_body.h"
#include "serialize/arrays/array_values.h"
#include "serialize/arrays/npy.h"
#include "tools/remote/job_request.h"
#include "tools/run/input_shape.h"
#include "tools/run/input_value.h"
#include "tools/run/remote_signature.h"
#include "tools/run/run_machine.h"

#define INPUT_FILE_SIZE_MAX ((size_t)64 << 30)

void job_inputs_deinit(JobInputs *inputs) { temporary_file_delete(&inputs->made); }

/* Returns the folder of NAME=FOLDER, or NULL if the option names no folder. */
static const char *folder_of(const char *option) {
    struct stat status;
    const char *equals = strchr(option, '=');
    bool is_folder = equals && stat(equals + 1, &status) == 0 && S_ISDIR(status.st_mode);
    return is_folder ? equals + 1 : NULL;
}

static int is_npy(const struct dirent *entry) { return text_ends_with(entry->d_name, ".npy"); }

static Error *read_folder(const char *folder, ArrayList *list) {
    struct dirent **entries;
    Error *error = NULL;
    int count = scandir(folder, &entries, is_npy, alphasort);
    if (count < 0) FAIL(IO, "%s cannot be read", folder);
    for (int i = 0; i < count; i++) {
        TextBuilder OWN_TEXT(path) = {0};
        NamedArray array = {0};
        uint8_t *data = NULL;
        size_t size = 0;
        text_appendf(&path, "%s/%s", folder, entries[i]->d_name);
        if (!error) error = text_builder_check(&path);
        if (!error) error = file_read(text_builder_get(&path), INPUT_FILE_SIZE_MAX, &data, &size);
        if (!error)
            error = error_wrap(
                npy_read(data, size, entries[i]->d_name, &array), "%s", entries[i]->d_name);
        if (!error) error = array_list_add(list, &array);
        memory_unmap(data, size);
        memory_free(entries[i]);
    }
    memory_free(entries);
    if (!error && count == 0) FAIL(INVALID, "%s holds no .npy file", folder);
    return error;
}

static Error *fetch_signature(const CommandContext *context, HttpClient *client,
    RemoteSignature *out, uint32_t *out_function) {
    const char *wanted = command_option(context, "function");
    TRY(remote_signature_fetch(client, context->arguments[0], out));
    return executable_find_function(&out->executable, wanted ? wanted : "main", out_function);
}

/* The number of axes of a model's input; -1 if it is not known. */
static Error *find_rank(
    const CommandContext *context, HttpClient *client, const char *name, int *out_rank) {
    RemoteSignature OWN_SIGNATURE(signature) = {0};
    uint32_t function, index;
    TRY(fetch_signature(context, client, &signature, &function));
    function = executable_choose_function(&signature.executable, function, name);
    const Function *of = &signature.executable.functions[function];
    const bool found = of->parameters && array_values_find_parameter(of, name, &index);
    *out_rank =
        found && of->parameters[index].rank_known ? (int)of->parameters[index].shape.rank : -1;
    return NULL;
}

/* The shape of all files together: the first file's shape, with the entries of all files. */
static Error *join_shapes(const ArrayList *files, bool stack, Shape *out) {
    const NamedArray *first = &files->items[0];
    int64_t total = 0;
    for (size_t i = 0; i < files->count; i++) {
        const NamedArray *at = &files->items[i];
        bool same = at->dtype == first->dtype && at->shape.rank == first->shape.rank &&
                    (stack || at->shape.rank > 0);
        for (uint32_t d = stack ? 0 : 1; same && d < at->shape.rank; d++)
            same = at->shape.dims[d] == first->shape.dims[d];
        if (!same || at->dtype == DTYPE_STRING)
            FAIL(INVALID, "%s: another element type or shape than %s", at->name, first->name);
        if (!checked_add_i64(total, stack ? 1 : at->shape.dims[0], &total))
            FAIL(INVALID, "%s: too many items", at->name);
    }
    if (stack && first->shape.rank == SHAPE_RANK_MAX)
        FAIL(INVALID, "%s: too many axes", first->name);
    *out = first->shape;
    if (stack) {
        memmove(out->dims + 1, out->dims, out->rank * sizeof *out->dims);
        out->rank++;
    }
    out->dims[0] = total;
    return NULL;
}

static Error *add_folder(
    const CommandContext *context, HttpClient *client, const char *option, ArrayList *list) {
    ArrayList OWN_ARRAYS(files) = {0};
    NamedArray all = {0};
    Shape shape;
    int rank;
    char name[1024];
    (void)snprintf(name, sizeof name, "%.*s", (int)(strchr(option, '=') - option), option);
    TRY(read_folder(folder_of(option), &files));
    TRY(find_rank(context, client, name, &rank));
    bool stack = rank == (int)files.items[0].shape.rank + 1;
    TRY(join_shapes(&files, stack, &shape));
    TRY(named_array_init(&all, name, files.items[0].dtype, &shape));
    uint64_t at = 0;
    for (size_t i = 0; i < files.count; i++) {
        /* elements of less than a byte are packed array by array, so the sizes may not add up */
        if (files.items[i].size > all.size - at) {
            named_array_deinit(&all);
            FAIL(UNSUPPORTED, "%s: such elements cannot be joined", files.items[i].name);
        }
        memcpy(all.data + at, files.items[i].data, files.items[i].size);
        at += files.items[i].size;
    }
    return array_list_add(list, &all);
}

Error *job_inputs_make(const CommandContext *context, HttpClient *client, JobInputs *out) {
    JobInputs OWN_INPUTS(inputs) = {0};
    ArrayList OWN_ARRAYS(list) = {0};
    const char *option = command_option(context, "input");
    bool single = option && !command_option_at(context, "input", 1);
    if (single && option[0] != '@' && text_ends_with(option, ".npz")) {
        *out = (JobInputs){.given = option};
        return NULL;
    }
    RemoteSignature OWN_SIGNATURE(signature) = {0};
    uint32_t function = 0;
    if (input_value_any_inline(context))
        TRY(fetch_signature(context, client, &signature, &function));
    for (uint32_t i = 0; (option = command_option_at(context, "input", i)); i++)
        if (input_value_is_inline(option))
            TRY(input_value_read(context, option, &signature.executable, &function, &list));
        else if (folder_of(option))
            TRY(add_folder(context, client, option, &list));
        else
            TRY(run_inputs_read_option(option, NULL, &list));
    TRY(array_list_check_names(&list));
    if (signature.model)
        TRY(input_shape_check_options(context, &signature.executable.functions[function]));
    TRY(temporary_file_create(&inputs.made));
    TRY(job_request_write_inputs(inputs.made.path, &list));
    *out = inputs;
    inputs.made.exists = false;
    return NULL;
}

Error *job_inputs_send(
    HttpClient *client, json_object *policy, const JobInputs *inputs, json_object **out_job) {
    return job_request_submit(
        client, policy, inputs->given ? inputs->given : inputs->made.path, out_job);
}
