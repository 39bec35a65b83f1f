#include "serialize/relax/relax_translate.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/allocator.h"
#include "serialize/relax/relax_translate_internal.h"

/* The builtins that are instructions here. */
static const struct {
    const char *name;
    RelaxCallee callee;
} instruction_builtins[] = {
    {"vm.builtin.invoke_closure", RELAX_CALLEE_INVOKE_CLOSURE},
    {"vm.builtin.make_closure", RELAX_CALLEE_MAKE_CLOSURE},
    {"vm.builtin.tuple_reset_item", RELAX_CALLEE_RESET_ITEM},
};

/* A native function is called through bytecode of its own. */
static bool has_code(const RelaxGlobal *function) { return function->kind != RELAX_PACKED; }

static RelaxCallee find_callee(const RelaxGlobal *function) {
    if (has_code(function)) return RELAX_CALLEE_BYTECODE;
    for (size_t i = 0; i < sizeof instruction_builtins / sizeof *instruction_builtins; i++) {
        const char *name = instruction_builtins[i].name;
        if (function->kind == RELAX_PACKED && function->name.size == strlen(name) &&
            memcmp(function->name.data, name, function->name.size) == 0)
            return instruction_builtins[i].callee;
    }
    return RELAX_CALLEE_PACKED;
}

static Error *add_function(RelaxTranslation *self, uint64_t index) {
    char name[FUNCTION_NAME_MAX];
    const RelaxGlobal *function = &self->file->functions[index];
    const bool code = has_code(function);
    uint32_t number;
    (void)snprintf(name, sizeof name, "%.*s", (int)function->name.size, function->name.data);
    if (code && function->argument_count >= INSTRUCTION_OPERANDS_MAX)
        FAIL(UNSUPPORTED, "function %s: %" PRIi64 " parameters; there may be %d", name,
            function->argument_count, INSTRUCTION_OPERANDS_MAX - 1);
    self->callees[index] = find_callee(function);
    return executable_builder_add_function(self->builder, name,
        code ? FUNCTION_BYTECODE : FUNCTION_PACKED, code ? FUNCTION_NULLS | FUNCTION_EXPORTED : 0,
        code ? (uint32_t)function->argument_count : 0, &number);
}

/* Native functions are found under a prefix of their own; they stand behind the file's functions.
 */
static Error *add_natives(RelaxTranslation *self) {
    char name[FUNCTION_NAME_MAX + sizeof RELAX_NATIVE_PREFIX];
    for (uint64_t i = 0; i < self->file->function_count; i++) {
        const RelaxGlobal *function = &self->file->functions[i];
        if (function->kind != RELAX_NATIVE) continue;
        (void)snprintf(name, sizeof name, RELAX_NATIVE_PREFIX "%.*s", (int)function->name.size,
            function->name.data);
        TRY(executable_builder_add_function(
            self->builder, name, FUNCTION_PACKED, 0, 0, &self->natives[i]));
    }
    return NULL;
}

static void release_ports(Port *ports, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) memory_free(ports[i].name);
    memory_free(ports);
}

static Error *name_port(const RelaxGlobal *function, uint32_t i, bool numbered, Port *port) {
    TextBuilder OWN_TEXT(name) = {0};
    *port = (Port){.dtype = DTYPE_NONE, .slot = 1};
    if (numbered || i >= function->parameter_name_count)
        text_appendf(&name, "%u", i);
    else
        text_append_bytes(
            &name, function->parameter_names[i].data, function->parameter_names[i].size);
    return text_builder_take(&name, &port->name);
}

static Error *set_ports(RelaxTranslation *self, uint32_t index, bool numbered) {
    const RelaxGlobal *function = &self->file->functions[index];
    const uint32_t count = (uint32_t)function->argument_count;
    void *memory;
    TRY(memory_alloc(count, sizeof(Port), &memory));
    Port *ports = memory;
    Error *error = NULL;
    for (uint32_t i = 0; !error && i < count; i++)
        error = name_port(function, i, numbered, &ports[i]);
    if (!error) error = executable_builder_set_parameters(self->builder, index, ports, count);
    release_ports(ports, count);
    return error;
}

/* Parameters that have no names, or names that are the same, are named by their numbers. */
static Error *add_ports(RelaxTranslation *self, uint32_t index) {
    const RelaxGlobal *function = &self->file->functions[index];
    if (!has_code(function) || function->argument_count == 0) return NULL;
    Error *error = set_ports(self, index, function->parameter_name_count == 0);
    if (error_code(error) != ERROR_INVALID && error_code(error) != ERROR_CORRUPT) return error;
    error_free(error); /* the names cannot be ports' names */
    return set_ports(self, index, true);
}

