#pragma once
/* The language of the kernels: the common subset of C11 and CUDA C++. nvcc makes device code of it;
 * a C compiler makes functions that run one block, so that the kernels' logic is tested without a
 * GPU. Included by every kernel.
 *
 * A kernel is KERNEL(name, Parameters) { … } over the parameters p. It consists of phases:
 *   THREADS(t) { … }   the work of each thread t of the block
 *   PHASE(t) { … }     the same, after which all threads of the block wait for each other
 * A value that a thread keeps from one phase to another is KEPT(T, name, count), read as
 * name[KEPT_OF(t)][i]. Code outside the phases is the same for all threads of the block.
 * Threads communicate through SHARED arrays only, and never within one phase; a variable that is
 * declared in a phase lives no longer than it, so that a C compiler may run the threads of a phase
 * one after the other, in any order. A phase is left at its end alone: no break, no return. */
#include <stdint.h>

#include "kernels/cuda/planners/cuda_params.h"
#include "kernels/scalar/scalar_base.h"

#ifdef __CUDACC__

#define DEVICE static __device__ __forceinline__
#define DEVICE_CALL static __device__ __noinline__
#define KERNEL(name, Parameters)                                                                   \
    extern "C" __global__ void __launch_bounds__(CUDA_THREADS, 2)                                  \
        name(const __grid_constant__ Parameters p)
#define SHARED(T, name, count) __shared__ T name[count]
#define BLOCK ((uint64_t)blockIdx.x)
#define BLOCKS ((uint64_t)gridDim.x)
#define THREADS(t) for (uint32_t t = threadIdx.x, phase_once = 1; phase_once != 0; phase_once = 0)
#define PHASE(t)                                                                                   \
    for (uint32_t t = threadIdx.x, phase_once = 1; phase_once != 0; phase_once = 0, __syncthreads())
#define KEPT(T, name, count) T name[1][count]
#define KEPT_OF(t) (0 * (t))
#define UNROLLED _Pragma("unroll")
#define LANES_ALIGNED(bytes) __align__(bytes)
DEVICE void device_min_u64(uint64_t *at, uint64_t value) {
    atomicMin((unsigned long long *)at, (unsigned long long)value);
}

#else

/* The block that runs on this thread of the host. */
typedef struct DeviceBlock {
    uint64_t index, count;
    uint32_t reversed; /* its threads run from the last to the first */
} DeviceBlock;
static _Thread_local DeviceBlock device_block;

#define DEVICE static inline __attribute__((unused))
#define DEVICE_CALL static __attribute__((noinline, unused))
#define KERNEL(name, Parameters) static void name(const Parameters p)
#define SHARED(T, name, count) static _Thread_local T name[count]
#define BLOCK device_block.index
#define BLOCKS device_block.count
#define THREADS(t)                                                                                 \
    for (uint32_t phase_step = 0, t = device_thread(0); phase_step < CUDA_THREADS;                 \
         phase_step++, t = device_thread(phase_step))
#define PHASE(t) THREADS(t)
#define KEPT(T, name, count) static _Thread_local T name[CUDA_THREADS][count]
#define KEPT_OF(t) (t)
#define UNROLLED
#define LANES_ALIGNED(bytes) __attribute__((aligned(bytes)))
DEVICE uint32_t device_thread(uint32_t step) {
    return device_block.reversed ? CUDA_THREADS - 1 - step : step;
}
DEVICE void device_min_u64(uint64_t *at, uint64_t value) { *at = value < *at ? value : *at; }

#endif

/* Loops over the units of this thread: thread t of all, then those a whole grid further on. */
#define EACH_UNIT(i, t, units)                                                                     \
    for (uint64_t i = BLOCK * CUDA_THREADS + (t); i < (units); i += BLOCKS * CUDA_THREADS)
