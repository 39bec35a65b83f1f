/* FusedConv over images [N, H, W, C] and volumes [N, D, H, W, C] of float32 and, through float32,
 * of float16 and bfloat16: after Winograd if that is faster, with vectors of channels if each
 * channel is a group, otherwise directly. The choice is a rule that depends on the weights and
 * attributes alone. Weights that are not constant are packed by every launch, and give the same
 * bits.
 *
 * Signals [N, C, L] of Conv and FusedConv are handled as images of one row, transposed to that
 * order and back: they have few elements beside their weights. */
#include "kernels/cpu/conv/cpu_conv_images.h"

#include "kernels/cpu/conv/cpu_conv_last_depthwise.h"
#include "kernels/cpu/movement/cpu_copy.h"
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/conv/cpu_winograd.h"
#include "kernels/arguments/channels_first.h"

enum {
    HEIGHT = 0,
    WIDTH = 1,
    SIGNAL_RANK = 3,
    IMAGE_RANK = 4,
    VOLUME_RANK = 5,
    SIGNAL_FILTERS_MIN = 8, /* fewer leave vectors of filters empty */
};

static bool is_last(const OperatorInfo *info, const Attributes *attributes) {
    return info->id == OPERATOR_FUSED_CONV && attributes_int(attributes, "channels_last") != 0;
}

/* True for a kernel of one position: a product over the signal in its own order. */
static bool takes_signal(const Attributes *attributes, const Shape *weights) {
    return attributes_int(attributes, "group") == 1 && weights->rank == SIGNAL_RANK &&
           weights->dims[0] >= SIGNAL_FILTERS_MIN && weights->dims[2] > 1;
}

static bool takes(
    const OperatorInfo *info, const Attributes *attributes, DType dtype, const Shape *weights) {
    if (info->id != OPERATOR_FUSED_CONV && info->id != OPERATOR_CONV) return false;
    if (!dtype_in(DTYPES_FLOAT32_AND_HALF, dtype) || shape_count_unchecked(weights) == 0)
        return false;
    if (!is_last(info, attributes)) return takes_signal(attributes, weights);
    const int64_t groups = attributes_int(attributes, "group");
    const bool has_rank = weights->rank == IMAGE_RANK || weights->rank == VOLUME_RANK;
    return has_rank && groups > 0 && weights->dims[0] % groups == 0;
}

/* A signal's kernel, seen as an image's, has one row. */
static Shape image_weights(const Shape *weights) {
    if (weights->rank != SIGNAL_RANK) return *weights;
    return (Shape){IMAGE_RANK, {weights->dims[0], weights->dims[1], 1, weights->dims[2]}};
}

static uint32_t layout_of(
    const CpuDevice *device, const Attributes *attributes, const Shape *weights) {
    const int64_t groups = attributes_int(attributes, "group");
    if (groups > 1 && weights->dims[1] == 1 && weights->dims[0] == groups)
        return CPU_LAYOUT_DEPTHWISE;
    return cpu_winograd_takes(&device->rules, attributes, weights) ? CPU_LAYOUT_WINOGRAD
                                                                   : CPU_LAYOUT_CONV_LAST;
}

static int64_t packed_count_of(
    uint32_t layout, const Attributes *attributes, const Shape *weights) {
    if (layout == CPU_LAYOUT_DEPTHWISE) return cpu_conv_last_depthwise_packed_count(weights);
    if (layout == CPU_LAYOUT_WINOGRAD) return cpu_winograd_packed_count(weights);
    return cpu_conv_last_packed_count(weights, attributes_int(attributes, "group"));
}

static void pack(const CpuDevice *device, uint32_t layout, int64_t groups, const float *plain,
    const Shape *weights, float *to) {
    if (layout == CPU_LAYOUT_DEPTHWISE)
        cpu_conv_last_depthwise_pack(plain, weights, to);
    else if (layout == CPU_LAYOUT_WINOGRAD)
        cpu_winograd_pack(device->level, plain, weights, to);
    else
        cpu_conv_last_pack(device->level, plain, weights, groups, to);
}

static bool takes_constant(const PackRequest *request) {
    const TensorSpec *weights = &request->constant;
    return request->input_index == 1 &&
           takes(request->operator_info, request->attributes, weights->dtype, &weights->shape);
}

bool cpu_conv_images_pack_rule(const CpuDevice *device, const PackRequest *request,
    uint32_t *out_layout, uint64_t *out_bytes) {
    if (device->portable_only || !takes_constant(request)) return false;
    const Shape weights = image_weights(&request->constant.shape);
    *out_layout = layout_of(device, request->attributes, &weights);
    *out_bytes =
        (uint64_t)packed_count_of(*out_layout, request->attributes, &weights) * sizeof(float);
    return true;
}

bool cpu_conv_images_packs(const CpuDevice *device, const PackRequest *request, uint32_t layout) {
    if (!takes_constant(request)) return false;
    const Shape weights = image_weights(&request->constant.shape);
    return layout == layout_of(device, request->attributes, &weights);
}

