#include "vm/code/executable.h"

#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "vm/code/executable_internal.h"

const char *port_form_name(PortForm form) {
    static const char *const names[] = {[PORT_TENSOR] = "tensor",
        [PORT_LIST] = "list",
        [PORT_OPTIONAL] = "optional",
        [PORT_OPTIONAL_LIST] = "optional list"};
    return names[form];
}

Executable *executable_retain(const Executable *executable) {
    Executable *counted = (Executable *)(uintptr_t)executable; /* immutable except its count */
    refcount_retain(&counted->refcount);
    return counted;
}

void port_deinit(Port *port) {
    memory_free(port->name);
    for (uint32_t i = 0; i < SHAPE_RANK_MAX; i++) memory_free(port->symbols[i]);
    *port = (Port){0};
}

void function_deinit(Function *function) {
    for (uint32_t i = 0; function->parameters && i < function->parameter_count; i++)
        port_deinit(&function->parameters[i]);
    for (uint32_t i = 0; function->results && i < function->result_count; i++)
        port_deinit(&function->results[i]);
    memory_free(function->parameters);
    memory_free(function->results);
    memory_free(function->name);
    memory_free((void *)(uintptr_t)function->instruction_words);
}

void executable_release(Executable *executable) {
    if (!executable || !refcount_release(&executable->refcount)) return;
    for (uint32_t i = 0; i < executable->function_count; i++)
        function_deinit(&executable->functions[i]);
    for (uint32_t i = 0; i < executable->constant_count; i++)
        value_release(&executable->constants[i].value);
    for (uint32_t i = 0; i < executable->primitive_count; i++)
        attributes_release(executable->primitives[i].attributes);
    if (executable->liveness) executable->liveness->release(executable->liveness);
    memory_free(executable->functions);
    memory_free(executable->constants);
    memory_free(executable->primitives);
    memory_free((void *)(uintptr_t)executable->code);
    memory_free(executable->source);
    memory_free(executable);
}

static Error *fail_unknown_function(const Executable *executable, const char *name) {
    TextBuilder OWN_TEXT(known) = {0};
    for (uint32_t i = 0; i < executable->function_count && known.size < 200; i++)
        if (executable->functions[i].flags & FUNCTION_EXPORTED)
            text_appendf(&known, "%s%s", known.size ? ", " : "", executable->functions[i].name);
    FAIL(NOT_FOUND, "no function %s; there is %s", name,
        known.size ? text_builder_get(&known) : "none that can be called");
}

Error *executable_find_function(
    const Executable *executable, const char *name, uint32_t *out_index) {
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        if ((function->flags & FUNCTION_EXPORTED) && strcmp(function->name, name) == 0) {
            *out_index = i;
            return NULL;
        }
    }
    return fail_unknown_function(executable, name);
}

static bool has_input(const Function *function, const char *name) {
    for (uint32_t i = 0; function->parameters && i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0) return true;
    return false;
}

/* Whether `name` is the name of `of` with the suffix of functions that take all inputs. */
static bool is_given_form(const char *name, const char *of) {
    const size_t length = strlen(of);
    return strncmp(name, of, length) == 0 && strcmp(name + length, "_given") == 0;
}

uint32_t executable_choose_function(
    const Executable *executable, uint32_t function, const char *input) {
    const Function *asked = &executable->functions[function];
    if (has_input(asked, input)) return function;
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *other = &executable->functions[i];
        if ((other->flags & FUNCTION_EXPORTED) && is_given_form(other->name, asked->name) &&
            has_input(other, input))
            return i;
    }
    return function;
}

Error *executable_check_device(const Executable *executable, const Device *device) {
    if (!executable->device_strings || device->class_->host_memory) return NULL;
    FAIL(UNSUPPORTED, "%s cannot run this model: it has strings in slot 1; only cpu runs it",
        device->name);
}

uint64_t executable_constant_bytes(const Executable *executable) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < executable->constant_count; i++)
        if (value_is(&executable->constants[i].value, OBJECT_TENSOR))
            bytes += tensor_bytes(executable->constants[i].value.tensor);
    return bytes;
}

Error *executable_get_native_digest(const Executable *executable, Digest *out) {
    *out = executable->native_digest;
    if (executable->native_digest_stored) return NULL;
    const Tensor *library = executable->constants[executable->native_library].value.tensor;
    return digest_sha256(tensor_data(library), tensor_bytes(library), out);
}
