#include <assert.h>

#include "tests/support/cuda_shim.h"

#include "kernels/cuda/device/device_all.cu"

#define CUDA_KERNEL(id, name, Parameters)                                                          \
    static void run_##name(const void *params) {                                                   \
        Parameters typed;                                                                          \
        memcpy(&typed, params, sizeof typed);                                                      \
        name(typed);                                                                               \
    }
#include "kernels/cuda/runtime/cuda_kernels.def"
#undef CUDA_KERNEL

static const struct {
    void (*run)(const void *params);
    size_t params_size;
} kernels[CUDA_KERNEL_COUNT] = {
#define CUDA_KERNEL(id, name, Parameters) {run_##name, sizeof(Parameters)},
#include "kernels/cuda/runtime/cuda_kernels.def"
#undef CUDA_KERNEL
};

void cuda_shim_run(CudaKernelId kernel, const CudaGrid *grid, const void *params,
    size_t params_size, bool reversed) {
    assert(params_size == kernels[kernel].params_size && params_size <= CUDA_PARAMS_BYTES_MAX);
    assert(grid->threads[0] == CUDA_THREADS && grid->threads[1] == 1 && grid->threads[2] == 1);
    assert(grid->blocks[0] > 0 && grid->blocks[1] == 1 && grid->blocks[2] == 1);
    assert(grid->shared_bytes == 0);
    for (uint64_t i = 0; i < grid->blocks[0]; i++) {
        device_block =
            (DeviceBlock){reversed ? grid->blocks[0] - 1 - i : i, grid->blocks[0], reversed};
        kernels[kernel].run(params);
    }
}
