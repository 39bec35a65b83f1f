#include "kernels/cuda/driver/cuda_symbols.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct SymbolInfo {
    CudaLibrary library;
    const char *name;
    size_t offset; /* of the pointer in CudaSymbols */
    int since;
} SymbolInfo;

static const SymbolInfo symbols[] = {
#define CUDA_FUNCTION(library, result, name, parameters, since)                                    \
    {CUDA_LIBRARY_##library, #name, offsetof(CudaSymbols, name), since},
#include "kernels/cuda/driver/cuda_symbols.def"
#undef CUDA_FUNCTION
};
enum { SYMBOL_COUNT = sizeof symbols / sizeof symbols[0], NAMES_MAX = 2, REASON_SIZE = 256 };

/* File names carry the version of the interface; the newest comes first. */
static const struct {
    const char *what;
    const char *counted; /* the product whose versions `since` counts */
    const char *names[NAMES_MAX];
} libraries[CUDA_LIBRARY_COUNT] = {
    [CUDA_LIBRARY_DRIVER] = {"NVIDIA driver", "CUDA", {"libcuda.so.1"}},
    [CUDA_LIBRARY_GRAPHS] = {"NVIDIA driver", "CUDA", {"libcuda.so.1"}},
    [CUDA_LIBRARY_CUBLASLT] = {"cuBLASLt", "CUDA", {"libcublasLt.so.13", "libcublasLt.so.12"}},
    [CUDA_LIBRARY_CUDNN] = {"cuDNN", "cuDNN", {"libcudnn.so.9"}},
    [CUDA_LIBRARY_NVRTC] = {"NVRTC", "CUDA", {"libnvrtc.so.13", "libnvrtc.so.12"}},
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static CudaSymbols loaded;
static bool is_loaded[CUDA_LIBRARY_COUNT];

const CudaSymbols *cuda_symbols_get(void) { return &loaded; }

static Error *open_library(CudaLibrary library, void **out) {
    char reason[REASON_SIZE] = ""; /* dlerror's text ends with the next dlopen */
    for (int i = 0; i < NAMES_MAX && libraries[library].names[i]; i++) {
        *out = dlopen(libraries[library].names[i], RTLD_NOW | RTLD_LOCAL);
        if (*out) return NULL;
        if (i == 0) (void)snprintf(reason, sizeof reason, "%s", dlerror());
    }
    FAIL(UNSUPPORTED, "no %s on this machine: %s", libraries[library].what, reason);
}

static Error *load_locked(CudaLibrary library) {
    CudaSymbols found;
    void *handle;
    if (is_loaded[library]) return NULL;
    TRY(open_library(library, &handle));
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        if (symbols[i].library != library) continue;
        void *function = dlsym(handle, symbols[i].name);
        if (!function) {
            (void)dlclose(handle);
            FAIL(UNSUPPORTED, "the %s on this machine has no %s, which is there since %s %d.%d",
                libraries[library].what, symbols[i].name, libraries[library].counted,
                symbols[i].since / 1000, symbols[i].since % 1000 / 10);
        }
        memcpy((char *)&found + symbols[i].offset, &function, sizeof function);
    }
    for (size_t i = 0; i < SYMBOL_COUNT; i++) /* other libraries may be in use */
        if (symbols[i].library == library)
            memcpy((char *)&loaded + symbols[i].offset, (char *)&found + symbols[i].offset,
                sizeof(void *));
    is_loaded[library] = true;
    return NULL;
}

Error *cuda_symbols_load(CudaLibrary library) {
    (void)pthread_mutex_lock(&mutex);
    Error *error = load_locked(library);
    (void)pthread_mutex_unlock(&mutex);
    return error;
}

Error *cuda_symbols_start(int needed_version, const CudaSymbols **out) {
    int version = 0, result;
    TRY(cuda_symbols_load(CUDA_LIBRARY_DRIVER));
    result = loaded.cuDriverGetVersion(&version);
    if (result == CUDA_SUCCESS && version < needed_version)
        FAIL(UNSUPPORTED, "the NVIDIA driver is for CUDA %d.%d, this needs one for CUDA %d.%d",
            version / 1000, version % 1000 / 10, needed_version / 1000, needed_version % 1000 / 10);
    if (result == CUDA_SUCCESS) result = loaded.cuInit(0);
    if (result == CUDA_ERROR_NO_DEVICE) FAIL(UNSUPPORTED, "no NVIDIA GPU on this machine");
    if (result != CUDA_SUCCESS) {
        const char *name = NULL;
        (void)loaded.cuGetErrorName(result, &name);
        FAIL(UNSUPPORTED, "the NVIDIA driver does not start: %s", name ? name : "unknown error");
    }
    *out = &loaded;
    return NULL;
}
