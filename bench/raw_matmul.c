#include "bench/raw_matmul.h"

/* cuda_cublas.c allows as much */
static const uint64_t WORKSPACE_BYTES_MAX = (uint64_t)32 << 20;

static Error *check(int result, const char *function) {
    if (result == 0) return NULL;
    FAIL(FAILED, "%s: %d", function, result);
}
#define CALL(cublas, function, ...) TRY(check((cublas)->api->function(__VA_ARGS__), #function))

static Error *open_library(uint32_t index, RawCublas *cublas) {
    TRY(cuda_symbols_start(0, &cublas->api));
    TRY(cuda_symbols_load(CUDA_LIBRARY_CUBLASLT));
    CALL(cublas, cuDeviceGet, &cublas->gpu, (int)index);
    CALL(cublas, cuDevicePrimaryCtxRetain, &cublas->context, cublas->gpu);
    CALL(cublas, cuCtxPushCurrent_v2, cublas->context);
    CALL(cublas, cuStreamCreate, &cublas->stream, CU_STREAM_NON_BLOCKING);
    CALL(cublas, cuEventCreate, &cublas->before, 0);
    CALL(cublas, cuEventCreate, &cublas->after, 0);
    CALL(cublas, cublasLtCreate, &cublas->handle);
    return NULL;
}

Error *raw_cublas_open(uint32_t index, RawCublas *out) {
    RawCublas cublas = {0};
    Error *error = open_library(index, &cublas);
    if (error)
        raw_cublas_close(&cublas);
    else
        *out = cublas;
    return error;
}

void raw_cublas_close(RawCublas *cublas) {
    const CudaSymbols *api = cublas->api;
    CUcontext popped;
    if (!cublas->context) return;
    if (cublas->handle) (void)api->cublasLtDestroy(cublas->handle);
    if (cublas->after) (void)api->cuEventDestroy_v2(cublas->after);
    if (cublas->before) (void)api->cuEventDestroy_v2(cublas->before);
    if (cublas->stream) (void)api->cuStreamDestroy_v2(cublas->stream);
    (void)api->cuCtxPopCurrent_v2(&popped);
    (void)api->cuDevicePrimaryCtxRelease_v2(cublas->gpu);
    *cublas = (RawCublas){0};
}

/* The library counts by columns: of a row-major matrix it sees the transpose. */
static Error *make_layout(const RawCublas *cublas, const MatmulShape *shape, uint64_t rows,
    uint64_t columns, CublasLayout *out) {
    const int type = shape->dtype == DTYPE_FLOAT16    ? CUDA_R_16F
                     : shape->dtype == DTYPE_BFLOAT16 ? CUDA_R_16BF
                                                      : CUDA_R_32F;
    const int32_t count = (int32_t)shape->batch;
    const int64_t step = (int64_t)(rows * columns);
    CALL(cublas, cublasLtMatrixLayoutCreate, out, type, columns, rows, (int64_t)columns);
    CALL(cublas, cublasLtMatrixLayoutSetAttribute, *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
        sizeof count);
    CALL(cublas, cublasLtMatrixLayoutSetAttribute, *out,
        CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step);
    return NULL;
}

static Error *ask(CublasPreference preference, RawMatmul *matmul) {
    RawCublas *cublas = matmul->cublas;
    CublasHeuristic result = {0};
    int count = 0;
    CALL(cublas, cublasLtMatmulPreferenceSetAttribute, preference,
        CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE_BYTES_MAX, sizeof WORKSPACE_BYTES_MAX);
    CALL(cublas, cublasLtMatmulAlgoGetHeuristic, cublas->handle, matmul->desc, matmul->left,
        matmul->right, matmul->to, matmul->to, preference, 1, &result, &count);
    if (count < 1) FAIL(UNSUPPORTED, "cuBLASLt has no algorithm for this product");
    TRY(check(result.state, "the algorithm's state"));
    matmul->algorithm = result.algo;
    matmul->workspace_bytes = result.workspaceSize;
    return NULL;
}

static Error *prepare(const MatmulShape *shape, RawMatmul *matmul) {
    RawCublas *cublas = matmul->cublas;
    CublasPreference preference;
    CALL(cublas, cublasLtMatmulDescCreate, &matmul->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    TRY(make_layout(cublas, shape, shape->depth, shape->columns, &matmul->left));
    TRY(make_layout(cublas, shape, shape->rows, shape->depth, &matmul->right));
    TRY(make_layout(cublas, shape, shape->rows, shape->columns, &matmul->to));
    CALL(cublas, cublasLtMatmulPreferenceCreate, &preference);
    Error *error = ask(preference, matmul);
    (void)cublas->api->cublasLtMatmulPreferenceDestroy(preference);
    return error;
}

Error *raw_matmul_init(RawCublas *cublas, const MatmulShape *shape, RawMatmul *out) {
    RawMatmul matmul = {.cublas = cublas};
    Error *error = prepare(shape, &matmul);
    if (error)
        raw_matmul_deinit(&matmul);
    else
        *out = matmul;
    return error;
}

void raw_matmul_deinit(RawMatmul *matmul) {
    const CublasLayout layouts[] = {matmul->left, matmul->right, matmul->to};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i]) (void)matmul->cublas->api->cublasLtMatrixLayoutDestroy(layouts[i]);
    if (matmul->desc) (void)matmul->cublas->api->cublasLtMatmulDescDestroy(matmul->desc);
    *matmul = (RawMatmul){0};
}

static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

Error *raw_matmul_time(const RawMatmul *matmul, const uint64_t operands[2], uint64_t to,
    uint64_t workspace, uint32_t count, double *out_ns) {
    static const float one = 1, zero = 0;
    RawCublas *cublas = matmul->cublas;
    float milliseconds;
    CALL(cublas, cuEventRecord, cublas->before, cublas->stream);
    for (uint32_t i = 0; i < count; i++)
        CALL(cublas, cublasLtMatmul, cublas->handle, matmul->desc, &one, pointer(operands[1]),
            matmul->left, pointer(operands[0]), matmul->right, &zero, pointer(to), matmul->to,
            pointer(to), matmul->to, &matmul->algorithm, pointer(workspace),
            matmul->workspace_bytes, cublas->stream);
    CALL(cublas, cuEventRecord, cublas->after, cublas->stream);
    CALL(cublas, cuStreamSynchronize, cublas->stream);
    CALL(cublas, cuEventElapsedTime, &milliseconds, cublas->before, cublas->after);
    *out_ns = (double)milliseconds * 1e6 / count;
    return NULL;
}
