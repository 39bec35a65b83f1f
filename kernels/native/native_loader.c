#include "kernels/native/native_loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/text.h"
#include "kernels/native/native_runtime.h"

enum { PATH_MAX_BYTES = 4096, MESSAGE_MAX = 4000 };

#define FFI_HINT " (TVM's libtvm_ffi.so has it: --native-preload)"
#define RUNTIME_HINT                                                                               \
    " (libtvm_runtime.so of the TVM that made the library has it: --native-preload, behind "       \
    "libtvm_ffi.so; a model built with exec_mode=\"bytecode\" does not need it)"

struct NativeLoaded {
    void *handle;
    bool older;     /* TVM up to 0.20 made the library */
    int descriptor; /* the library's bytes as a file */
    char path[64];  /* of the descriptor */
};

/* The function that a library made by TVM exports under a name; NULL: none. */
static NativeAnyFunction *find_exported(const NativeLoaded *loaded, const char *name) {
    TextBuilder OWN_TEXT(symbol) = {0};
    text_appendf(&symbol, "__tvm_ffi_%s", name);
    return symbol.failed ? NULL : native_runtime_symbol(loaded->handle, text_builder_get(&symbol));
}

/* ---- the runtime's functions ---- */

/* Workspaces start as zeros, so that what a function reads there never depends on calls before. */
static void *alloc_workspace(
    int device_type, int device, uint64_t size, int dtype_code, int dtype_bits) {
    void *memory = NULL;
    (void)device_type, (void)device, (void)dtype_code, (void)dtype_bits;
    error_free(memory_alloc_lines(1, size, &memory));
    return memory;
}

static int free_workspace(int device_type, int device, void *memory) {
    (void)device_type, (void)device;
    memory_free(memory);
    return 0;
}

static int launch_parallel(AbiTask *task, void *context, int task_count) {
    AbiGroup group = {.task_count = 1};
    (void)task_count;
    return task(0, &group, context);
}

static int wait_for_group(int task, AbiGroup *group) {
    (void)task, (void)group;
    return 0;
}

/* The same of a library of TVM up to 0.20. */
static NativeAnyFunction *find_older(const NativeLoaded *loaded, const char *name) {
    return loaded->older ? native_runtime_symbol(loaded->handle, name) : NULL;
}

typedef int CreateFunction(
    void *self, NativeAnyFunction *function, void (*deleter)(void *), void **out);
typedef int GetGlobal(const AbiBytes *name, void **out);

/* Raises an error of the function `name`, as compiled code does; returns what it returns then. */
static int raise(const char *name, const char *why) {
    char text[MESSAGE_MAX];
    (void)snprintf(text, sizeof text, "%s, which the code calls, %s", name, why);
    return native_runtime_raise(text);
}

/* Functions of TVM that keep something for the whole process. Calls of several executions share a
 * worker, and an execution moves to another one, so code must not use them. */
static const char *const process_wide[] = {"vm.builtin.tensor_cache.", "vm.builtin.param_",
    "vm.builtin.register_py_func", "vm.builtin.get_py_func", "vm.builtin.clear_py_func_registry",
    "vm.builtin.call_py_func"};

static bool is_process_wide(const char *name) {
    for (size_t i = 0; i < sizeof process_wide / sizeof process_wide[0]; i++)
        if (text_starts_with(name, process_wide[i])) return true;
    return false;
}

/* Finds a function that compiled code calls by name: of the library, which TVM's code gives as the
 * context, else a global one, which libraries that were loaded before have registered. */
static int look_up(void *context, const char *name, void **out) {
    const AbiBytes bytes = {name, strlen(name)};
    CreateFunction *create = (CreateFunction *)native_runtime_symbol(NULL, "TVMFFIFunctionCreate");
    GetGlobal *get_global = (GetGlobal *)native_runtime_symbol(NULL, "TVMFFIFunctionGetGlobal");
    NativeAnyFunction *own = find_exported(context, name);
    *out = NULL;
    if (is_process_wide(name))
        return raise(name,
            "keeps values outside the execution: build the model with exec_mode=\"bytecode\"");
    if (!create || !get_global) return raise(name, "needs libtvm_ffi.so (--native-preload)");
    if (own) return create(NULL, own, NULL, out);
    int code = get_global(&bytes, out);
    if (code || *out) return code;
    return raise(name,
        "is registered by no loaded library (--native-preload libtvm_runtime_extra.so may help)");
}

