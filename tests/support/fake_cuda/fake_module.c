#include "tests/support/fake_cuda/fake_module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct CUmod_st {
    void *library;
    int file; /* open as long as the library: its name is the number */
};

bool fake_module_is(const void *image) {
    return memcmp(image, FAKE_IMAGE_MARK, sizeof FAKE_IMAGE_MARK) == 0;
}

static bool open_library(const void *bytes, uint64_t size, CUmodule module) {
    char path[40];
    module->file = memfd_create("fake module", MFD_CLOEXEC);
    if (module->file < 0) return false;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", module->file);
    if (write(module->file, bytes, size) == (ssize_t)size)
        module->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module->library) (void)close(module->file);
    return module->library;
}

int fake_module_load(const void *image, CUmodule *out) {
    FakeImage head;
    memcpy(&head, image, sizeof head);
    CUmodule module = calloc(1, sizeof *module);
    if (!module) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!open_library((const char *)image + sizeof head, head.size, module)) {
        free(module);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    *out = module;
    return CUDA_SUCCESS;
}

int fake_module_unload(CUmodule module) {
    (void)dlclose(module->library);
    (void)close(module->file);
    free(module);
    return CUDA_SUCCESS;
}

int fake_module_find(
    CUmodule module, const char *name, FakeModuleRun **out_run, uint64_t *out_params_size) {
    char symbol[128];
    (void)snprintf(symbol, sizeof symbol, FAKE_MODULE_RUN "%s", name);
    void *function = dlsym(module->library, symbol);
    (void)snprintf(symbol, sizeof symbol, FAKE_MODULE_PARAMS_SIZE "%s", name);
    const uint64_t *params_size = dlsym(module->library, symbol);
    if (!function || !params_size) return CUDA_ERROR_NOT_FOUND;
    memcpy(out_run, &function, sizeof function);
    *out_params_size = *params_size;
    return CUDA_SUCCESS;
}
