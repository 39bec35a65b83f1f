#include "kernels/cuda/runtime/cuda_modules.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "kernels/cuda/runtime/cuda_scope.h"

typedef struct Entry {
    uint64_t hash;
    char *source; /* NULL: the entry is free */
    CUmodule module;
    CUfunction function; /* NULL: being compiled */
} Entry;

struct CudaModules {
    CudaNvrtc nvrtc;
    uint32_t capacity;
    pthread_mutex_t mutex; /* guards the entries */
    pthread_cond_t changed;
    Entry entries[CUDA_MODULES_MAX];
};

Error *cuda_modules_create(const CudaNvrtc *nvrtc, uint32_t capacity, CudaModules **out) {
    void *block;
    assert(capacity <= CUDA_MODULES_MAX);
    TRY(memory_alloc(1, sizeof(CudaModules), &block));
    CudaModules *modules = block;
    modules->nvrtc = *nvrtc;
    modules->capacity = capacity;
    (void)pthread_mutex_init(&modules->mutex, NULL);
    (void)pthread_cond_init(&modules->changed, NULL);
    *out = modules;
    return NULL;
}

void cuda_modules_release(CudaDevice *device, CudaModules *modules) {
    if (!modules) return;
    for (uint32_t i = 0; i < modules->capacity; i++) {
        if (modules->entries[i].module)
            (void)device->api->cuModuleUnload(modules->entries[i].module);
        memory_free(modules->entries[i].source);
    }
    (void)pthread_cond_destroy(&modules->changed);
    (void)pthread_mutex_destroy(&modules->mutex);
    memory_free(modules);
}

/* Finds the entry of that source, otherwise a free entry; NULL when there is neither. */
static Entry *find(CudaModules *modules, uint64_t hash, const char *source) {
    Entry *unused = NULL;
    for (uint32_t i = 0; i < modules->capacity; i++) {
        Entry *entry = &modules->entries[i];
        if (!entry->source) {
            if (!unused) unused = entry;
        } else if (entry->hash == hash && strcmp(entry->source, source) == 0) {
            return entry;
        }
    }
    return unused;
}

static Error *load(CudaDevice *device, const CudaImage *image, const char *entry,
    CUmodule *out_module, CUfunction *out_function) {
    CUmodule module;
    CUfunction function;
    CUDA_TRY(device, cuModuleLoadData, &module, image->bytes);
    Error *error =
        cuda_check(device, device->api->cuModuleGetFunction(&function, module, entry), entry);
    if (error) {
        (void)device->api->cuModuleUnload(module);
        return error;
    }
    *out_module = module;
    *out_function = function;
    return NULL;
}

static Error *make(CudaDevice *device, const CudaNvrtc *nvrtc, const char *entry,
    const char *source, CUmodule *out_module, CUfunction *out_function) {
    OWN_IMAGE(image) = {0};
    CUDA_SCOPE(scope);
    TRY(cuda_nvrtc_compile(nvrtc, entry, source, &image, NULL));
    TRY(cuda_scope_enter(device, &scope));
    TRY_WRAP(load(device, &image, entry, out_module, out_function), "a kernel compiled for SM %d",
        nvrtc->sm);
    return NULL;
}

/* Called under the mutex, which is released during the compilation. The entry stays reserved until
 * it has its function or is free again. */
static Error *fill(CudaDevice *device, CudaModules *modules, Entry *entry, uint64_t hash,
    const char *name, const char *source) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    TRY(memory_copy_text(source, &entry->source));
    entry->hash = hash;
    (void)pthread_mutex_unlock(&modules->mutex);
    Error *error = make(device, &modules->nvrtc, name, source, &module, &function);
    (void)pthread_mutex_lock(&modules->mutex);
    if (error) {
        memory_free(entry->source);
        entry->source = NULL;
    } else {
        entry->module = module;
        entry->function = function;
    }
    (void)pthread_cond_broadcast(&modules->changed);
    return error;
}

static Error *get_locked(CudaDevice *device, CudaModules *modules, const char *name,
    const char *source, CUfunction *out) {
    const uint64_t hash = digest_xxh3(source, strlen(source));
    Entry *entry = find(modules, hash, source);
    /* searched again after each wait: if the compilation failed, this thread compiles the source */
    while (entry && entry->source && !entry->function) {
        (void)pthread_cond_wait(&modules->changed, &modules->mutex);
        entry = find(modules, hash, source);
    }
    if (entry && !entry->source) TRY(fill(device, modules, entry, hash, name, source));
    *out = entry ? entry->function : NULL;
    return NULL;
}

Error *cuda_modules_get(CudaDevice *device, CudaModules *modules, const char *entry,
    const char *source, CUfunction *out) {
    (void)pthread_mutex_lock(&modules->mutex);
    Error *error = get_locked(device, modules, entry, source, out);
    (void)pthread_mutex_unlock(&modules->mutex);
    return error;
}
