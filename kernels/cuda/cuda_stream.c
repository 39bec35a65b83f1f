/* Streams and events: those of the driver, without anything around them. */
#include "kernels/cuda/cuda_device.h"

Error *cuda_stream_create(Device *base, DeviceStream **out) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    CUstream stream;
    TRY(cuda_scope_enter(device, &scope));
    CUDA_TRY(device, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    *out = (DeviceStream *)stream;
    return NULL;
}

void cuda_stream_destroy(Device *base, DeviceStream *stream) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    if (!cuda_scope_try(device, &scope)) return;
    Error *error = cuda_check(
        device, device->api->cuStreamSynchronize((CUstream)stream), "cuStreamSynchronize");
    error_free(error); /* nobody is left to be told; the device knows when it is lost */
    (void)device->api->cuStreamDestroy_v2((CUstream)stream);
}

Error *cuda_stream_synchronize(Device *base, DeviceStream *stream) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    CUDA_TRY(device, cuStreamSynchronize, cuda_stream(device, stream));
    return NULL;
}

Error *cuda_stream_settle(CudaDevice *device, DeviceStream *stream) {
    if (!stream) CUDA_TRY(device, cuStreamSynchronize, device->idle);
    return NULL;
}

Error *cuda_event_create(Device *base, DeviceEvent **out) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    CUevent event;
    TRY(cuda_scope_enter(device, &scope));
    CUDA_TRY(device, cuEventCreate, &event, CU_EVENT_DEFAULT);
    *out = (DeviceEvent *)event;
    return NULL;
}

void cuda_event_destroy(Device *base, DeviceEvent *event) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    if (event && cuda_scope_try(device, &scope))
        (void)device->api->cuEventDestroy_v2((CUevent)event);
}

Error *cuda_event_record(Device *base, DeviceEvent *event, DeviceStream *stream) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    CUDA_TRY(device, cuEventRecord, (CUevent)event, cuda_stream(device, stream));
    return NULL;
}

Error *cuda_event_wait(Device *base, DeviceEvent *event, DeviceStream *stream) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    CUDA_TRY(device, cuStreamWaitEvent, cuda_stream(device, stream), (CUevent)event, 0);
    return NULL;
}

Error *cuda_event_synchronize(Device *base, DeviceEvent *event) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    CUDA_TRY(device, cuEventSynchronize, (CUevent)event);
    return NULL;
}

Error *cuda_event_elapsed(Device *base, DeviceEvent *from, DeviceEvent *to, uint64_t *out_ns) {
    static const double MS_NS = 1e6;
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    float elapsed_ms;
    TRY(cuda_scope_enter(device, &scope));
    CUDA_TRY(device, cuEventSynchronize, (CUevent)from);
    CUDA_TRY(device, cuEventSynchronize, (CUevent)to);
    CUDA_TRY(device, cuEventElapsedTime, &elapsed_ms, (CUevent)from, (CUevent)to);
    *out_ns = elapsed_ms > 0 ? (uint64_t)((double)elapsed_ms * MS_NS) : 0;
    return NULL;
}
