#include "kernels/native/native_loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/text.h"

enum { PATH_MAX_BYTES = 4096, MESSAGE_MAX = 4000 };

struct NativeLoaded {
    void *handle;
};

/* The library that code of this process was loaded from: its functions are found first. */
static void *library;

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

static int raise(const char *message, const char *name) {
    char text[MESSAGE_MAX];
    void (*set)(const char *kind, const char *message);
    void *found = dlsym(RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStr");
    (void)snprintf(text, sizeof text, message, name);
    if (!found) return -1;
    memcpy(&set, &found, sizeof found);
    set("ValueError", text);
    return -1;
}

/* Makes a function object of a function of the library. */
static int wrap_function(void *function, void **out) {
    int (*create)(void *self, void *function, void (*deleter)(void *), void **out);
    void *found = dlsym(RTLD_DEFAULT, "TVMFFIFunctionCreate");
    if (!found) return raise("%s: no loaded library makes functions", "TVMFFIFunctionCreate");
    memcpy(&create, &found, sizeof found);
    return create(NULL, function, NULL, out);
}

/* Finds a function that compiled code calls by name: of the library, else a global one, which the
 * libraries that were loaded before have registered. */
static int look_up(void *context, const char *name, void **out) {
    char symbol[512];
    int (*get_global)(const AbiBytes *name, void **out);
    const AbiBytes bytes = {name, strlen(name)};
    void *found = dlsym(RTLD_DEFAULT, "TVMFFIFunctionGetGlobal");
    (void)context;
    (void)snprintf(symbol, sizeof symbol, "__tvm_ffi_%s", name);
    void *own = dlsym(library, symbol);
    *out = NULL;
    if (own) return wrap_function(own, out);
    if (!found) return raise("it calls %s, and no loaded library has global functions", name);
    memcpy(&get_global, &found, sizeof found);
    int code = get_global(&bytes, out);
    if (code || *out) return code;
    return raise("it calls %s, which no loaded library has registered (--native-preload "
                 "libtvm_runtime_extra.so may)",
        name);
}

typedef void AnyFunction(void);
typedef struct RuntimeFunction {
    const char *pointer; /* the variable in the library */
    const char *name;
    AnyFunction *own; /* NULL: a loaded library must bring it */
} RuntimeFunction;

static const RuntimeFunction runtime_functions[] = {
    {"__TVMBackendAllocWorkspace", "TVMBackendAllocWorkspace", (AnyFunction *)alloc_workspace},
    {"__TVMBackendFreeWorkspace", "TVMBackendFreeWorkspace", (AnyFunction *)free_workspace},
    {"__TVMBackendParallelLaunch", "TVMBackendParallelLaunch", (AnyFunction *)launch_parallel},
    {"__TVMBackendParallelBarrier", "TVMBackendParallelBarrier", (AnyFunction *)wait_for_group},
    {"__TVMFFIFunctionCall", "TVMFFIFunctionCall", NULL},
    {"__TVMFFIErrorSetRaisedFromCStr", "TVMFFIErrorSetRaisedFromCStr", NULL},
    {"__TVMFFIErrorSetRaisedFromCStrParts", "TVMFFIErrorSetRaisedFromCStrParts", NULL},
    {"__TVMFFIEnvModLookupFromImports", "TVMFFIEnvModLookupFromImports", (AnyFunction *)look_up},
    {"__TVMFFIHandleInitOnce", "TVMFFIHandleInitOnce", NULL},
    {"__TVMFFIHandleDeinitOnce", "TVMFFIHandleDeinitOnce", NULL},
};

static Error *fill_pointers(void *handle) {
    for (size_t i = 0; i < sizeof runtime_functions / sizeof runtime_functions[0]; i++) {
        const RuntimeFunction *function = &runtime_functions[i];
        AnyFunction **pointer = dlsym(handle, function->pointer);
        if (!pointer) continue;
        void *found = function->own ? NULL : dlsym(RTLD_DEFAULT, function->name);
        if (function->own)
            *pointer = function->own;
        else if (found)
            memcpy(pointer, &found, sizeof found);
        else
            FAIL(UNSUPPORTED,
                "it needs the function %s, which no loaded library has (TVM's libtvm_ffi.so has "
                "it: --native-preload)",
                function->name);
    }
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

/* The dynamic loader takes a file only; this one has no name and needs no place on a disk. */
static Error *write_file(int descriptor, const uint8_t *bytes, uint64_t size) {
    if (descriptor < 0) FAIL(IO, "no memory for a library: %s", strerror(errno));
    while (size) {
        ssize_t written = write(descriptor, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) FAIL(IO, "no memory for a library: %s", strerror(errno));
        bytes += written;
        size -= (uint64_t)written;
    }
    return NULL;
}

static Error *open_descriptor(int descriptor, void **out) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*out) return NULL;
    /* the loader names the file, which says nothing here */
    const char *text = reason();
    if (text_starts_with(text, path)) text += strlen(path);
    if (text_starts_with(text, ": ")) text += 2;
    FAIL(UNSUPPORTED, "cannot be loaded: %s%s", text,
        strstr(text, "TVM") ? " (TVM's libtvm_ffi.so has it: --native-preload)" : "");
}

