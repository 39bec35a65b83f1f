/* Conv, FusedConv and ConvTranspose by cuDNN. Tensors are described in their own layout, a signal
 * as an image of one row. An epilogue that the library does not fuse with a convolution is applied
 * in place by a kernel of our own afterwards; shapes that the library does not take are declined,
 * and the next tables' kernels take them. */
#include "base/checked.h"
#include "kernels/cuda/library/cuda_cudnn.h"
#include "kernels/cuda/library/cuda_library_plan.h"
#include "kernels/cuda/driver/cuda_fatbin.h"
#include "kernels/cuda/planners/cuda_matmul.h"
#include "kernels/arguments/channels_first.h"
#include "kernels/arguments/window.h"
#include "kernels/cuda/runtime/cuda_scope.h"
#include "kernels/cuda/runtime/cuda_stream.h"

enum { BIAS = CUDA_LIBRARY_BIAS, RESIDUAL = CUDA_LIBRARY_RESIDUAL };

typedef struct State {
    CudaLibraryState base;
    CudaCudnnProgram program;
    /* in the workspace, a bias of zeros for requests without one; 0: none */
    uint64_t zeros_offset, zeros_bytes;
    /* the request has a bias, which the program or `after` adds */
    bool has_bias;
    bool finishes;
    CudaEpilogueParams after; /* used if `finishes` */
} State;

/* ---- convolutions that the library can compute ---- */

