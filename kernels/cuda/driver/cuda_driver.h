#pragma once
/* The used parts of NVIDIA's interfaces, declared here so that the code builds without a toolkit:
 * types and numbers of the CUDA driver (cuda.h 13.0), of cuBLASLt (cublasLt.h, cublas_api.h and
 * library_types.h 13.0) and of NVRTC (nvrtc.h 13.0); those of cuDNN are in cuda_cudnn_types.h.
 * Names are NVIDIA's. The functions are in cuda_symbols.def. tests/kernels/cuda_headers.c compares
 * with NVIDIA's headers where they exist. Pure: no state. */
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/driver/cuda_cudnn_types.h"

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

/* CUresult */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_ILLEGAL_STATE = 401,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
    CUDA_ERROR_EXTERNAL_DEVICE = 911,
    CUDA_ERROR_UNKNOWN = 999,
};

/* CUdevice_attribute */
enum {
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
};

/* CUstream_flags, CUevent_flags */
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };

/* CUstreamCaptureMode, CUgraphExecUpdateResult */
enum {
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    CU_GRAPH_EXEC_UPDATE_SUCCESS = 0,
    CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED = 2,
    CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED = 3,
};

typedef struct CUgraphExecUpdateResultInfo {
    int result; /* CUgraphExecUpdateResult */
    CUgraphNode errorNode, errorFromNode;
} CUgraphExecUpdateResultInfo;

/* CUpointer_attribute, CUmemorytype */
enum { CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_MEMORYTYPE_HOST = 1 };

/* CUfunction_attribute */
enum { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };

/* CUmemPool_attribute: both are of cuuint64_t */
enum {
    CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
};

/* CUmemAllocationType, CUmemLocationType */
enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_LOCATION_TYPE_DEVICE = 1 };

typedef struct CUmemPoolProps {
    int allocType;
    int handleTypes; /* 0: not shared with other processes */
    struct {
        int type, id;
    } location;
    void *win32SecurityAttributes;
    size_t maxSize; /* 0: the system's */
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;

/* ---- cuBLASLt; cublasLtHandle_t, cublasLtMatmulDesc_t and so on ---- */

typedef struct cublasLtContext *CublasHandle;
typedef struct cublasLtMatmulDesc *CublasMatmulDesc;
typedef struct cublasLtMatrixLayout *CublasLayout;
typedef struct cublasLtMatmulPreference *CublasPreference;

typedef struct cublasLtMatmulAlgo {
    uint64_t data[8];
} CublasAlgorithm;

typedef struct cublasLtMatmulHeuristicResult {
    CublasAlgorithm algo;
    size_t workspaceSize;
    int state; /* cublasStatus_t */
    float wavesCount;
    int reserved[4];
} CublasHeuristic;

/* cublasStatus_t */
enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
};

/* cudaDataType_t, cublasComputeType_t, cublasOperation_t */
enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };

/* cublasLtMatrixLayoutAttribute_t: of int32_t and int64_t */
enum {
    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
};

/* cublasLtMatmulDescAttributes_t: of int32_t, but for the pointer */
enum {
    CUBLASLT_MATMUL_DESC_TRANSA = 3,
    CUBLASLT_MATMUL_DESC_TRANSB = 4,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
};

/* cublasLtEpilogue_t: each with and without a bias */
enum {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_RELU = 2,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_RELU_BIAS = 6,
    CUBLASLT_EPILOGUE_GELU = 32,
    CUBLASLT_EPILOGUE_GELU_BIAS = 36,
};

/* cublasLtMatmulPreferenceAttributes_t: the first of uint64_t, the others of uint32_t */
enum {
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

/* cublasLtReductionScheme_t */
enum { CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2 };

/* ---- NVRTC; nvrtcProgram ---- */

typedef struct _nvrtcProgram *NvrtcProgram;

/* nvrtcResult */
enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_OUT_OF_MEMORY = 1, NVRTC_ERROR_COMPILATION = 6 };