Error *native_loader_open(
    const void *bytes, uint64_t size, const char *preload, NativeLoaded **out) {
    void *memory, *handle = NULL;
    TRY(preload_all(preload));
    int descriptor = memfd_create("layover-library", MFD_CLOEXEC);
    Error *error = write_file(descriptor, bytes, size);
    if (!error) error = open_descriptor(descriptor, &handle);
    if (descriptor >= 0) (void)close(descriptor);
    if (error) return error;
    library = handle;
    TRY(fill_pointers(handle));
    TRY(memory_alloc(1, sizeof(NativeLoaded), &memory));
    *out = memory;
    (*out)->handle = handle;
    return NULL;
}

void native_loader_close(NativeLoaded *loaded) {
    if (!loaded) return;
    library = NULL;
    (void)dlclose(loaded->handle);
    memory_free(loaded);
}

Error *native_loader_find(NativeLoaded *loaded, const char *name, AbiFunction **out) {
    TextBuilder OWN_TEXT(symbol) = {0};
    text_appendf(&symbol, "__tvm_ffi_%s", name);
    TRY(text_builder_check(&symbol));
    void *found = dlsym(loaded->handle, text_builder_get(&symbol));
    if (!found) FAIL(NOT_FOUND, "the library has no function %s", name);
    memcpy(out, &found, sizeof found);
    return NULL;
}

/* ---- errors and objects ---- */

void native_loader_release(AbiObject *object) {
    void *found = dlsym(RTLD_DEFAULT, "TVMFFIObjectDecRef");
    int (*release)(void *);
    if (!object || !found) return;
    memcpy(&release, &found, sizeof found);
    (void)release(object);
}

static AbiObject *take_raised(void) {
    void *found = dlsym(RTLD_DEFAULT, "TVMFFIErrorMoveFromRaised"), *object = NULL;
    void (*take)(void **);
    if (!found) return NULL;
    memcpy(&take, &found, sizeof found);
    take(&object);
    return object;
}

Error *native_loader_raised(int code) {
    AbiObject *object = take_raised();
    if (!object) FAIL(FAILED, "returned the error number %d", code);
    const AbiErrorObject *raised = (const AbiErrorObject *)object;
    size_t size = raised->message.size < MESSAGE_MAX ? raised->message.size : MESSAGE_MAX;
    size_t kind = raised->kind.size < MESSAGE_MAX ? raised->kind.size : MESSAGE_MAX;
    Error *error = error_make(ERROR_FAILED, __FILE__, __LINE__, "%.*s: %.*s", (int)kind,
        raised->kind.data, (int)size, raised->message.data);
    native_loader_release(object);
    return error;
}
