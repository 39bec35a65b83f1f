#pragma once
/* What the fake NVRTC makes and the fake driver loads: a library of the host with kernels. */
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cuda/driver/cuda_driver.h"

/* Before the library's bytes. */
typedef struct FakeImage {
    char mark[16];
    uint64_t size;
} FakeImage;
#define FAKE_IMAGE_MARK "fake image"

/* The library's symbols, before a kernel's name; see fake_nvrtc.c. */
#define FAKE_MODULE_RUN "fake_module_run_"
#define FAKE_MODULE_PARAMS_SIZE "fake_module_params_size_"
typedef void FakeModuleRun(const void *params, uint64_t block, uint64_t blocks);

/* Whether such a library stands behind the image. */
bool fake_module_is(const void *image);
/* Answer a CUresult. */
int fake_module_load(const void *image, CUmodule *out);
int fake_module_unload(CUmodule module);
int fake_module_find(
    CUmodule module, const char *name, FakeModuleRun **out_run, uint64_t *out_params_size);
