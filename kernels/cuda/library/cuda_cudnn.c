#include "kernels/cuda/library/cuda_cudnn.h"

#include "base/allocator.h"
#include "kernels/cuda/library/cuda_cudnn_graph.h"
#include "kernels/cuda/runtime/cuda_scope.h"

enum { CONFIGS_MAX = 128 };

/* Large, since engines for half types need copies of the operands with channels together. */
static const int64_t WORKSPACE_BYTES_MAX = (int64_t)256 << 20;

/* ---- the library ---- */

static void destroy(CudaDevice *device, CudaCudnn *cudnn) {
    if (cudnn->handle) (void)device->api->cudnnDestroy(cudnn->handle);
    (void)pthread_mutex_destroy(&cudnn->mutex);
    memory_free(cudnn);
}

/* Without the library, or on a GPU that it does not support, our own kernels are used, as
 * `devices --kernels` shows. Each version of the library supports only some generations of GPUs. */
Error *cuda_cudnn_open(CudaDevice *device) {
    void *block;
    Error *error = cuda_symbols_load(CUDA_LIBRARY_CUDNN);
    if (error) {
        error_free(error);
        return NULL;
    }
    TRY(memory_alloc(1, sizeof(CudaCudnn), &block));
    CudaCudnn *cudnn = block;
    (void)pthread_mutex_init(&cudnn->mutex, NULL);
    error = cuda_cudnn_check(device, device->api->cudnnCreate(&cudnn->handle), "cudnnCreate");
    if (!error) {
        device->cudnn = cudnn;
        return NULL;
    }
    cudnn->handle = NULL;
    destroy(device, cudnn);
    if (error_code(error) != ERROR_UNSUPPORTED) return error;
    error_free(error);
    return NULL;
}

void cuda_cudnn_close(CudaDevice *device) {
    if (device->cudnn) destroy(device, device->cudnn);
    device->cudnn = NULL;
}

/* ---- which engine ---- */

/* The numerical notes that an engine may have, by bit. Not allowed: additions in no fixed order,
 * the algorithms of Winograd and Fourier, and sums in less than float32. */
static uint32_t allowed_notes(const CudaCudnnConv *conv) {
    uint32_t allowed = 1U << CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
    if (conv->type != CUDNN_DATA_FLOAT || conv->rounds)
        allowed |= 1U << CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    if (conv->type == CUDNN_DATA_FLOAT && conv->rounds)
        allowed |= 1U << CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    return allowed;
}

/* The notes as bits; notes that a later library adds become the highest bit. */
static Error *read_notes(
    CudaDevice *device, CudnnDescriptor engine, int attribute, int type, uint32_t *out) {
    enum { NOTES_MAX = 32 };
    int notes[NOTES_MAX];
    int64_t count = 0;
    CUDNN_TRY(device, cudnnBackendGetAttribute, engine, attribute, type, NOTES_MAX, &count, notes);
    *out = 0;
    for (int64_t i = 0; i < count && i < NOTES_MAX; i++)
        *out |= 1U << (notes[i] >= 0 && notes[i] < NOTES_MAX ? notes[i] : NOTES_MAX - 1);
    return NULL;
}

/* Refuses engines that are compiled at run time: the compiler decides their bits, and the
 * determinism class does not name it. */
