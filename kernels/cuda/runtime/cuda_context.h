#pragma once
/* The cuda device as the files of kernels/cuda/runtime/, library/ and plugin/ see it. Threads: any,
 * as those of a device.
 *
 * All work on the GPU happens in its primary context. A call makes that context current while it
 * runs and then restores the previous one, since the program around may use CUDA as well. An error
 * that corrupts the context, such as an illegal address, makes the device lost. */
#include <pthread.h>
#include <stdatomic.h>

#include "kernels/cuda/driver/cuda_options.h"
#include "kernels/cuda/driver/cuda_symbols.h"
#include "kernels/cuda/runtime/cuda_kernel_id.h"
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
    struct CudaStaging *staging;
    CublasHandle cublas;         /* NULL: the library is missing. For all streams and threads */
    struct CudaCudnn *cudnn;     /* NULL: the library is missing, or not for this GPU */
    struct CudaModules *modules; /* NULL: no kernels are compiled at run time */
    pthread_mutex_t mutex;       /* guards the module while it is loaded */
    atomic_bool module_loaded;
    CUmodule module;
    CUfunction functions[CUDA_KERNEL_COUNT]; /* set before module_loaded */
} CudaDevice;

static inline CudaDevice *cuda_device(Device *device) { return (CudaDevice *)device; }
