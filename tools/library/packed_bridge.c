#include "tools/library/packed_bridge.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/tensor_dlpack.h"

enum { BRIDGE_ARGUMENTS_MAX = 64, BRIDGE_MESSAGE_SIZE = 256 };

typedef struct Bridge {
    LayoverPackedFunction *function;
    void *context;
    void (*release)(void *context);
} Bridge;

static void bridge_release(void *context) {
    Bridge *bridge = context;
    if (bridge->release) bridge->release(bridge->context);
    memory_free(bridge);
}

static bool is_constant(const Tensor *tensor) {
    return tensor->storage->constant_index != STORAGE_NOT_CONSTANT;
}

static bool in_host_memory(const Tensor *tensor) {
    return tensor->storage->device->class_->host_memory;
}

static Error *copy_to_host(const Tensor *tensor, Tensor **out) {
    OWN(Tensor, copy) = NULL;
    TRY(tensor_create_on_host(device_host(), tensor->dtype, &tensor->shape, &copy));
    TRY(tensor_copy_to_host(tensor, tensor_data(copy)));
    *out = TAKE(copy);
    return NULL;
}

Error *packed_bridge_export(Tensor *tensor, DLManagedTensor **out) {
    OWN(Tensor, copy) = NULL;
    if (!is_constant(tensor) && in_host_memory(tensor)) return tensor_dlpack_export(tensor, out);
    TRY(copy_to_host(tensor, &copy));
    return tensor_dlpack_export(copy, out);
}

Error *packed_bridge_settle(Tensor *tensor, const DLManagedTensor *given, uint32_t index) {
    OWN(Tensor, copy) = NULL;
    const void *bytes = tensor->dtype == DTYPE_STRING ? NULL : given->dl_tensor.data;
    if (!bytes || tensor_bytes(tensor) == 0) return NULL;
    if (!is_constant(tensor)) {
        if (in_host_memory(tensor) || !tensor->storage->opaque) return NULL;
        return tensor_copy_from_host(tensor, bytes);
    }
    if (!in_host_memory(tensor)) TRY(copy_to_host(tensor, &copy));
    if (memcmp(bytes, tensor_data(copy ? copy : tensor), tensor_bytes(tensor)) != 0)
        FAIL(INVALID,
            "argument %u is a constant of the model, to which the function has written; the "
            "constant is unchanged",
            index);
    return NULL;
}

bool packed_bridge_give_scalar(const Value *value, LayoverValue *out) {
    switch ((ValueTag)value->tag) {
    case VALUE_NIL:
        *out = (LayoverValue){LAYOVER_NIL, {0}};
        return true;
    case VALUE_BOOL:
        *out = (LayoverValue){LAYOVER_BOOL, {.integer = value->boolean}};
        return true;
    case VALUE_INT:
        *out = (LayoverValue){LAYOVER_INT, {.integer = value->integer}};
        return true;
    case VALUE_FLOAT:
        *out = (LayoverValue){LAYOVER_FLOAT, {.real = value->real}};
        return true;
    case VALUE_DTYPE:
    case VALUE_OBJECT:
        return false;
    }
    return false;
}

bool packed_bridge_take_scalar(const LayoverValue *value, Value *out) {
    bool scalar = true;
    if (value->kind == LAYOVER_NIL)
        *out = value_nil();
    else if (value->kind == LAYOVER_BOOL)
        *out = value_bool(value->integer != 0);
    else if (value->kind == LAYOVER_INT)
        *out = value_int(value->integer);
    else if (value->kind == LAYOVER_FLOAT)
        *out = value_float(value->real);
    else
        scalar = false;
    return scalar;
}

static Error *to_public(const Value *value, uint32_t index, LayoverValue *out) {
    *out = (LayoverValue){LAYOVER_NIL, {0}};
    if (packed_bridge_give_scalar(value, out)) return NULL;
    if (!value_is(value, OBJECT_TENSOR))
        FAIL(INVALID, "argument %u is no scalar and no tensor", index);
    out->kind = LAYOVER_TENSOR;
    return packed_bridge_export(value->tensor, &out->tensor);
}

/* Values of other kinds are for the functions of modules (library_function.c). */
static Error *from_public(LayoverValue *owned, Value *out) {
    Tensor *tensor;
    if (packed_bridge_take_scalar(owned, out)) return NULL;
    if (owned->kind != LAYOVER_TENSOR)
        FAIL(INVALID, "the function answered a value of kind %d", (int)owned->kind);
    TRY(tensor_dlpack_import(device_host(), owned->tensor, &tensor));
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static Error *call_public(
    const Bridge *bridge, const LayoverValue *arguments, uint32_t count, Value *out_result) {
    LayoverValue result = {LAYOVER_NIL, {0}};
    const char *message = bridge->function(bridge->context, arguments, count, &result);
    if (message) FAIL(FAILED, "%s", message);
    return from_public(&result, out_result);
}

static Error *bridge_call(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)call;
    LayoverValue converted[BRIDGE_ARGUMENTS_MAX];
    if (count > BRIDGE_ARGUMENTS_MAX)
        FAIL(INVALID, "%u arguments; at most %d", count, BRIDGE_ARGUMENTS_MAX);
    Error *error = NULL;
    uint32_t made = 0;
    for (; made < count && !error; made++)
        error = to_public(&arguments[made], made, &converted[made]);
    if (!error)
        error = call_public(context, converted, count, out_result);
    else
        made--;
    for (uint32_t i = 0; i < made && !error; i++)
        if (converted[i].kind == LAYOVER_TENSOR)
            error = packed_bridge_settle(arguments[i].tensor, converted[i].tensor, i);
    if (error) value_release(out_result);
    for (uint32_t i = 0; i < made; i++)
        if (converted[i].kind == LAYOVER_TENSOR) converted[i].tensor->deleter(converted[i].tensor);
    return error;
}

Error *packed_bridge_add(PackedRegistry *registry, const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context)) {
    void *memory;
    if (!name || !function) FAIL(INVALID, "a packed function without a name or a function");
    TRY(memory_alloc(1, sizeof(Bridge), &memory));
    Bridge *bridge = memory;
    *bridge = (Bridge){function, context, release};
    Error *error = packed_registry_add(registry, name, arity, bridge_call, bridge, bridge_release);
    if (error) memory_free(bridge); /* the context stays the caller's */
    return error;
}

/* The library's view: a text or NULL. */
static const char *add_for_library(void *registry, const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context)) {
    static _Thread_local char message[BRIDGE_MESSAGE_SIZE];
    Error *error = packed_bridge_add(registry, name, arity, function, context, release);
    if (!error) return NULL;
    (void)snprintf(message, sizeof message, "%s", error_message(error));
    error_free(error); /* its text was returned */
    return message;
}

Error *packed_bridge_load(PackedRegistry *registry, const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) FAIL(NOT_FOUND, "--packed %s: %s", path, dlerror());
    LayoverPackedLibrary *entry;
    void *symbol = dlsym(library, "layover_packed_library");
    if (!symbol) {
        (void)dlclose(library);
        FAIL(INVALID, "--packed %s: it exports no layover_packed_library", path);
    }
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function pointers */
    LayoverPackedApi api = {LAYOVER_PACKED_ABI, registry, add_for_library};
    const char *message = entry(&api);
    if (message) FAIL(INVALID, "--packed %s: %s", path, message);
    return NULL;
}
