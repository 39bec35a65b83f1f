#pragma once
/* Streams and events of a GPU: functions of the device's table, and the queue for the work of a
 * call. Called through the table of cuda_class.c, and by all files that queue work. Threads: as
 * device_class.h says. */
#include "base/error.h"
#include "kernels/cuda/runtime/cuda_context.h"

MUST_CHECK Error *cuda_stream_create(Device *device, DeviceStream **out);
void cuda_stream_destroy(Device *device, DeviceStream *stream);
MUST_CHECK Error *cuda_stream_synchronize(Device *device, DeviceStream *stream);
MUST_CHECK Error *cuda_event_create(Device *device, DeviceEvent **out);
void cuda_event_destroy(Device *device, DeviceEvent *event);
MUST_CHECK Error *cuda_event_record(Device *device, DeviceEvent *event, DeviceStream *stream);
MUST_CHECK Error *cuda_event_wait(Device *device, DeviceEvent *event, DeviceStream *stream);
MUST_CHECK Error *cuda_event_synchronize(Device *device, DeviceEvent *event);
MUST_CHECK Error *cuda_event_elapsed(
    Device *device, DeviceEvent *from, DeviceEvent *to, uint64_t *out_ns);
/* The queue after all launches of the stream; the device's own queue for calls without a stream. An
 * error that kept launches from it is returned by cuda_stream_tell. */
CUstream cuda_stream(CudaDevice *device, DeviceStream *stream);
/* The queue for work on memory that no queued work uses: launches that are still being recorded may
 * come after it. */
CUstream cuda_stream_ahead(CudaDevice *device, DeviceStream *stream);
/* The queue for one launch that a graph may hold (see cuda_stretch_add for name, key and errors).
 * At most one launch may be queued there. */
MUST_CHECK Error *cuda_stream_record(
    CudaDevice *device, DeviceStream *stream, const char *name, uint64_t key, CUstream *out);
/* The error of a call that waited for the stream: an error that kept launches from the queue takes
 * precedence. */
MUST_CHECK Error *cuda_stream_tell(DeviceStream *stream, Error *owned_error);
/* Ends calls without a stream: waits for their work. */
MUST_CHECK Error *cuda_stream_settle(CudaDevice *device, DeviceStream *stream);
