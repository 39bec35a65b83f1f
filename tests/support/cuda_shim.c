#include "tests/support/cuda_shim.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/cuda/planners/cuda_plan.h"
#include "kernels/registry/device_registry.h"
#include "kernels/device/host_memory.h"

typedef struct ShimDevice {
    Device base;
    Device *host; /* for what no kernel serves */
    bool reversed;
    _Atomic uint64_t launches;
    uint64_t launches_max;
} ShimDevice;

static ShimDevice *shim_device(Device *device) { return (ShimDevice *)device; }

Error *cuda_launch(Device *device, DeviceStream *stream, CudaKernelId kernel, const CudaGrid *grid,
    const void *params, size_t params_size) {
    (void)stream;
    if (shim_device(device)->launches == shim_device(device)->launches_max)
        FAIL(DEVICE_LOST, "%s: gone", device->name);
    shim_device(device)->launches++;
    cuda_shim_run(kernel, grid, params, params_size, shim_device(device)->reversed);
    return NULL;
}

uint64_t cuda_shim_launches(const Device *device) { return ((const ShimDevice *)device)->launches; }

void cuda_shim_lose_after(Device *device, uint64_t launches) {
    shim_device(device)->launches_max = shim_device(device)->launches + launches;
}

static void close_device(Device *device) {
    device_close(shim_device(device)->host);
    memory_free(device);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    return cuda_plan(device, shim_device(device)->host, cuda_plan_tables(), request, out);
}

static const Kernel *const *kernels(Device *device) {
    (void)device;
    return cuda_plan_tables();
}

static void determinism_class(Device *device, TextBuilder *out) {
    (void)device;
    text_appendf(out, "cuda kernels %d on the host", CUDA_KERNELS_VERSION);
}

static const DeviceClass shim_class = {
    .abi_version = DEVICE_ABI_VERSION,
    .kind = "shim",
    .close = close_device,
    .memory = host_memory_info,
    .alloc = host_memory_alloc,
    .free = host_memory_free,
    .copy_from_host = host_memory_copy_from_host,
    .copy_to_host = host_memory_copy_to_host,
    .copy = host_memory_copy,
    .plan = plan,
    .kernels = kernels,
    .determinism_class = determinism_class,
};

Error *cuda_shim_open(const char *spec, Device **out) {
    bool reversed = strcmp(spec, "shim:reversed") == 0;
    if (!reversed && strcmp(spec, "shim") != 0) return device_open(spec, out);
    void *block;
    TRY(memory_alloc(1, sizeof(ShimDevice), &block));
    ShimDevice *device = block;
    device->base.class_ = &shim_class;
    (void)snprintf(device->base.name, sizeof device->base.name, "%s", spec);
    OWN(Device, owned) = &device->base;
    device->reversed = reversed;
    device->launches_max = UINT64_MAX;
    TRY(device_open("cpu", &device->host));
    *out = TAKE(owned);
    return NULL;
}
