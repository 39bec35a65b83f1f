#pragma once
/* How the fake driver's functions begin and end. */
#include "tests/support/fake_cuda/fake_cuda.h"

#define CUDA_FUNCTION(library, result, name, parameters, since) result name parameters;
#include "kernels/cuda/driver/cuda_symbols.def"
#undef CUDA_FUNCTION

#define FAKE_CUDA_EXPORT __attribute__((visibility("default")))
#define FAKE_CUDA_FUNCTION FAKE_CUDA_EXPORT int

/* The context that is current in this thread; NULL: none. */
__attribute__((visibility("default"))) struct CUctx_st *fake_driver_current(void);

/* Takes the mutex; leaves the function when no context is current, or a spoiled one, or when the
 * call is to fail. */
#define FAKE_CUDA_CALL(context)                                                                    \
    (void)pthread_mutex_lock(&fake_mutex);                                                         \
    struct CUctx_st *context = fake_driver_current();                                              \
    if (!context || context->error)                                                                \
        FAKE_CUDA_RETURN(context ? context->error : CUDA_ERROR_INVALID_CONTEXT);                   \
    const int fault_ = fake_control_fail(__func__);                                                \
    if (fault_) FAKE_CUDA_RETURN(fault_)
#define FAKE_CUDA_RETURN(value)                                                                    \
    do {                                                                                           \
        const int value_ = (value);                                                                \
        (void)pthread_mutex_unlock(&fake_mutex);                                                   \
        return value_;                                                                             \
    } while (0)