/* The same for a library of TVM up to 0.20, whose functions call each other alone. */
static int look_up_older(void *context, const char *name, void **out) {
    char text[MESSAGE_MAX];
    NativeAnyFunction *own = find_older(context, name);
    memcpy(out, &own, sizeof own); /* native_older_call_found gets it back */
    if (own) return 0;
    (void)snprintf(
        text, sizeof text, "%s, which the code calls, is no function of the library", name);
    native_older_set_error(text);
    return -1;
}

typedef struct RuntimeFunction {
    const char *pointer; /* the variable in the library */
    const char *name;
    NativeAnyFunction *own; /* NULL: a loaded library must bring it */
} RuntimeFunction;

static const RuntimeFunction runtime_functions[] = {
    {"__TVMBackendAllocWorkspace", "TVMBackendAllocWorkspace",
        (NativeAnyFunction *)alloc_workspace},
    {"__TVMBackendFreeWorkspace", "TVMBackendFreeWorkspace", (NativeAnyFunction *)free_workspace},
    {"__TVMBackendParallelLaunch", "TVMBackendParallelLaunch",
        (NativeAnyFunction *)launch_parallel},
    {"__TVMBackendParallelBarrier", "TVMBackendParallelBarrier",
        (NativeAnyFunction *)wait_for_group},
    {"__TVMAPISetLastError", "TVMAPISetLastError", (NativeAnyFunction *)native_older_set_error},
    {"__TVMBackendGetFuncFromEnv", "TVMBackendGetFuncFromEnv", (NativeAnyFunction *)look_up_older},
    {"__TVMFuncCall", "TVMFuncCall", (NativeAnyFunction *)native_older_call_found},
    {"__TVMFFIFunctionCall", "TVMFFIFunctionCall", NULL},
    {"__TVMFFIErrorSetRaisedFromCStr", "TVMFFIErrorSetRaisedFromCStr", NULL},
    {"__TVMFFIErrorSetRaisedFromCStrParts", "TVMFFIErrorSetRaisedFromCStrParts", NULL},
    {"__TVMFFIEnvModLookupFromImports", "TVMFFIEnvModLookupFromImports",
        (NativeAnyFunction *)look_up},
    {"__TVMFFIHandleInitOnce", "TVMFFIHandleInitOnce", NULL},
    {"__TVMFFIHandleDeinitOnce", "TVMFFIHandleDeinitOnce", NULL},
};

Error *native_loader_fill(NativeLoaded *loaded) {
    for (size_t i = 0; i < sizeof runtime_functions / sizeof runtime_functions[0]; i++) {
        const RuntimeFunction *function = &runtime_functions[i];
        NativeAnyFunction **pointer = dlsym(loaded->handle, function->pointer);
        if (!pointer) continue;
        *pointer = function->own ? function->own : native_runtime_symbol(NULL, function->name);
        if (!*pointer)
            FAIL(UNSUPPORTED, "it needs the function %s, which no loaded library has" FFI_HINT,
                function->name);
    }
    /* they come back as the contexts of look_up and look_up_older */
    NativeLoaded **context = dlsym(loaded->handle, "__tvm_ffi__library_ctx");
    NativeLoaded **older = dlsym(loaded->handle, "__tvm_module_ctx");
    if (context) *context = loaded;
    if (older) *older = loaded;
    loaded->older = older != NULL;
    return NULL;
}

/* ---- loading ---- */

static const char *reason(void) {
    const char *text = dlerror();
    return text ? text : "the system does not say why";
}

static Error *preload_one(const char *path) {
    if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL))
        FAIL(UNSUPPORTED, "\"%s\" cannot be loaded: %s", path, reason());
    return NULL;
}

static Error *preload_all(const char *paths) {
    while (*paths) {
        char path[PATH_MAX_BYTES];
        size_t size = strcspn(paths, ":");
        if (size >= sizeof path) FAIL(UNSUPPORTED, "a path of %zu bytes", size);
        memcpy(path, paths, size);
        path[size] = 0;
        if (size) TRY(preload_one(path));
        paths += size + (paths[size] == ':');
    }
    return NULL;
}

