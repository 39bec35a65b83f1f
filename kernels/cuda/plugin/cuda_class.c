#include "kernels/cuda/plugin/cuda_class.h"

#include <assert.h>
#include <stdio.h>

#include "base/allocator.h"
#include "kernels/cpu/device/cpu_device.h"
#include "kernels/cuda/plugin/cuda_compiled.h"
#include "kernels/cuda/library/cuda_cublas.h"
#include "kernels/cuda/library/cuda_cudnn.h"
#include "kernels/cuda/runtime/cuda_device.h"
#include "kernels/cuda/runtime/cuda_memory.h"
#include "kernels/cuda/runtime/cuda_stream.h"
#include "kernels/cuda/runtime/cuda_transfer.h"
#include "kernels/cuda/runtime/cuda_modules.h"
#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/driver/cuda_fatbin.h"
#include "kernels/cuda/planners/cuda_plan.h"
#include "kernels/plugin/device_layout.h"

static Error *open_libraries(CudaDevice *device) {
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    TRY(cuda_cublas_open(device));
    return cuda_cudnn_open(device);
}

/* Waits for the queue first: kernels of the libraries may still run. */
static void close_libraries(CudaDevice *device) {
    CUDA_SCOPE(scope);
    if (!device->context || !cuda_scope_try(device, &scope)) return;
    if (device->idle) (void)device->api->cuStreamSynchronize(device->idle);
    cuda_cublas_close(device);
    cuda_cudnn_close(device);
}

static void close_device(Device *base) {
    CudaDevice *device = cuda_device(base);
    close_libraries(device);
    cuda_device_stop(device);
    device_close(device->host);
    (void)pthread_mutex_destroy(&device->mutex);
    memory_free(device);
}

static void add_tables(CudaDevice *device, const Kernel *const *tables) {
    size_t count = 0;
    while (device->tables[count]) count++;
    for (; *tables; tables++) {
        assert(count < CUDA_TABLES_MAX);
        device->tables[count++] = *tables;
    }
}

static Error *open_device(const char *kind, uint32_t index, const char *options, Device **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(CudaDevice), &block));
    CudaDevice *device = block;
    OWN(Device, owned) = &device->base;
    device->base.class_ = &cuda_device_class;
    device->base.index = index;
    (void)snprintf(device->base.name, sizeof device->base.name, "%s:%u", kind, index);
    (void)pthread_mutex_init(&device->mutex, NULL);
    TRY(cuda_options_read(options, &device->options));
    TRY(cuda_device_start(device));
    TRY(cpu_device_open(&device->host));
    TRY(open_libraries(device));
    if (device->cublas) add_tables(device, cuda_cublas_tables());
    if (device->cudnn) add_tables(device, cuda_cudnn_tables());
    if (cuda_fatbin.image) TRY(cuda_compiled_open(device));
    if (device->modules) add_tables(device, cuda_compiled_tables());
    if (cuda_fatbin.image) add_tables(device, cuda_plan_tables());
    *out = TAKE(owned);
    return NULL;
}

static uint32_t count_devices(void) {
    const CudaSymbols *api;
    int count = 0;
    Error *error = cuda_symbols_start(cuda_fatbin.needed_version, &api);
    if (!error && api->cuDeviceGetCount(&count) != CUDA_SUCCESS) count = 0;
    error_free(error); /* opening a device reports the reason */
    return count > 0 ? (uint32_t)count : 0;
}

static void determinism_class(Device *base, TextBuilder *out) {
    const CudaDevice *device = cuda_device(base);
    text_appendf(out, "cuda; kernels %d; %s SM %d.%d; driver %d.%d%s", CUDA_KERNELS_VERSION,
        device->gpu_name, device->sm / 10, device->sm % 10, device->driver_version / 1000,
        device->driver_version % 1000 / 10, device->options.tf32 ? "; tf32" : "");
    if (device->cublas) text_appendf(out, "; cuBLASLt %zu", device->api->cublasLtGetVersion());
    if (device->cudnn) text_appendf(out, "; cuDNN %zu", device->api->cudnnGetVersion());
}

static Error *plan(Device *base, const PlanRequest *request, Plan **out) {
    return cuda_plan(base, cuda_device(base)->host, cuda_device(base)->tables, request, out);
}

static const struct Kernel *const *kernels(Device *device) { return cuda_device(device)->tables; }

const DeviceClass cuda_device_class = {
    .abi_version = DEVICE_ABI_VERSION,
    .layout = DEVICE_LAYOUT,
    .kind = "cuda",
    .count = count_devices,
    .open = open_device,
    .close = close_device,
    .memory = cuda_memory_info,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .stream_synchronize = cuda_stream_synchronize,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_synchronize = cuda_event_synchronize,
    .event_elapsed = cuda_event_elapsed,
    .alloc = cuda_memory_alloc,
    .free = cuda_memory_free,
    .copy_from_host = cuda_transfer_in,
    .copy_to_host = cuda_transfer_out,
    .copy = cuda_transfer_inside,
    .plan = plan,
    .kernels = kernels,
    .determinism_class = determinism_class,
};
