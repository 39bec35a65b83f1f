/* Streams and events of the driver; a stream also has the launches that are to be started
 * together. */
#include "kernels/cuda/runtime/cuda_stream.h"

#include "base/allocator.h"
#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/runtime/cuda_stretch.h"

typedef struct CudaStream {
    CUstream queue;
    CudaStretch *stretch; /* NULL: each launch is queued at once */
} CudaStream;

static CudaStream *cast(DeviceStream *stream) { return (CudaStream *)stream; }

/* ---- where to queue ---- */

CUstream cuda_stream(CudaDevice *device, DeviceStream *stream) {
    if (!stream) return device->idle;
    if (cast(stream)->stretch) cuda_stretch_end(device, cast(stream)->stretch);
    return cast(stream)->queue;
}

CUstream cuda_stream_ahead(CudaDevice *device, DeviceStream *stream) {
    return stream ? cast(stream)->queue : device->idle;
}

Error *cuda_stream_record(
    CudaDevice *device, DeviceStream *stream, const char *name, uint64_t key, CUstream *out) {
    if (stream && cast(stream)->stretch)
        return cuda_stretch_add(device, cast(stream)->stretch, name, key, out);
    *out = cuda_stream_ahead(device, stream);
    return NULL;
}

Error *cuda_stream_tell(DeviceStream *stream, Error *owned_error) {
    Error *first =
        stream && cast(stream)->stretch ? cuda_stretch_tell(cast(stream)->stretch) : NULL;
    if (!first) return owned_error;
    error_free(owned_error);
    return first;
}

/* ---- streams ---- */

static Error *open_stream(CudaDevice *device, CudaStream *stream) {
    CUDA_TRY(device, cuStreamCreate, &stream->queue, CU_STREAM_NON_BLOCKING);
    return device->options.graphs ? cuda_stretch_create(device, stream->queue, &stream->stretch)
                                  : NULL;
}

Error *cuda_stream_create(Device *base, DeviceStream **out) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    void *memory;
    TRY(cuda_scope_enter(device, &scope));
    TRY(memory_alloc(1, sizeof(CudaStream), &memory));
    CudaStream *stream = memory;
    Error *error = open_stream(device, stream);
    if (error) {
        if (stream->queue) (void)device->api->cuStreamDestroy_v2(stream->queue);
        memory_free(stream);
        return error;
    }
    *out = (DeviceStream *)stream;
    return NULL;
}

void cuda_stream_destroy(Device *base, DeviceStream *stream) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    bool entered = cuda_scope_try(device, &scope);
    if (entered) {
        int result = device->api->cuStreamSynchronize(cuda_stream(device, stream));
        Error *error = cuda_check(device, result, "cuStreamSynchronize");
        error_free(error); /* no caller is left for this error; the device notes that it is lost */
    }
    cuda_stretch_release(device, cast(stream)->stretch);
    if (entered) (void)device->api->cuStreamDestroy_v2(cast(stream)->queue);
    memory_free(stream);
}

Error *cuda_stream_synchronize(Device *base, DeviceStream *stream) {
    CudaDevice *device = cuda_device(base);
    CUDA_SCOPE(scope);
    TRY(cuda_scope_enter(device, &scope));
    int result = device->api->cuStreamSynchronize(cuda_stream(device, stream));
    return cuda_stream_tell(stream, cuda_check(device, result, "cuStreamSynchronize"));
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