static bool is_zero(const uint8_t *bytes, uint64_t size) {
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* The dynamic loader takes a file only; this one has no name and needs no place on a disk. Parts of
 * zeros, as many as the constants were that the library held, stay holes. */
static Error *write_file(int descriptor, const uint8_t *bytes, uint64_t size) {
    enum { PART = 64 << 10 };
    if (descriptor < 0 || ftruncate(descriptor, (off_t)size) != 0)
        FAIL(IO, "no memory for a library: %s", strerror(errno));
    for (uint64_t at = 0; at < size;) {
        const uint64_t end = (at / PART + 1) * PART < size ? (at / PART + 1) * PART : size;
        const bool hole = is_zero(bytes + at, end - at);
        const ssize_t written =
            hole ? (ssize_t)(end - at) : pwrite(descriptor, bytes + at, end - at, (off_t)at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) FAIL(IO, "no memory for a library: %s", strerror(errno));
        at += (uint64_t)written;
    }
    return NULL;
}

/* A library that stays loaded after its end keeps its name, and the dynamic loader would take it
 * for the next one of that name. So the file gets a descriptor whose name no library has. */
static Error *name_file(NativeLoaded *loaded) {
    for (;;) {
        (void)snprintf(loaded->path, sizeof loaded->path, "/proc/self/fd/%d", loaded->descriptor);
        void *taken = dlopen(loaded->path, RTLD_LAZY | RTLD_NOLOAD);
        if (!taken) return NULL;
        (void)dlclose(taken);
        const int next = fcntl(loaded->descriptor, F_DUPFD_CLOEXEC, loaded->descriptor + 1);
        if (next < 0) FAIL(IO, "no descriptor for a library: %s", strerror(errno));
        (void)close(loaded->descriptor);
        loaded->descriptor = next;
    }
}

static Error *open_file(NativeLoaded *loaded) {
    const char *path = loaded->path;
    loaded->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (loaded->handle) return NULL;
    /* the loader names the file, which says nothing here */
    const char *text = reason();
    if (text_starts_with(text, path)) text += strlen(path);
    if (text_starts_with(text, ": ")) text += 2;
    FAIL(UNSUPPORTED, "cannot be loaded: %s%s", text,
        strstr(text, "TVMFFI") ? FFI_HINT
        : strstr(text, "TVM")  ? RUNTIME_HINT
                               : "");
}

Error *native_loader_open(
    const void *bytes, uint64_t size, const char *preload, NativeLoaded **out) {
    void *memory;
    TRY(preload_all(preload));
    TRY(memory_alloc(1, sizeof(NativeLoaded), &memory));
    OWN(NativeLoaded, loaded) = memory;
    loaded->descriptor = memfd_create("layover-library", MFD_CLOEXEC);
    TRY(write_file(loaded->descriptor, bytes, size));
    TRY(name_file(loaded));
    TRY(open_file(loaded));
    TRY(native_loader_fill(loaded));
    *out = TAKE(loaded);
    return NULL;
}

void native_loader_close(NativeLoaded *loaded) {
    if (!loaded) return;
    if (loaded->handle) (void)dlclose(loaded->handle);
    if (loaded->descriptor >= 0) (void)close(loaded->descriptor);
    memory_free(loaded);
}

Error *native_loader_find(NativeLoaded *loaded, const char *name, NativeCallee *out) {
    *out = (NativeCallee){.function = (AbiFunction *)find_exported(loaded, name)};
    if (!out->function) out->older = (OlderFunction *)find_older(loaded, name);
    if (!out->function && !out->older) FAIL(NOT_FOUND, "the library has no function %s", name);
    return NULL;
}

const char *native_loader_path(const NativeLoaded *loaded) { return loaded->path; }

Error *native_loader_call(
    const NativeCallee *callee, const AbiAny *arguments, uint32_t count, AbiAny *out_result) {
    if (callee->older) return native_older_call(callee->older, arguments, count, out_result);
    const int code = callee->function(NULL, arguments, (int32_t)count, out_result);
    if (!code) return NULL;
    *out_result = (AbiAny){.type = ABI_NONE};
    return native_runtime_raised(code);
}