void cpu_conv_images_pack(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const float *plain, float *to) {
    const Shape weights = image_weights(&request->constant.shape);
    pack(device, layout, attributes_int(request->attributes, "group"), plain, &weights, to);
}

typedef struct ImagesState {
    uint32_t layout;      /* of the packed weights; also chooses the algorithm */
    int64_t packed_count; /* floats at the workspace's start; 0: the weights are packed already */
    Shape weights;
    bool has_output;
    CpuConvLast direct; /* the sizes of the convolution, for each of the algorithms */
    CpuWinograd transformed;
    CpuConvLastDepthwise depthwise;
    bool reorders;                      /* a signal: floats behind the packed weights */
    int64_t source_count, result_count; /* twice with a residual */
    CpuCopy enter, leave, back;         /* back: of the residual */
} ImagesState;

static Error *run_conv(
    const ImagesState *state, const CpuFloatCall *call, const CpuConvLastBuffers *buffers) {
    if (state->layout == CPU_LAYOUT_DEPTHWISE)
        return cpu_conv_last_depthwise_run(call->device, &state->depthwise, buffers, call->launch);
    if (state->layout == CPU_LAYOUT_WINOGRAD)
        return cpu_winograd_run(call->device, &state->transformed, buffers, call->launch);
    return cpu_conv_last_run(call->device, &state->direct, buffers, call->launch);
}

static Error *run_signal(
    const ImagesState *state, const CpuFloatCall *call, CpuConvLastBuffers *buffers) {
    const uint32_t threads = call->launch->threads;
    float *source = buffers->scratch, *result = source + state->source_count;
    buffers->scratch = result + state->result_count;
    TRY(cpu_copy_run(call->device, threads, &state->enter, source, buffers->x));
    buffers->x = source;
    if (buffers->residual) {
        float *residual = buffers->scratch;
        buffers->scratch += state->result_count;
        TRY(cpu_copy_run(call->device, threads, &state->back, residual, buffers->residual));
        buffers->residual = residual;
    }
    buffers->y = result;
    TRY(run_conv(state, call, buffers));
    return cpu_copy_run(call->device, threads, &state->leave, call->outputs[0], result);
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    const ImagesState *state = opaque;
    if (!state->has_output) return NULL;
    CpuConvLastBuffers buffers = {
        .x = call->inputs[0],
        .w = call->inputs[1],
        .bias = state->direct.has_bias ? call->inputs[2] : NULL,
        .residual = state->direct.has_residual ? call->inputs[3] : NULL,
        .y = call->outputs[0],
        .scratch = call->workspace, /* NULL where nothing is needed */
    };
    static const float nothing = 0; /* stands for an image of size 0, which has no address */
    if (!buffers.x) buffers.x = &nothing;
    if (state->packed_count > 0) {
        pack(call->device, state->layout, state->direct.groups, buffers.w, &state->weights,
            buffers.scratch);
        buffers.w = buffers.scratch;
        buffers.scratch += state->packed_count;
    }
    if (state->reorders) return run_signal(state, call, &buffers);
    return run_conv(state, call, &buffers);
}

/* A signal's row as an image's. */
static void widen(Window *window) {
    int64_t *const all[] = {window->kernel, window->stride, window->dilation, window->pad_begin,
        window->pad_end, window->input, window->output};
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i][WIDTH] = all[i][HEIGHT];
        all[i][HEIGHT] = all[i] != window->pad_begin && all[i] != window->pad_end;
    }
    window->rank = 2;
}

/* The copy from [N, C, L] to [N, L, C], or back. */
static void reorder_of(const Shape *signal, bool back, CpuCopy *out) {
    const int64_t images = signal->dims[0], channels = signal->dims[1], pixels = signal->dims[2];
    const int64_t last[] = {images, pixels, channels}, first[] = {images, channels, pixels};
    const int64_t size = channels * pixels;
    const int64_t planes[] = {size, 1, pixels}, rows[] = {size, channels, 1};
    const int64_t planes_back[] = {size, pixels, 1}, rows_back[] = {size, 1, channels};
    if (back)
        cpu_copy_make(3, first, rows_back, 0, planes_back, 0, sizeof(float), out);
    else
        cpu_copy_make(3, last, planes, 0, rows, 0, sizeof(float), out);
}

static void set_reorders(const PlanRequest *request, ImagesState *state) {
    const Shape *source = &request->inputs[0].shape, *result = &request->outputs[0].shape;
    state->reorders = true;
    state->source_count = (shape_count_unchecked(source) + 15) / 16 * 16;
    state->result_count = (shape_count_unchecked(result) + 15) / 16 * 16;
    reorder_of(source, false, &state->enter);
    reorder_of(result, false, &state->back);
    reorder_of(result, true, &state->leave);
}

