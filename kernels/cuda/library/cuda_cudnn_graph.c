#include "kernels/cuda/library/cuda_cudnn_graph.h"

#include "kernels/cuda/runtime/cuda_operands.h"

enum { STEPS_MAX = 4 };

/* Values between two operations have unique ids behind those of the tensors. */
typedef struct Builder {
    CudaCudnnPile *pile;
    const CudaCudnnConv *conv;
    uint32_t left, virtual_count; /* operations that follow; values so far */
    int64_t step_count;
    CudnnDescriptor steps[STEPS_MAX];
} Builder;

static Error *set_ints(Builder *builder, CudnnDescriptor descriptor, int attribute, uint32_t count,
    const int64_t *values) {
    return cuda_cudnn_descriptor_set(
        builder->pile->device, descriptor, attribute, CUDNN_TYPE_INT64, count, values);
}

/* dims are [images, channels, …] in any case. */
static void place_strides(const int64_t *dims, uint32_t rank, bool channels_last, int64_t *out) {
    int64_t step = channels_last ? dims[1] : 1;
    for (uint32_t i = rank; i-- > 2; step *= dims[i]) out[i] = step;
    out[1] = channels_last ? 1 : step;
    out[0] = channels_last ? step : step * dims[1];
}

static Error *make_tensor(Builder *builder, const int64_t *dims, int64_t id, int type,
    bool is_virtual, CudnnDescriptor *out) {
    CudaDevice *device = builder->pile->device;
    const uint32_t rank = builder->conv->rank;
    const bool last = builder->conv->channels_last && id != CUDA_CUDNN_WEIGHTS + 1;
    int64_t strides[CUDA_CUDNN_RANK_MAX];
    place_strides(dims, rank, last, strides);
    TRY(cuda_cudnn_descriptor_make(builder->pile, CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
    TRY(cuda_cudnn_descriptor_set_choice(
        device, *out, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
    TRY(set_ints(builder, *out, CUDNN_ATTR_TENSOR_DIMENSIONS, rank, dims));
    TRY(set_ints(builder, *out, CUDNN_ATTR_TENSOR_STRIDES, rank, strides));
    TRY(cuda_cudnn_descriptor_set_int(device, *out, CUDNN_ATTR_TENSOR_UNIQUE_ID, id));
    TRY(cuda_cudnn_descriptor_set_int(
        device, *out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDA_OPERANDS_ALIGNMENT));
    TRY(cuda_cudnn_descriptor_set(
        device, *out, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
    return cuda_cudnn_descriptor_finalize(device, *out);
}

static Error *make_operand(
    Builder *builder, CudaCudnnTensor tensor, const int64_t *dims, CudnnDescriptor *out) {
    return make_tensor(builder, dims, tensor + 1, builder->conv->type, false, out);
}

/* Makes the result of the next operation: `to` for the last one, otherwise a float32 value. */
static Error *make_result(Builder *builder, CudnnDescriptor *out) {
    if (--builder->left == 0) return make_operand(builder, CUDA_CUDNN_TO, builder->conv->to, out);
    const int64_t id = CUDA_CUDNN_TENSOR_COUNT + 1 + builder->virtual_count++;
    return make_tensor(builder, builder->conv->to, id, CUDNN_DATA_FLOAT, true, out);
}

static Error *make_window(Builder *builder, CudnnDescriptor *out) {
    CudaDevice *device = builder->pile->device;
    const CudaCudnnConv *conv = builder->conv;
    const uint32_t spatial = conv->rank - 2;
    TRY(cuda_cudnn_descriptor_make(builder->pile, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, out));
    TRY(cuda_cudnn_descriptor_set_choice(
        device, *out, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    TRY(cuda_cudnn_descriptor_set_choice(device, *out, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
        CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION));
    TRY(cuda_cudnn_descriptor_set_int(device, *out, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, spatial));
    TRY(set_ints(builder, *out, CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial, conv->dilation));
    TRY(set_ints(builder, *out, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spatial, conv->stride));
    TRY(set_ints(builder, *out, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spatial, conv->pad_begin));
    TRY(set_ints(builder, *out, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spatial, conv->pad_end));
    return cuda_cudnn_descriptor_finalize(device, *out);
}

/* The library's names for the parts of a convolution, which differ by direction. */
typedef struct Direction {
    int descriptor, window, from, weights, to, alpha, beta;
} Direction;

static const Direction forward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
static const Direction backward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};

static Error *set_scale(Builder *builder, CudnnDescriptor step, int attribute, float value) {
    return cuda_cudnn_descriptor_set(
        builder->pile->device, step, attribute, CUDNN_TYPE_FLOAT, 1, &value);
}

static Error *convolve(Builder *builder, CudnnDescriptor *out_value) {
    CudaDevice *device = builder->pile->device;
    const CudaCudnnConv *conv = builder->conv;
    const Direction *names = conv->transposed ? &backward : &forward;
    CudnnDescriptor step, window, from, weights;
    TRY(make_window(builder, &window));
    TRY(make_operand(builder, CUDA_CUDNN_FROM, conv->from, &from));
    TRY(make_operand(builder, CUDA_CUDNN_WEIGHTS, conv->weights, &weights));
    TRY(make_result(builder, out_value));
    TRY(cuda_cudnn_descriptor_make(builder->pile, names->descriptor, &step));
    TRY(cuda_cudnn_descriptor_set_other(device, step, names->window, window));
    TRY(cuda_cudnn_descriptor_set_other(device, step, names->from, from));
    TRY(cuda_cudnn_descriptor_set_other(device, step, names->weights, weights));
    TRY(cuda_cudnn_descriptor_set_other(device, step, names->to, *out_value));
    TRY(set_scale(builder, step, names->alpha, 1));
    TRY(set_scale(builder, step, names->beta, 0));
    builder->steps[builder->step_count++] = step;
    return cuda_cudnn_descriptor_finalize(device, step);
}

/* other: NULL for functions of one operand. */
static Error *apply(
    Builder *builder, int mode, CudnnDescriptor other, CudnnDescriptor *inout_value) {
    CudaDevice *device = builder->pile->device;
    CudnnDescriptor step, function, to;
    TRY(make_result(builder, &to));
    TRY(cuda_cudnn_descriptor_make(builder->pile, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &function));
    TRY(cuda_cudnn_descriptor_set_choice(
        device, function, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode));
    TRY(cuda_cudnn_descriptor_set_choice(
        device, function, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    TRY(cuda_cudnn_descriptor_finalize(device, function));
    TRY(cuda_cudnn_descriptor_make(
        builder->pile, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &step));
    TRY(cuda_cudnn_descriptor_set_other(
        device, step, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function));
    TRY(cuda_cudnn_descriptor_set_other(
        device, step, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *inout_value));
    if (other)
        TRY(cuda_cudnn_descriptor_set_other(
            device, step, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other));
    TRY(cuda_cudnn_descriptor_set_other(device, step, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to));
    *inout_value = to;
    builder->steps[builder->step_count++] = step;
    return cuda_cudnn_descriptor_finalize(device, step);
}

static Error *apply_epilogue(Builder *builder, CudnnDescriptor value) {
    const CudaCudnnConv *conv = builder->conv;
    const int64_t bias_dims[CUDA_CUDNN_RANK_MAX] = {1, conv->to[1], 1, 1, 1};
    CudnnDescriptor added, bias;
    if (conv->has_added) {
        TRY(make_operand(builder, CUDA_CUDNN_ADDED, conv->to, &added));
        TRY(apply(builder, CUDNN_POINTWISE_ADD, added, &value));
    }
    if (conv->has_bias) {
        TRY(make_operand(builder, CUDA_CUDNN_BIAS, bias_dims, &bias));
        TRY(apply(builder, CUDNN_POINTWISE_ADD, bias, &value));
    }
    return conv->relu ? apply(builder, CUDNN_POINTWISE_RELU_FWD, NULL, &value) : NULL;
}

Error *cuda_cudnn_graph_make(
    CudaCudnnPile *pile, CudnnHandle handle, const CudaCudnnConv *conv, CudnnDescriptor *out) {
    CudaDevice *device = pile->device;
    Builder builder = {
        .pile = pile, .conv = conv, .left = 1U + conv->has_added + conv->has_bias + conv->relu};
    CudnnDescriptor value;
    TRY(convolve(&builder, &value));
    TRY(apply_epilogue(&builder, value));
    TRY(cuda_cudnn_descriptor_make(pile, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, out));
    TRY(cuda_cudnn_descriptor_set(device, *out, CUDNN_ATTR_OPERATIONGRAPH_OPS,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, builder.step_count, builder.steps));
    if (handle)
        TRY(cuda_cudnn_descriptor_set(
            device, *out, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
    return cuda_cudnn_descriptor_finalize(device, *out);
}
