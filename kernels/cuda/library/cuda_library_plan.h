#pragma once
/* The common part of the plans of cuBLASLt's products and cuDNN's convolutions: a launch copies
 * operands at unaligned addresses aside and the output back, and the plan frees its state of the
 * library. Called by cuda_cublas_matmul.c and cuda_cudnn_conv.c when they plan; launches run on the
 * thread of the execution. */
#include "kernels/cuda/runtime/cuda_operands.h"
#include "kernels/operator/plan.h"

/* The inputs of the fused operators; MatMul, Conv and the like have the first of them. */
enum { CUDA_LIBRARY_BIAS = 2, CUDA_LIBRARY_RESIDUAL = 3, CUDA_LIBRARY_INPUTS_MAX = 4 };

/* Addresses that pass cuda_operands_fit. */
typedef struct CudaLibraryAddresses {
    uint64_t inputs[CUDA_LIBRARY_INPUTS_MAX]; /* 0: an input that the library does not read */
    uint64_t to;
} CudaLibraryAddresses;

/* The functions of a library's plans. */
typedef struct CudaLibraryKind {
    const char *kernel_name;
    /* Queues the library's work on the launch's stream, in the device's context. */
    Error *(*run)(const Plan *plan, const Launch *launch, const CudaLibraryAddresses *at);
    /* Queues work on the launch's own operands, behind the library's. NULL: there is none. */
    Error *(*finish)(const Plan *plan, const Launch *launch);
    /* Frees the objects that the library made for the state. */
    void (*deinit)(CudaDevice *device, void *state);
} CudaLibraryKind;

/* The head of a plan's state. */
typedef struct CudaLibraryState {
    const CudaLibraryKind *kind;                   /* constant */
    uint32_t reads;                                /* bit i: the library reads input i */
    uint64_t input_bytes[CUDA_LIBRARY_INPUTS_MAX]; /* of those that the request has */
    uint64_t to_bytes;
} CudaLibraryState;

/* Makes a plan of a state that begins with a CudaLibraryState, whose kind and reads are set; the
 * bytes are set here.
 *
 * Errors:    INVALID operands beyond the limits of a shape; as of plan_create.
 * Ownership: takes the library's objects in the state, also on errors. */
MUST_CHECK Error *cuda_library_plan_create(Device *device, const PlanRequest *request, void *state,
    size_t state_size, uint64_t workspace_bytes, Plan **out);