static int type_of(DType dtype) {
    if (dtype == DTYPE_FLOAT16) return CUDNN_DATA_HALF;
    return dtype == DTYPE_BFLOAT16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

/* A tensor's dimensions with `padding` of size 1 before the spatial ones. */
static bool place_dims(const Shape *shape, uint32_t padding, int64_t *out) {
    for (uint32_t i = 0; i < shape->rank + padding; i++) {
        out[i] = i < 2 ? shape->dims[i] : i < 2 + padding ? 1 : shape->dims[i - padding];
        if (out[i] < 1) return false;
    }
    return true;
}

/* The library computes the output's size itself, from the larger to the smaller side. */
static bool place_window(
    const Window *window, bool transposed, uint32_t padding, CudaCudnnConv *conv) {
    for (uint32_t i = 0; i < CUDA_CUDNN_SPATIAL_MAX; i++) conv->stride[i] = conv->dilation[i] = 1;
    for (uint32_t i = 0; i < window->rank; i++) {
        const int64_t large = transposed ? window->output[i] : window->input[i];
        const int64_t small = transposed ? window->input[i] : window->output[i];
        const int64_t reach = (window->kernel[i] - 1) * window->dilation[i] + 1;
        const int64_t room = large + window->pad_begin[i] + window->pad_end[i] - reach;
        if (room < 0 || room / window->stride[i] + 1 != small) return false;
        conv->stride[i + padding] = window->stride[i];
        conv->dilation[i + padding] = window->dilation[i];
        conv->pad_begin[i + padding] = window->pad_begin[i];
        conv->pad_end[i + padding] = window->pad_end[i];
    }
    return true;
}

static Error *describe(
    CudaDevice *device, const PlanRequest *request, CudaCudnnConv *conv, bool *out_fits) {
    const Shape *from = &request->inputs[0].shape;
    const uint32_t padding = from->rank == 3;
    Window window;
    *conv = (CudaCudnnConv){.type = type_of(request->inputs[0].dtype),
        .rank = from->rank + padding,
        .transposed = request->operator_info->id == OPERATOR_CONV_TRANSPOSE,
        .rounds = device->options.tf32};
    TRY(conv->transposed ? window_of_transpose(request, &window) : window_of(request, &window));
    *out_fits = conv->rank <= CUDA_CUDNN_RANK_MAX && place_dims(from, padding, conv->from) &&
                place_dims(&request->inputs[1].shape, padding, conv->weights) &&
                place_dims(&request->outputs[0].shape, padding, conv->to) &&
                place_window(&window, conv->transposed, padding, conv);
    return NULL;
}

/* Divides the epilogue between the library and a kernel behind it. */
static void place_epilogue(
    const PlanRequest *request, const CpuEpilogue *epilogue, CudaCudnnConv *conv, State *state) {
    const Shape *to = &request->outputs[0].shape;
    const Activation activation = epilogue->activation;
    const bool activates = activation != ACTIVATION_NONE && activation != ACTIVATION_RELU;
    state->has_bias = plan_request_has(request, BIAS);
    state->finishes = activates || (conv->transposed && state->has_bias);
    if (!conv->transposed) {
        conv->has_added = plan_request_has(request, RESIDUAL);
        conv->relu = activation == ACTIVATION_RELU;
        conv->has_bias = state->has_bias || conv->has_added || conv->relu;
    }
    if (conv->has_bias && !state->has_bias)
        state->zeros_bytes = (uint64_t)conv->to[1] * dtype_bits(request->outputs[0].dtype) / 8;
    if (conv->has_bias && state->has_bias) state->base.reads |= 1U << BIAS;
    if (conv->has_added) state->base.reads |= 1U << RESIDUAL;
    state->after = (CudaEpilogueParams){.count = (uint64_t)shape_count_unchecked(to),
        .pixels = shape_product(to, 2, to->rank),
        .channels = to->dims[1],
        .dtype = request->outputs[0].dtype,
        .epilogue = cuda_epilogue_of(epilogue)};
}

/* ---- launch ---- */

static uint64_t align_up(uint64_t address) {
    const uint64_t mask = CUDA_CUDNN_WORKSPACE_ALIGNMENT - 1;
    return (address + mask) & ~mask;
}

static Error *finish(const Plan *plan, const Launch *launch) {
    const State *state = plan_state(plan);
    CudaEpilogueParams params = state->after;
    if (!state->finishes) return NULL;
    params.to = launch->outputs[0];
    if (!state->program.has_bias && state->has_bias) params.epilogue.bias = launch->inputs[BIAS];
    return cuda_run_units(
        plan, launch, CUDA_KERNEL_EPILOGUE_F32, params.count, &params, sizeof params);
}

/* A graph holds single launches, but the library decides how many launches a plan makes. So they
 * are queued behind the recorded ones. */
static Error *run(const Plan *plan, const Launch *launch, const CudaLibraryAddresses *at) {
    const State *state = plan_state(plan);
    CudaDevice *device = cuda_device(plan->device);
    const CUstream queue = cuda_stream(device, launch->stream);
    const uint64_t workspace = align_up(launch->workspace);
    uint64_t addresses[CUDA_CUDNN_TENSOR_COUNT] = {[CUDA_CUDNN_FROM] = at->inputs[0],
        [CUDA_CUDNN_WEIGHTS] = at->inputs[1],
        [CUDA_CUDNN_TO] = at->to,
        [CUDA_CUDNN_ADDED] = at->inputs[RESIDUAL],
        [CUDA_CUDNN_BIAS] = at->inputs[BIAS]};
    if (state->zeros_bytes) {
        addresses[CUDA_CUDNN_BIAS] = workspace + state->zeros_offset;
        CUDA_TRY(device, cuMemsetD8Async, addresses[CUDA_CUDNN_BIAS], 0, state->zeros_bytes, queue);
    }
    return cuda_cudnn_run(device, &state->program, addresses, workspace, queue);
}

/* ---- plan ---- */

static void deinit(CudaDevice *device, void *state) {
    cuda_cudnn_deinit(device, &((State *)state)->program);
}

static const CudaLibraryKind kind = {"cuda.cudnn_conv", run, finish, deinit};

/* In order: the library's workspace, then the zeros. The launch's workspace may be less aligned
 * than the library needs, so there is slack. */
static Error *lay_out(State *state, uint64_t *out_bytes) {
    const uint64_t slack = CUDA_CUDNN_WORKSPACE_ALIGNMENT;
    *out_bytes = 0;
    state->zeros_offset = align_up(state->program.workspace_bytes);
    const uint64_t bytes = state->zeros_offset + state->zeros_bytes;
    if (bytes && !checked_add_u64(bytes, slack, out_bytes))
        FAIL(INVALID, "the workspace is too large");
    return NULL;
}

static Error *plan_conv(Device *device, const PlanRequest *request, Plan **out) {
    CudaCudnnConv conv;
    State state = {.base = {.kind = &kind, .reads = 3}};
    CpuEpilogue epilogue;
    bool fits, found;
    uint64_t workspace_bytes;
    ChannelsFirst first;
    const PlanRequest *plain = request;
    *out = NULL;
    if (channels_last_is(request)) {
        channels_first_of(request, &first);
        plain = &first.request;
    }
    TRY(describe(cuda_device(device), plain, &conv, &fits));
    if (!fits) return NULL;
    conv.channels_last = plain != request;
    TRY(cpu_epilogue_of(request, CPU_LEVEL_PORTABLE, DTYPE_FLOAT32, &epilogue));
    place_epilogue(plain, &epilogue, &conv, &state);
    if (state.finishes && !cuda_fatbin.image) return NULL; /* built without our kernels */
    TRY(cuda_cudnn_init(cuda_device(device), &conv, &state.program, &found));
    if (!found) return NULL;
    Error *error = lay_out(&state, &workspace_bytes);
    if (error) {
        deinit(cuda_device(device), &state);
        return error;
    }
    TRY(cuda_library_plan_create(device, request, &state, sizeof state, workspace_bytes, out));
    (*out)->in_place = 0; /* the residual is read in an order of the library's */
    return NULL;
}

static const Kernel cuda_cudnn_conv[] = {
    {OPERATOR_CONV, DTYPES_FLOAT32_AND_HALF, plan_conv, "cuda.cudnn_conv", 0},
    {OPERATOR_FUSED_CONV, DTYPES_FLOAT32_AND_HALF, plan_conv, "cuda.cudnn_conv", 0},
    {OPERATOR_CONV_TRANSPOSE, DTYPES_FLOAT32_AND_HALF, plan_conv, "cuda.cudnn_conv", 0},
    KERNELS_END,
};

const Kernel *const *cuda_cudnn_tables(void) {
    static const Kernel *const tables[] = {cuda_cudnn_conv, NULL};
    return tables;
}