static bool has_natives(const RelaxFile *file) {
    for (uint64_t i = 0; i < file->function_count; i++)
        if (file->functions[i].kind == RELAX_NATIVE) return true;
    return false;
}

static Error *add_library(RelaxTranslation *self) {
    const RelaxLibrary *library = self->library;
    const int64_t size = (int64_t)library->size;
    const Shape shape = shape_make(1, &size);
    OWN(Tensor, tensor) = NULL;
    uint32_t index;
    TRY(tensor_create_on_host(device_host(), DTYPE_UINT8, &shape, &tensor));
    uint8_t *bytes = tensor_data(tensor); /* zeros, which take no memory until they are read */
    const size_t file_end = library->file_begin + library->file_size;
    memcpy(bytes, library->bytes, library->file_begin);
    if (has_natives(self->file))
        memcpy(
            bytes + library->file_begin, library->bytes + library->file_begin, library->file_size);
    memcpy(bytes + file_end, library->bytes + file_end, library->size - file_end);
    TRY(executable_builder_add_constant(
        self->builder, value_object(OBJECT_TENSOR, TAKE(tensor)), 0, &index));
    return executable_builder_set_native_library(self->builder, index, NULL);
}

static Error *translate_all(RelaxTranslation *self, Executable **out) {
    const RelaxFile *file = self->file;
    ByteWriter OWN_BYTES(outline) = {0};
    void *memory;
    TRY(memory_alloc(file->function_count, sizeof *self->callees, &memory));
    self->callees = memory;
    TRY(memory_alloc(file->function_count, sizeof *self->natives, &memory));
    self->natives = memory;
    TRY(executable_builder_create(&self->builder));
    for (uint64_t i = 0; i < file->function_count; i++) {
        TRY(add_function(self, i));
        TRY(add_ports(self, (uint32_t)i));
    }
    TRY(add_natives(self));
    TRY(relax_translate_constants(self));
    for (uint64_t i = 0; i < file->function_count; i++)
        if (has_code(&file->functions[i]))
            TRY_WRAP(relax_translate_function(self, (uint32_t)i), "function %.*s",
                (int)file->functions[i].name.size, file->functions[i].name.data);
    if (self->library) TRY_WRAP(add_library(self), "the library");
    TRY(relax_file_write(file, true, &outline));
    TRY(executable_builder_set_source(self->builder, outline.data, outline.size));
    return executable_builder_finish(self->builder, out);
}

Error *relax_translate(const RelaxFile *file, const RelaxLibrary *library, Executable **out) {
    RelaxTranslation self = {.file = file, .library = library, .vm_constant = UINT32_MAX};
    Error *error = translate_all(&self, out);
    executable_builder_release(self.builder);
    memory_free(self.callees);
    memory_free(self.natives);
    memory_free(self.places);
    return error;
}

Error *relax_translate_outline(const Executable *executable, RelaxFile **out) {
    if (!executable->source) FAIL(CONFLICT, "the executable was not made from a Relax executable");
    return relax_file_read(executable->source, executable->source_size, true, out);
}

/* Puts the data of the executable's constants back into the outline. */
static Error *fill_tensors(const Executable *executable, RelaxFile *file) {
    for (uint64_t i = 0; i < file->constant_count; i++) {
        RelaxTensor *tensor = &file->constants[i].tensor;
        if (file->constants[i].kind != RELAX_TENSOR) continue;
        const Value *value =
            i < executable->constant_count ? &executable->constants[i].value : NULL;
        if (!value || !value_is(value, OBJECT_TENSOR) ||
            tensor_bytes(value->tensor) != tensor->size)
            FAIL(CORRUPT, "constant %" PRIu64 " is not the one of the Relax executable", i);
        tensor->data = tensor_data(value->tensor);
    }
    return NULL;
}

Error *relax_translate_back(const Executable *executable, ByteWriter *writer) {
    OWN(RelaxFile, file) = NULL;
    if (executable->outline) FAIL(INVALID, "an outline's constants cannot be written");
    TRY(relax_translate_outline(executable, &file));
    TRY(fill_tensors(executable, file));
    return relax_file_write(file, false, writer);
}
