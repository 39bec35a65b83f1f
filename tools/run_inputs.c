#include <string.h>

#include "base/allocator.h"
#include "base/file.h"
#include "serialize/npy.h"
#include "serialize/npz.h"
#include "serialize/safetensors.h"
#include "tools/run_machine.h"

#define INPUT_FILE_SIZE_MAX ((size_t)64 << 30)

typedef Error *FileReader(const uint8_t *data, size_t size, const char *name, ArrayList *list);

static Error *read_npy(const uint8_t *data, size_t size, const char *name, ArrayList *list) {
    NamedArray array;
    TRY(npy_read(data, size, name, &array));
    return array_list_add(list, &array);
}

/* Arrays of a file that holds several, behind those read before. */
static Error *append(ArrayList *list, ArrayList *more) {
    for (size_t i = 0; i < more->count; i++) TRY(array_list_add(list, &more->items[i]));
    return NULL;
}

static Error *read_npz(const uint8_t *data, size_t size, const char *name, ArrayList *list) {
    (void)name;
    ArrayList OWN_ARRAYS(more) = {0};
    TRY(npz_read(data, size, INPUT_FILE_SIZE_MAX, &more));
    return append(list, &more);
}

static Error *read_safetensors(
    const uint8_t *data, size_t size, const char *name, ArrayList *list) {
    (void)name;
    ArrayList OWN_ARRAYS(more) = {0};
    TRY(safetensors_read(data, size, &more));
    return append(list, &more);
}

static Error *read_file(const char *path, const char *name, FileReader *reader, ArrayList *list) {
    uint8_t *data;
    size_t size;
    TRY(file_read(path, INPUT_FILE_SIZE_MAX, &data, &size));
    Error *error = reader(data, size, name, list);
    memory_unmap(data, size);
    return error_wrap(error, "%s", path);
}

/* FILE.npz, FILE.safetensors, NAME=FILE.npy */
static Error *read_option(const char *text, ArrayList *list) {
    const char *equals = strchr(text, '=');
    if (text_ends_with(text, ".npz")) return read_file(text, NULL, read_npz, list);
    if (text_ends_with(text, ".safetensors")) return read_file(text, NULL, read_safetensors, list);
    if (!equals || equals == text)
        FAIL(USAGE, "--input %s: FILE.npz, FILE.safetensors or NAME=FILE.npy is wanted", text);
    char *name;
    TRY(memory_copy_text(text, &name));
    name[equals - text] = 0;
    Error *error = read_file(equals + 1, name, read_npy, list);
    memory_free(name);
    return error;
}

static void release_array(void *owner) {
    NamedArray *array = owner;
    named_array_deinit(array);
    memory_free(array);
}

/* Moves an array's memory into a sealed tensor. */
static Error *to_tensor(NamedArray *inout_array, Value *out) {
    if (inout_array->dtype == DTYPE_STRING) FAIL(UNSUPPORTED, "tensors of strings");
    void *memory;
    TRY(memory_alloc(1, sizeof(NamedArray), &memory));
    NamedArray *array = memory;
    *array = *inout_array;
    *inout_array = (NamedArray){0};
    Storage *storage;
    Error *error = storage_create_foreign(device_host(), SLOT_HOST,
        (uint64_t)(uintptr_t)array->data, array->size, array, release_array, &storage);
    if (error) {
        release_array(array);
        return error;
    }
    storage->sealed = true;
    Tensor *tensor;
    error = tensor_create(storage, 0, array->dtype, &array->shape, &tensor);
    storage_release(storage);
    TRY(error);
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static const Port *find_port(const Function *function, const char *name, uint32_t *out_index) {
    for (uint32_t i = 0; function->parameters && i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0) {
            *out_index = i;
            return &function->parameters[i];
        }
    return NULL;
}

static Error *fail_unknown(const Function *function, const char *name) {
    TextBuilder OWN_TEXT(known) = {0};
    for (uint32_t i = 0; function->parameters && i < function->parameter_count; i++)
        text_appendf(&known, "%s%s", i ? ", " : "", function->parameters[i].name);
    FAIL(INVALID, "function %s has no input %s; it has %s", function->name, name,
        known.size ? text_builder_get(&known) : "none");
}

static Error *match(ArrayList *list, const Function *function, Value *values) {
    for (size_t i = 0; i < list->count; i++) {
        uint32_t index;
        const char *name = list->items[i].name;
        if (!find_port(function, name, &index)) return fail_unknown(function, name);
        if (values[index].tag != VALUE_NIL) FAIL(INVALID, "input %s is given twice", name);
        const char *port = function->parameters[index].name;
        TRY_WRAP(to_tensor(&list->items[i], &values[index]), "input %s", port);
    }
    for (uint32_t i = 0; i < function->parameter_count; i++)
        if (values[i].tag == VALUE_NIL)
            FAIL(INVALID, "input %s of function %s is missing",
                function->parameters ? function->parameters[i].name : "?", function->name);
    return NULL;
}

Error *run_inputs_read(const CommandContext *context, const Executable *executable,
    uint32_t function, Value **out_values, uint32_t *out_count) {
    ArrayList OWN_ARRAYS(list) = {0};
    const Function *of = &executable->functions[function];
    const char *text;
    void *memory;
    for (uint32_t i = 0; (text = command_option_at(context, "input", i)); i++)
        TRY(read_option(text, &list));
    TRY(memory_alloc(of->parameter_count, sizeof(Value), &memory));
    Error *error = match(&list, of, memory);
    if (error) {
        run_inputs_release(memory, of->parameter_count);
        return error;
    }
    *out_values = memory;
    *out_count = of->parameter_count;
    return NULL;
}

void run_inputs_release(Value *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) value_release(&values[i]);
    memory_free(values);
}