static Error *conv_of(const PlanRequest *request, CpuLevel level, ImagesState *state) {
    ChannelsFirst last;
    const PlanRequest *first = request;
    if (channels_last_is(request)) {
        channels_first_of(request, &last);
        first = &last.request;
    }
    const Shape *x = &first->inputs[0].shape;
    CpuConvLast *conv = &state->direct;
    conv->groups = attributes_int(request->attributes, "group");
    conv->channels = state->weights.dims[1];
    conv->filters = state->weights.dims[0] / conv->groups;
    conv->has_bias = plan_request_has(request, 2);
    conv->has_residual = plan_request_has(request, 3);
    TRY(window_of(first, &conv->window));
    if (conv->window.rank == 1) widen(&conv->window);
    conv->slices = cpu_conv_slices_cut(&conv->window);
    conv->images = x->dims[0] * conv->slices.output;
    TRY(cpu_epilogue_of(request, level, DTYPE_FLOAT32, &conv->epilogue));
    if (shape_count_unchecked(&request->outputs[0].shape) == 0) return NULL;
    state->has_output = true;
    if (state->layout == CPU_LAYOUT_CONV_LAST) cpu_conv_last_prepare(conv, level);
    if (!channels_last_is(request)) set_reorders(request, state);
    return NULL;
}

static CpuWinograd winograd_of(const CpuConvLast *conv, CpuLevel level) {
    CpuWinograd made = {
        .window = conv->window,
        .slices = conv->slices,
        .images = conv->images,
        .channels = conv->channels,
        .filters = conv->filters,
        .has_bias = conv->has_bias,
        .has_residual = conv->has_residual,
        .epilogue = conv->epilogue,
    };
    cpu_winograd_prepare(&made, level);
    return made;
}

static CpuConvLastDepthwise depthwise_of(const CpuConvLast *conv, CpuLevel level) {
    CpuConvLastDepthwise made = {
        .window = conv->window,
        .slices = conv->slices,
        .images = conv->images,
        .channels = conv->groups,
        .has_bias = conv->has_bias,
        .has_residual = conv->has_residual,
        .epilogue = conv->epilogue,
    };
    cpu_conv_last_depthwise_prepare(&made, level);
    return made;
}

/* Floats of the kernel's scratch memory. The packed weights and the signals before it in the
 * workspace are not counted. */
static int64_t scratch_count(const CpuDevice *cpu, const ImagesState *state) {
    if (state->layout == CPU_LAYOUT_DEPTHWISE) return 0;
    if (state->layout == CPU_LAYOUT_WINOGRAD)
        return cpu_winograd_scratch_count(cpu, &state->transformed);
    const uint64_t units = cpu_conv_last_units(&state->direct);
    const int64_t parts = cpu_part_count(cpu, cpu->threads_max, units, 1);
    return parts * cpu_conv_last_scratch_count(&state->direct);
}

/* In order: packed weights, a signal's reordered operands, the kernel's scratch memory. */
static uint64_t workspace_bytes(const CpuDevice *cpu, const ImagesState *state) {
    const int64_t signals =
        state->source_count + (state->direct.has_residual ? 2 : 1) * state->result_count;
    return (uint64_t)(state->packed_count + signals + scratch_count(cpu, state)) * sizeof(float);
}

static const char *kernel_name_of(uint32_t layout) {
    if (layout == CPU_LAYOUT_DEPTHWISE) return "cpu.conv_last_depthwise";
    return layout == CPU_LAYOUT_WINOGRAD ? "cpu.winograd" : "cpu.conv_last";
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    CpuDevice *cpu = cpu_device(device);
    const TensorSpec *given = &request->inputs[1];
    if (!takes(request->operator_info, request->attributes, given->dtype, &given->shape))
        return cpu_decline(out);
    ImagesState made = {.weights = image_weights(&given->shape)};
    made.layout = layout_of(cpu, request->attributes, &made.weights);
    TRY(conv_of(request, cpu->level, &made));
    if (made.has_output) {
        if (made.layout == CPU_LAYOUT_WINOGRAD)
            made.transformed = winograd_of(&made.direct, cpu->level);
        if (made.layout == CPU_LAYOUT_DEPTHWISE)
            made.depthwise = depthwise_of(&made.direct, cpu->level);
        if (given->layout == CPU_LAYOUT_PLAIN)
            made.packed_count =
                (packed_count_of(made.layout, request->attributes, &made.weights) + 15) / 16 * 16;
    }
    void *state;
    TRY(cpu_float_plan_create(
        device, request, kernel_name_of(made.layout), sizeof(ImagesState), run, out, &state));
    *(ImagesState *)state = made;
    /* sums stand in the output before the residual is read */
    if (made.layout == CPU_LAYOUT_DEPTHWISE) (*out)->in_place = 0;
    if (made.has_output) cpu_float_plan_set_workspace(*out, workspace_bytes(cpu, &made));
    return NULL;
}

const Kernel cpu_conv_images[] = {
    {OPERATOR_CONV, DTYPES_FLOAT32_AND_HALF, plan, "cpu.conv_last", 0},
    {OPERATOR_FUSED_CONV, DTYPES_FLOAT32_AND_HALF, plan, "cpu.conv_last", 0},
    KERNELS_END,
};
