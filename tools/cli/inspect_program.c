#include "tools/cli/inspect_program.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "kernels/tensor/dtype.h"
#include "scheduler/http/client/json_fields.h"
#include "serialize/relax/relax_library.h"
#include "serialize/relay/relay_file.h"
#include "tools/client/model_access.h"
#include "tools/relax/model_relax.h"

static const char *const relax_versions[RELAX_GENERATION_COUNT] = {
    "0.16 to 0.20", "0.21", "0.22", "0.23 to 0.27"};
static const char *const relax_function_kinds[] = {"packed", "bytecode", "native"};
static const char *const relax_constant_kinds[RELAX_CONSTANT_KIND_COUNT] = {
    "tensor", "shape", "string", "int", "float", "dtype"};

static void put_text(json_object *object, const char *key, const char *data, size_t size) {
    json_object_object_add(object, key, json_object_new_string_len(data, (int)size));
}

static json_object *relax_function_json(const RelaxGlobal *function) {
    json_object *object = json_object_new_object();
    put_text(object, "name", function->name.data, function->name.size);
    json_fields_text(object, "kind", relax_function_kinds[function->kind]);
    if (function->kind == RELAX_PACKED) return object;
    json_object *names = json_object_new_array();
    for (uint64_t i = 0; i < function->parameter_name_count; i++)
        json_object_array_add(names, json_object_new_string_len(function->parameter_names[i].data,
                                         (int)function->parameter_names[i].size));
    json_fields_int(object, "parameters", function->argument_count);
    json_object_object_add(object, "parameter_names", names);
    json_fields_int(object, "registers", function->register_count);
    json_fields_int(object, "instructions", function->end - function->start);
    return object;
}

static json_object *relax_constant_json(const RelaxConstant *constant) {
    json_object *object = json_object_new_object();
    json_fields_text(object, "kind", relax_constant_kinds[constant->kind]);
    if (constant->kind != RELAX_TENSOR) return object;
    const RelaxTensor *tensor = &constant->tensor;
    json_object *shape = json_object_new_array();
    for (uint32_t i = 0; i < tensor->rank; i++)
        json_object_array_add(shape, json_object_new_int64(relax_word(tensor->shape, i)));
    json_fields_text(object, "dtype",
        dtype_name(dtype_from_dlpack(tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes)));
    json_object_object_add(object, "shape", shape);
    json_fields_int(object, "bytes", (int64_t)tensor->size);
    return object;
}

static Error *print_relax_json(const RelaxFile *file) {
    json_object *object, *functions = json_object_new_array(), *constants = json_object_new_array();
    TRY(json_fields_create(&object));
    for (uint64_t i = 0; i < file->function_count; i++)
        json_object_array_add(functions, relax_function_json(&file->functions[i]));
    for (uint64_t i = 0; i < file->constant_count; i++)
        json_object_array_add(constants, relax_constant_json(&file->constants[i]));
    json_fields_text(object, "format", "relax");
    json_fields_text(object, "tvm", relax_versions[file->generation]);
    json_object_object_add(object, "functions", functions);
    json_object_object_add(object, "constants", constants);
    return command_print_json(object);
}

static Error *print_relax(const CommandContext *context, const RelaxFile *file) {
    uint64_t bytes = 0;
    if (context->json) return print_relax_json(file);
    for (uint64_t i = 0; i < file->constant_count; i++)
        if (file->constants[i].kind == RELAX_TENSOR) bytes += file->constants[i].tensor.size;
    printf("Relax executable, as TVM %s writes it: %" PRIu64 " instructions, %" PRIu64
           " constants, %" PRIu64 " bytes of tensors\n",
        relax_versions[file->generation], file->instruction_count, file->constant_count, bytes);
    for (uint64_t i = 0; i < file->function_count; i++) {
        const RelaxGlobal *function = &file->functions[i];
        printf("%s %.*s", relax_function_kinds[function->kind], (int)function->name.size,
            function->name.data);
        if (function->kind != RELAX_PACKED)
            printf(": %" PRIi64 " parameters, %" PRIi64 " registers, %" PRIi64 " instructions",
                function->argument_count, function->register_count,
                function->end - function->start);
        printf("\n");
    }
    return NULL;
}

static Error *print_relay_json(const RelayFile *file, const TextBuilder *code) {
    json_object *object, *primitives = json_object_new_array(), *functions;
    TRY(json_fields_create(&object));
    functions = json_object_new_array();
    for (uint64_t i = 0; i < file->function_count; i++) {
        const RelayFunction *function = &file->functions[i];
        json_object *item = json_object_new_object();
        put_text(item, "name", function->name.data, function->name.size);
        json_fields_int(item, "parameters", (int64_t)function->parameters.count);
        json_fields_int(item, "registers", (int64_t)function->register_count);
        json_fields_int(item, "instructions", (int64_t)function->instruction_count);
        json_object_array_add(functions, item);
    }
    for (uint64_t i = 0; i < file->primitives.count; i++)
        json_object_array_add(primitives, json_object_new_string_len(file->primitives.items[i].data,
                                              (int)file->primitives.items[i].size));
    json_fields_text(object, "format", "relay");
    put_text(object, "tvm", file->version.data, file->version.size);
    json_object_object_add(object, "functions", functions);
    json_object_object_add(object, "packed_functions", primitives);
    json_fields_int(object, "constants", (int64_t)file->constant_count);
    json_fields_text(object, "code", text_builder_get(code));
    return command_print_json(object);
}

static Error *print_relay(const CommandContext *context, const RelayFile *file) {
    TextBuilder OWN_TEXT(code) = {0};
    TRY(relay_text_print(file, &code));
    if (context->json) return print_relay_json(file, &code);
    printf("Relay executable of TVM %.*s: %" PRIu64 " functions, %" PRIu64 " constants, %" PRIu64
           " packed functions; hashes are right. It cannot be run\n\n%s",
        (int)file->version.size, file->version.data, file->function_count, file->constant_count,
        file->primitives.count, text_builder_get(&code));
    return NULL;
}

static Error *inspect_relay(const CommandContext *context, const char *path) {
    OWN(MappedFile, file) = NULL;
    OWN(RelayFile, relay) = NULL;
    TRY(file_map(path, MODEL_FILE_SIZE_MAX, &file));
    TRY_WRAP(relay_file_read(mapped_file_data(file), (size_t)mapped_file_size(file), &relay), "%s",
        path);
    return print_relay(context, relay);
}

Error *inspect_program(const CommandContext *context, const char *path, bool *out_done) {
    uint8_t head[32];
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t got = descriptor < 0 ? 0 : read(descriptor, head, sizeof head);
    const size_t size = got > 0 ? (size_t)got : 0;
    if (descriptor >= 0) (void)close(descriptor);
    *out_done = true;
    if (relay_file_probe(head, size)) return inspect_relay(context, path);
    if (relax_file_probe(head, size) || relax_library_probe(head, size)) {
        OWN(MappedFile, file) = NULL;
        OWN(RelaxFile, relax) = NULL;
        TRY(model_relax_open(path, &file, &relax));
        return print_relax(context, relax);
    }
    *out_done = false;
    return NULL;
}
