#pragma once
/* The cuda device as the files of kernels/cuda/runtime/, library/ and plugin/ see it. Threads: any,
 * as those of a device.
 *
 * All work on the GPU happens in its primary context. A call makes that context current while it
 * runs and then restores the previous one, since the program around may use CUDA as well. An error
 * that corrupts the context, such as an illegal address, makes the device lost. */
#include <pthread.h>
#include <stdatomic.h>

#include "kernels/cuda/runtime/cuda_launch.h"
#include "kernels/cuda/runtime/cuda_modules.h"
#include "kernels/cuda/driver/cuda_options.h"
#include "kernels/cuda/runtime/cuda_staging.h"
#include "kernels/cuda/runtime/cuda_stretch.h"
#include "kernels/cuda/driver/cuda_symbols.h"
#include "kernels/device/device.h"

enum { CUDA_GPU_NAME_MAX = 64, CUDA_TABLES_MAX = 32 };

typedef struct CudaDevice {
    Device base;
    const CudaSymbols *api;
    CudaOptions options;
    Device *host; /* private: for operators without a kernel on the GPU */
    CUdevice gpu;
    char gpu_name[CUDA_GPU_NAME_MAX];
    int sm;             /* compute capability: 10 * major + minor */
    int driver_version; /* as cuDriverGetVersion counts */
    CUcontext context;  /* NULL: not retained yet */
    /* Tables whose library or image is available, NULL-terminated. */
    const struct Kernel *tables[CUDA_TABLES_MAX + 1];
    CUstream idle; /* for calls without a stream */
    CUmemoryPool pool;
    uint64_t total_bytes;
    _Atomic uint64_t used_bytes; /* allocated and not freed */
    atomic_bool lost;
    CudaStaging *staging;
    CublasHandle cublas;     /* NULL: the library is missing. For all streams and threads */
    struct CudaCudnn *cudnn; /* NULL: the library is missing, or not for this GPU */
    CudaModules *modules;    /* NULL: no kernels are compiled at run time */
    pthread_mutex_t mutex;   /* guards the module while it is loaded */
    atomic_bool module_loaded;
    CUmodule module;
    CUfunction functions[CUDA_KERNEL_COUNT]; /* set before module_loaded */
} CudaDevice;

static inline CudaDevice *cuda_device(Device *device) { return (CudaDevice *)device; }

/* A device whose primary context is current; ends with the scope. */
typedef struct CudaScope {
    const CudaSymbols *api; /* NULL: not entered */
} CudaScope;
void cuda_scope_leave(CudaScope *scope);
#define CUDA_SCOPE(name) __attribute__((cleanup(cuda_scope_leave))) CudaScope name = {NULL}
/* Errors: DEVICE_LOST. */
MUST_CHECK Error *cuda_scope_enter(CudaDevice *device, CudaScope *scope);
/* The same where no error can be returned: for freeing. */
bool cuda_scope_try(CudaDevice *device, CudaScope *scope);

/* NULL for CUDA_SUCCESS. Errors: EXHAUSTED no memory; DEVICE_LOST the context is corrupted, from
 * now on for every call; FAILED otherwise, with the driver's name of the error. */
MUST_CHECK Error *cuda_check(CudaDevice *device, int result, const char *function);
/* Called when another library's call failed with a code of its own: DEVICE_LOST if the context is
 * corrupted, which every call of the driver then reports. */
MUST_CHECK Error *cuda_check_context(CudaDevice *device, const char *function);
#define CUDA_TRY(device, function, ...)                                                            \
    TRY(cuda_check((device), (device)->api->function(__VA_ARGS__), #function))

/* Finds the GPU, makes its context, the queue for calls without a stream, pool and staging. base,
 * options and mutex are set. Errors: as DeviceClass.open; cuda_device_stop then frees the parts
 * that exist. */
MUST_CHECK Error *cuda_device_start(CudaDevice *device);
/* Waits for queued work and frees everything. Does nothing if the context was not retained. */
void cuda_device_stop(CudaDevice *device);

/* ---- the table's functions, by file ---- */

/* cuda_stream.c */
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

/* cuda_memory.c */
MUST_CHECK Error *cuda_memory_create_pool(CudaDevice *device);
MUST_CHECK Error *cuda_memory_info(Device *device, DeviceMemory *out);
MUST_CHECK Error *cuda_memory_alloc(
    Device *device, DeviceStream *stream, uint64_t size, uint64_t *out_address);
void cuda_memory_free(Device *device, DeviceStream *stream, uint64_t address, uint64_t size);

/* cuda_transfer.c */
MUST_CHECK Error *cuda_transfer_in(
    Device *device, DeviceStream *stream, uint64_t to, const void *from, uint64_t size);
MUST_CHECK Error *cuda_transfer_out(
    Device *device, DeviceStream *stream, void *to, uint64_t from, uint64_t size);
MUST_CHECK Error *cuda_transfer_inside(
    Device *device, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size);

/* cuda_launch.c */
void cuda_launch_unload(CudaDevice *device);
/* As cuda_launch, for a function that the device compiled. name: for errors. */
MUST_CHECK Error *cuda_launch_function(CudaDevice *device, DeviceStream *stream,
    CUfunction function, const char *name, const CudaGrid *grid, const void *params);
