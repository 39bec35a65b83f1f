#include "kernels/native/native_runtime.h"

#include <dlfcn.h>
#include <string.h>

#include "base/text.h"

enum { MESSAGE_MAX = 4000 };

typedef void SetRaised(const char *kind, const char *message);
typedef void TakeRaised(void **out);
typedef int GetGlobal(const AbiBytes *name, void **out);
typedef int CallFunction(
    void *function, const AbiAny *arguments, int32_t count, AbiAny *out_result);
typedef int MakeTensor(DLManagedTensor *from, int32_t alignment, int32_t compact, void **out);
typedef int ReleaseObject(void *object);
typedef const AbiTypeInfo *GetTypeInfo(int32_t type);

NativeAnyFunction *native_runtime_symbol(void *handle, const char *symbol) {
    NativeAnyFunction *function = NULL;
    void *found = dlsym(handle ? handle : RTLD_DEFAULT, symbol);
    memcpy(&function, &found, sizeof found); /* ISO C has no conversion of an object's address */
    return function;
}

static Error *need(const char *symbol, NativeAnyFunction **out) {
    *out = native_runtime_symbol(NULL, symbol);
    if (!*out)
        FAIL(UNSUPPORTED, "needs %s of TVM's libtvm_ffi.so, which is not loaded (--native-preload)",
            symbol);
    return NULL;
}

/* ---- errors and objects ---- */

void native_runtime_release(AbiObject *object) {
    ReleaseObject *release = (ReleaseObject *)native_runtime_symbol(NULL, "TVMFFIObjectDecRef");
    if (object && release) (void)release(object);
}

void native_runtime_release_any(AbiAny *any) {
    if (any->type >= ABI_OBJECT) native_runtime_release(any->object);
    *any = (AbiAny){0};
}

static AbiObject *take_raised(void) {
    void *object = NULL;
    TakeRaised *take = (TakeRaised *)native_runtime_symbol(NULL, "TVMFFIErrorMoveFromRaised");
    if (take) take(&object);
    return object;
}

Error *native_runtime_raised(int code) {
    AbiObject *object = take_raised();
    if (!object) FAIL(FAILED, "returned the error number %d", code);
    const AbiErrorObject *raised = (const AbiErrorObject *)object;
    size_t size = raised->message.size < MESSAGE_MAX ? raised->message.size : MESSAGE_MAX;
    size_t kind = raised->kind.size < MESSAGE_MAX ? raised->kind.size : MESSAGE_MAX;
    Error *error = error_make(ERROR_FAILED, __FILE__, __LINE__, "%.*s: %.*s", (int)kind,
        raised->kind.data, (int)size, raised->message.data);
    native_runtime_release(object);
    return error;
}

int native_runtime_raise(const char *message) {
    SetRaised *set = (SetRaised *)native_runtime_symbol(NULL, "TVMFFIErrorSetRaisedFromCStr");
    if (set) set("ValueError", message);
    return -1;
}

void native_runtime_append_type(int32_t type, TextBuilder *text) {
    GetTypeInfo *get = (GetTypeInfo *)native_runtime_symbol(NULL, "TVMFFIGetTypeInfo");
    const AbiTypeInfo *info = get && type >= ABI_OBJECT ? get(type) : NULL;
    if (info)
        text_append_bytes(text, info->name.data, info->name.size);
    else
        text_appendf(text, "type %d", type);
}

/* ---- calls ---- */

Error *native_runtime_find(const char *name, AbiObject **out_function) {
    NativeAnyFunction *found;
    const AbiBytes bytes = {name, strlen(name)};
    void *object = NULL;
    TRY(need("TVMFFIFunctionGetGlobal", &found));
    int code = ((GetGlobal *)found)(&bytes, &object);
    if (code) return native_runtime_raised(code);
    if (!object)
        FAIL(UNSUPPORTED,
            "needs the function %s, which no loaded library has registered (TVM's "
            "libtvm_runtime.so has it: --native-preload)",
            name);
    *out_function = object;
    return NULL;
}

Error *native_runtime_call(
    AbiObject *function, const AbiAny *arguments, uint32_t count, AbiAny *out_result) {
    NativeAnyFunction *found;
    AbiAny result = {0};
    TRY(need("TVMFFIFunctionCall", &found));
    int code = ((CallFunction *)found)(function, arguments, (int32_t)count, &result);
    if (code) return native_runtime_raised(code);
    *out_result = result;
    return NULL;
}

Error *native_runtime_call_global(
    const char *name, const AbiAny *arguments, uint32_t count, AbiAny *out_result) {
    AbiObject *function;
    TRY(native_runtime_find(name, &function));
    Error *error = native_runtime_call(function, arguments, count, out_result);
    native_runtime_release(function);
    return error;
}

Error *native_runtime_make_tensor(DLManagedTensor *tensor, AbiObject **out) {
    NativeAnyFunction *found;
    void *object = NULL;
    TRY(need("TVMFFITensorFromDLPack", &found));
    int code = ((MakeTensor *)found)(tensor, 0, 0, &object);
    if (code) return native_runtime_raised(code);
    *out = object;
    return NULL;
}