static Error *check_engine(
    CudaDevice *device, CudnnDescriptor config, const CudaCudnnConv *conv, bool *out_fits) {
    CUDA_CUDNN_PILE(pile, device);
    CudnnDescriptor engine;
    int64_t count;
    uint32_t numerical, behavior;
    TRY(cuda_cudnn_descriptor_make(&pile, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    CUDNN_TRY(device, cudnnBackendGetAttribute, config, CUDNN_ATTR_ENGINECFG_ENGINE,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
    TRY(read_notes(
        device, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, &numerical));
    TRY(read_notes(
        device, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, &behavior));
    *out_fits = (numerical & ~allowed_notes(conv)) == 0 &&
                (behavior & 1U << CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) == 0;
    return NULL;
}

static Error *set_target(CudaDevice *device, CudnnDescriptor descriptor, int handle, int gpu) {
    const CudaCudnn *cudnn = device->cudnn;
    if (cudnn->gpu) return cuda_cudnn_descriptor_set_other(device, descriptor, gpu, cudnn->gpu);
    return cuda_cudnn_descriptor_set(
        device, descriptor, handle, CUDNN_TYPE_HANDLE, 1, &cudnn->handle);
}

static Error *finish_plan(
    CudaDevice *device, CudnnDescriptor config, CudnnDescriptor plan, int64_t *out_bytes) {
    int64_t count;
    TRY(cuda_cudnn_descriptor_set_other(
        device, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config));
    TRY(set_target(
        device, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
    TRY(cuda_cudnn_descriptor_finalize(device, plan));
    CUDNN_TRY(device, cudnnBackendGetAttribute, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
        CUDNN_TYPE_INT64, 1, &count, out_bytes);
    return NULL;
}

/* Heuristics also suggest configs that fail. A config that fails for any reason other than memory
 * does not fit. */
static Error *try_config(CudaDevice *device, CudnnDescriptor config, const CudaCudnnConv *conv,
    CudaCudnnProgram *program, bool *out_found) {
    CudnnDescriptor plan;
    int64_t bytes = 0;
    bool fits;
    TRY(check_engine(device, config, conv, &fits));
    if (!fits) return NULL;
    CUDNN_TRY(device, cudnnBackendCreateDescriptor, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan);
    Error *error = finish_plan(device, config, plan, &bytes);
    if (!error && bytes >= 0 && bytes <= WORKSPACE_BYTES_MAX) {
        program->plan = plan;
        program->workspace_bytes = (uint64_t)bytes;
        *out_found = true;
        return NULL;
    }
    (void)device->api->cudnnBackendDestroyDescriptor(plan);
    if (error_code(error) == ERROR_EXHAUSTED) return error;
    error_free(error);
    return NULL;
}

static Error *ask(CudaDevice *device, CudaCudnnPile *pile, CudnnDescriptor graph, int mode,
    CudnnDescriptor *out) {
    TRY(cuda_cudnn_descriptor_make(pile, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, out));
    TRY(cuda_cudnn_descriptor_set_other(
        device, *out, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
    TRY(cuda_cudnn_descriptor_set_choice(
        device, *out, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
    if (device->cudnn->gpu) /* otherwise the graph has the library's handle */
        TRY(cuda_cudnn_descriptor_set_other(
            device, *out, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device->cudnn->gpu));
    return cuda_cudnn_descriptor_finalize(device, *out);
}

static Error *try_mode(CudaDevice *device, CudnnDescriptor graph, int mode,
    const CudaCudnnConv *conv, CudaCudnnProgram *program, bool *out_found) {
    CUDA_CUDNN_PILE(pile, device);
    CudnnDescriptor answers, configs[CONFIGS_MAX];
    int64_t count = 0;
    TRY(ask(device, &pile, graph, mode, &answers));
    CUDNN_TRY(device, cudnnBackendGetAttribute, answers, CUDNN_ATTR_ENGINEHEUR_RESULTS,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, NULL);
    if (count <= 0) return NULL;
    if (count > CONFIGS_MAX) count = CONFIGS_MAX;
    for (int64_t i = 0; i < count; i++)
        TRY(cuda_cudnn_descriptor_make(&pile, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configs[i]));
    int64_t filled = 0;
    CUDNN_TRY(device, cudnnBackendGetAttribute, answers, CUDNN_ATTR_ENGINEHEUR_RESULTS,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &filled, configs);
    for (int64_t i = 0; i < filled && i < count && !*out_found; i++)
        TRY(try_config(device, configs[i], conv, program, out_found));
    return NULL;
}

/* The library reports an unsupported convolution for the graph, or for one mode of its
 * heuristics. */
static Error *choose(
    CudaDevice *device, const CudaCudnnConv *conv, CudaCudnnProgram *program, bool *out_found) {
    static const int modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK};
    CUDA_CUDNN_PILE(pile, device);
    CudnnDescriptor graph;
    Error *error = cuda_cudnn_graph_make(&pile, device->cudnn->handle, conv, &graph);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0] && !error && !*out_found; i++) {
        error = try_mode(device, graph, modes[i], conv, program, out_found);
        if (error_code(error) != ERROR_UNSUPPORTED) continue;
        error_free(error);
        error = NULL;
    }
    if (error_code(error) != ERROR_UNSUPPORTED) return error;
    error_free(error);
    return NULL;
}

Error *cuda_cudnn_init(
    CudaDevice *device, const CudaCudnnConv *conv, CudaCudnnProgram *out, bool *out_found) {
    CudaCudnnProgram program = {.has_added = conv->has_added, .has_bias = conv->has_bias};
    CudaCudnn *cudnn = device->cudnn;
    CUDA_SCOPE(scope);
    *out_found = false;
    if (cudnn->handle) TRY(cuda_scope_enter(device, &scope));
    (void)pthread_mutex_lock(&cudnn->mutex);
    Error *error = choose(device, conv, &program, out_found);
    (void)pthread_mutex_unlock(&cudnn->mutex);
    if (!error && *out_found) *out = program;
    return error;
}

void cuda_cudnn_deinit(CudaDevice *device, CudaCudnnProgram *program) {
    CUDA_SCOPE(scope);
    if (!program->plan) return;
    (void)cuda_scope_try(device, &scope); /* the plan may hold modules of the context */
    (void)device->api->cudnnBackendDestroyDescriptor(program->plan);
    program->plan = NULL;
}

/* ---- running ---- */

static Error *make_pack(CudaCudnnPile *pile, const CudaCudnnProgram *program,
    const uint64_t *addresses, uint64_t workspace, CudnnDescriptor *out) {
    CudaDevice *device = pile->device;
    int64_t ids[CUDA_CUDNN_TENSOR_COUNT], count = 0;
    void *pointers[CUDA_CUDNN_TENSOR_COUNT], *scratch = (void *)(uintptr_t)workspace;
    for (int i = 0; i < CUDA_CUDNN_TENSOR_COUNT; i++) {
        if ((i == CUDA_CUDNN_ADDED && !program->has_added) ||
            (i == CUDA_CUDNN_BIAS && !program->has_bias))
            continue;
        ids[count] = i + 1;
        pointers[count++] = (void *)(uintptr_t)addresses[i];
    }
    TRY(cuda_cudnn_descriptor_make(pile, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, out));
    TRY(cuda_cudnn_descriptor_set(
        device, *out, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids));
    TRY(cuda_cudnn_descriptor_set(
        device, *out, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers));
    TRY(cuda_cudnn_descriptor_set(
        device, *out, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch));
    return cuda_cudnn_descriptor_finalize(device, *out);
}

static Error *execute_locked(
    CudaDevice *device, CudnnDescriptor plan, CudnnDescriptor pack, CUstream stream) {
    CUDNN_TRY(device, cudnnSetStream, device->cudnn->handle, stream);
    CUDNN_TRY(device, cudnnBackendExecute, device->cudnn->handle, plan, pack);
    return NULL;
}

Error *cuda_cudnn_run(CudaDevice *device, const CudaCudnnProgram *program,
    const uint64_t *addresses, uint64_t workspace, CUstream stream) {
    CUDA_CUDNN_PILE(pile, device);
    CudnnDescriptor pack;
    TRY(make_pack(&pile, program, addresses, workspace, &pack));
    (void)pthread_mutex_lock(&device->cudnn->mutex);
    Error *error = execute_locked(device, program->plan, pack, stream);
    (void)pthread_mutex_unlock(&device->cudnn->mutex);
    return error;
}
