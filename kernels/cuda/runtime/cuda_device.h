#pragma once
/* The cuda device as its files see it.
 *
 * Everything on the GPU happens in its primary context, which a call makes current for as long as
 * it takes and then gives back: the program around may use CUDA as well. An error that spoils the
 * context makes the device lost, as an illegal address does. */
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
    Device *host; /* private: for operators without a kernel here */
    CUdevice gpu;
    char gpu_name[CUDA_GPU_NAME_MAX];
    int sm;             /* compute capability: 10 * major + minor */
    int driver_version; /* as cuDriverGetVersion counts */
    CUcontext context;  /* NULL: not retained yet */
    /* Those whose library or image is here, NULL-terminated. */
    const struct Kernel *tables[CUDA_TABLES_MAX + 1];
    CUstream idle; /* for calls without a stream */
    CUmemoryPool pool;
    uint64_t total_bytes;
    _Atomic uint64_t used_bytes; /* allocated and not given back */
    atomic_bool lost;
    CudaStaging *staging;
    CublasHandle cublas;     /* NULL: the library is not here. For all streams and threads */
    struct CudaCudnn *cudnn; /* NULL: the library is not here, or not for this GPU */
    CudaModules *modules;    /* NULL: nothing is compiled at run time */
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
/* The same where nothing can be told: for giving back. */
bool cuda_scope_try(CudaDevice *device, CudaScope *scope);

/* NULL for CUDA_SUCCESS. Errors: EXHAUSTED no memory; DEVICE_LOST the context is spoiled, from now
 * on for every call; FAILED otherwise, with the driver's name of it. */
MUST_CHECK Error *cuda_check(CudaDevice *device, int result, const char *function);
/* For a call of another library that failed with a code of its own: DEVICE_LOST if it did so
 * because the context is spoiled, which every call of the driver then tells. */
MUST_CHECK Error *cuda_check_context(CudaDevice *device, const char *function);
#define CUDA_TRY(device, function, ...)                                                            \
    TRY(cuda_check((device), (device)->api->function(__VA_ARGS__), #function))

/* Finds the GPU, makes its context, the queue for calls without a stream, pool and staging. base,
 * options and mutex are set. Errors: as DeviceClass.open; cuda_device_stop then gives back what is
 * there. */
MUST_CHECK Error *cuda_device_start(CudaDevice *device);
/* Waits for what is queued. Nothing happens where the context was not retained. */
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
/* The queue behind all that was launched on the stream: the device's own for calls without one.
 * What keeps launches from it is told by cuda_stream_tell. */
CUstream cuda_stream(CudaDevice *device, DeviceStream *stream);
/* The same for memory that nothing queued so far knows of: launches that are still recorded may
 * come behind it. */
CUstream cuda_stream_ahead(CudaDevice *device, DeviceStream *stream);
/* Where one launch is to be queued that a graph may hold (see cuda_stretch_add for name, key and
 * errors). At most one is queued there. */
MUST_CHECK Error *cuda_stream_record(
    CudaDevice *device, DeviceStream *stream, const char *name, uint64_t key, CUstream *out);
/* The error of a call that waited for the stream: what kept launches from it goes first. */
MUST_CHECK Error *cuda_stream_tell(DeviceStream *stream, Error *owned_error);
/* What calls without a stream end with. */
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
/* cuda_launch of a function that the device compiled. name: for errors. */
MUST_CHECK Error *cuda_launch_function(CudaDevice *device, DeviceStream *stream,
    CUfunction function, const char *name, const CudaGrid *grid, const void *params);
