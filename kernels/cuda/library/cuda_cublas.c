#include "kernels/cuda/library/cuda_cublas.h"

#include <string.h>

#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/runtime/cuda_stretch.h"

/* A larger workspace helps products of few but long rows, on GPUs with many units. */
static const uint64_t WORKSPACE_BYTES_MAX = (uint64_t)32 << 20;

/* Errors: EXHAUSTED no memory; DEVICE_LOST; FAILED otherwise. Messages have the library's name for
 * the error. */
static Error *check(CudaDevice *device, int status, const char *function) {
    if (status == CUBLAS_STATUS_SUCCESS) return NULL;
    const char *name = device->api->cublasLtGetStatusName(status);
    if (status == CUBLAS_STATUS_ALLOC_FAILED)
        FAIL(EXHAUSTED, "%s: %s: %s", device->base.name, function, name);
    TRY(cuda_check_context(device, function));
    FAIL(FAILED, "%s: %s: %s", device->base.name, function, name);
}
#define CUBLAS_TRY(device, function, ...)                                                          \
    TRY(check((device), (device)->api->function(__VA_ARGS__), #function))

Error *cuda_cublas_open(CudaDevice *device) {
    Error *error = cuda_symbols_load(CUDA_LIBRARY_CUBLASLT);
    if (error) {
        error_free(error); /* then our own kernels are used, as `devices --kernels` shows */
        return NULL;
    }
    CUBLAS_TRY(device, cublasLtCreate, &device->cublas);
    return NULL;
}

void cuda_cublas_close(CudaDevice *device) {
    if (device->cublas) (void)device->api->cublasLtDestroy(device->cublas);
    device->cublas = NULL;
}

static Error *make_layout(CudaDevice *device, const CudaCublasProblem *problem,
    const CudaCublasMatrix *matrix, CublasLayout *out) {
    CUBLAS_TRY(device, cublasLtMatrixLayoutCreate, out, problem->type, matrix->rows,
        matrix->columns, matrix->step);
    CUBLAS_TRY(device, cublasLtMatrixLayoutSetAttribute, *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
        &problem->batch_count, sizeof problem->batch_count);
    CUBLAS_TRY(device, cublasLtMatrixLayoutSetAttribute, *out,
        CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix->batch_step,
        sizeof matrix->batch_step);
    return NULL;
}

static Error *set(CudaDevice *device, CublasMatmulDesc desc, int attribute, int32_t value) {
    CUBLAS_TRY(device, cublasLtMatmulDescSetAttribute, desc, attribute, &value, sizeof value);
    return NULL;
}

static Error *set_all(
    CudaDevice *device, const CudaCublasProblem *problem, uint64_t bias, CublasMatmulDesc desc) {
    TRY(set(device, desc, CUBLASLT_MATMUL_DESC_TRANSA,
        problem->left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
    TRY(set(device, desc, CUBLASLT_MATMUL_DESC_TRANSB,
        problem->right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
    TRY(set(device, desc, CUBLASLT_MATMUL_DESC_EPILOGUE, problem->epilogue));
    if (!(problem->epilogue & CUBLASLT_EPILOGUE_BIAS)) return NULL;
    const void *pointer = (const void *)(uintptr_t)bias;
    CUBLAS_TRY(device, cublasLtMatmulDescSetAttribute, desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        &pointer, sizeof pointer);
    return NULL;
}

/* Made for each run, since the description holds the bias's address. */
static Error *make_desc(
    CudaDevice *device, const CudaCublasProblem *problem, uint64_t bias, CublasMatmulDesc *out) {
    CublasMatmulDesc desc;
    CUBLAS_TRY(device, cublasLtMatmulDescCreate, &desc, problem->compute, CUDA_R_32F);
    Error *error = set_all(device, problem, bias, desc);
    if (error) {
        (void)device->api->cublasLtMatmulDescDestroy(desc);
        return error;
    }
    *out = desc;
    return NULL;
}

static Error *set_preference(CudaDevice *device, CublasPreference preference) {
    static const int alignments[] = {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    const uint32_t alignment = CUDA_OPERANDS_ALIGNMENT;
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; /* beside none at all */
    CUBLAS_TRY(device, cublasLtMatmulPreferenceSetAttribute, preference,
        CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &WORKSPACE_BYTES_MAX, sizeof WORKSPACE_BYTES_MAX);
    CUBLAS_TRY(device, cublasLtMatmulPreferenceSetAttribute, preference,
        CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes);
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++)
        CUBLAS_TRY(device, cublasLtMatmulPreferenceSetAttribute, preference, alignments[i],
            &alignment, sizeof alignment);
    return NULL;
}

/* NOT_SUPPORTED is the library's word for having no algorithm. */
static Error *ask(CudaDevice *device, CublasMatmulDesc desc, CublasPreference preference,
    CudaCublasProduct *product, bool *out_found) {
    CublasHeuristic result;
    int count = 0;
    TRY(set_preference(device, preference));
    int status = device->api->cublasLtMatmulAlgoGetHeuristic(device->cublas, desc, product->left,
        product->right, product->to, product->to, preference, 1, &result, &count);
    *out_found =
        status == CUBLAS_STATUS_SUCCESS && count == 1 && result.state == CUBLAS_STATUS_SUCCESS;
    if (!*out_found && status != CUBLAS_STATUS_NOT_SUPPORTED)
        return check(device, status, "cublasLtMatmulAlgoGetHeuristic");
    if (!*out_found) return NULL;
    product->algorithm = result.algo;
    product->workspace_bytes = result.workspaceSize;
    return NULL;
}

static Error *choose(CudaDevice *device, CudaCublasProduct *product, bool *out_found) {
    CublasPreference preference;
    CublasMatmulDesc desc;
    /* the library checks only the alignment of this address */
    TRY(make_desc(device, &product->problem, CUDA_OPERANDS_ALIGNMENT, &desc));
    int status = device->api->cublasLtMatmulPreferenceCreate(&preference);
    Error *error = check(device, status, "cublasLtMatmulPreferenceCreate");
    if (!error) {
        error = ask(device, desc, preference, product, out_found);
        (void)device->api->cublasLtMatmulPreferenceDestroy(preference);
    }
    (void)device->api->cublasLtMatmulDescDestroy(desc);
    return error;
}

static Error *prepare(CudaDevice *device, CudaCublasProduct *product, bool *out_found) {
    const CudaCublasProblem *problem = &product->problem;
    TRY(make_layout(device, problem, &problem->left, &product->left));
    TRY(make_layout(device, problem, &problem->right, &product->right));
    TRY(make_layout(device, problem, &problem->to, &product->to));
    return choose(device, product, out_found);
}

Error *cuda_cublas_init(
    CudaDevice *device, const CudaCublasProblem *problem, CudaCublasProduct *out, bool *out_found) {
    CudaCublasProduct product = {.problem = *problem};
    CUDA_SCOPE(scope);
    *out_found = false;
    TRY(cuda_scope_enter(device, &scope));
    Error *error = prepare(device, &product, out_found);
    if (error || !*out_found)
        cuda_cublas_deinit(device, &product);
    else
        *out = product;
    return error;
}

void cuda_cublas_deinit(CudaDevice *device, CudaCublasProduct *product) {
    const CublasLayout layouts[] = {product->left, product->right, product->to};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i]) (void)device->api->cublasLtMatrixLayoutDestroy(layouts[i]);
}

/* A key from the words of the algorithm, whose meaning only the library knows. If equal words are
 * different kernels after all, the driver refuses the update of the graph. */
uint64_t cuda_cublas_stretch_key(const CudaCublasProduct *product) {
    uint64_t key = CUDA_STRETCH_KEY_CUBLAS + (uint64_t)product->problem.epilogue;
    for (size_t i = 0; i < sizeof product->algorithm.data / sizeof product->algorithm.data[0]; i++)
        key = (key ^ product->algorithm.data[i]) * 0x100000001b3;
    return key;
}

static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

Error *cuda_cublas_run(CudaDevice *device, const CudaCublasProduct *product,
    const CudaCublasAddresses *addresses, CUstream stream) {
    const CudaCublasProblem *problem = &product->problem;
    CublasMatmulDesc desc;
    /* not read if beta is 0 */
    uint64_t added = addresses->added ? addresses->added : addresses->to;
    TRY(make_desc(device, problem, addresses->bias, &desc));
    int status = device->api->cublasLtMatmul(device->cublas, desc, &problem->alpha,
        pointer(addresses->left), product->left, pointer(addresses->right), product->right,
        &problem->beta, pointer(added), product->to, pointer(addresses->to), product->to,
        &product->algorithm, pointer(addresses->workspace), product->workspace_bytes, stream);
    (void)device->api->cublasLtMatmulDescDestroy(desc);
    return check(device, status, "cublasLtMatmul");
}
