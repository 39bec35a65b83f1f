/* What the real cuDNN refuses when a descriptor is finalized: sizes and types that do not fit. */
#include <string.h>

#include "tests/support/fake_cuda/fake_cudnn.h"

enum { RANK_MIN = 3 };

static int refuse(const char *reason) { return fake_cudnn_refuse(CUDNN_STATUS_BAD_PARAM, reason); }

static bool all_at_least(
    const FakeDescriptor *descriptor, int name, int64_t least, int64_t wanted) {
    int64_t count;
    const int64_t *values = fake_cudnn_ints(descriptor, name, &count);
    for (int64_t i = 0; i < count; i++)
        if (values[i] < least) return false;
    return count == wanted;
}

static FakeTensor read_tensor(const FakeDescriptor *descriptor) {
    const int type = fake_cudnn_choice(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE);
    const FakeAttribute *is_virtual = fake_cudnn_get(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    FakeTensor tensor = {.dtype = type == CUDNN_DATA_HALF       ? DTYPE_FLOAT16
                                  : type == CUDNN_DATA_BFLOAT16 ? DTYPE_BFLOAT16
                                                                : DTYPE_FLOAT32,
        .is_virtual = is_virtual && is_virtual->values[0],
        .id = fake_cudnn_int(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID)};
    tensor.strides = fake_cudnn_ints(descriptor, CUDNN_ATTR_TENSOR_STRIDES, &tensor.rank);
    tensor.dims = fake_cudnn_ints(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, &tensor.rank);
    return tensor;
}

static int check_tensor(FakeDescriptor *tensor) {
    int64_t rank;
    (void)fake_cudnn_ints(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, &rank);
    const int type = fake_cudnn_choice(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE);
    if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16)
        return refuse("a tensor's type");
    if (rank < RANK_MIN || !all_at_least(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, 1, rank) ||
        !all_at_least(tensor, CUDNN_ATTR_TENSOR_STRIDES, 1, rank))
        return refuse("a tensor's dimensions");
    if (fake_cudnn_int(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) % (int64_t)sizeof(float) != 0)
        return refuse("a tensor's alignment");
    tensor->tensor = read_tensor(tensor);
    return CUDNN_STATUS_SUCCESS;
}

static int check_window(const FakeDescriptor *window) {
    const int64_t rank = fake_cudnn_int(window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
    if (fake_cudnn_choice(window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT ||
        fake_cudnn_choice(window, CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION)
        return refuse("a convolution's kind");
    if (!all_at_least(window, CUDNN_ATTR_CONVOLUTION_DILATIONS, 1, rank) ||
        !all_at_least(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1, rank) ||
        !all_at_least(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0, rank) ||
        !all_at_least(window, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0, rank))
        return refuse("a convolution's window");
    return CUDNN_STATUS_SUCCESS;
}

static const int64_t *dims_of(const FakeDescriptor *tensor, int64_t *out_rank) {
    return fake_cudnn_ints(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, out_rank);
}

static int64_t at(const FakeDescriptor *window, int name, int64_t index) {
    int64_t count;
    return fake_cudnn_ints(window, name, &count)[index];
}

/* From x, by w, to y, whichever way it is computed. */
static int check_convolution(const FakeDescriptor *window, const FakeDescriptor *x_tensor,
    const FakeDescriptor *w_tensor, const FakeDescriptor *y_tensor) {
    int64_t rank, w_rank, y_rank;
    const int64_t *x = dims_of(x_tensor, &rank), *w = dims_of(w_tensor, &w_rank);
    const int64_t *y = dims_of(y_tensor, &y_rank);
    const int64_t spatial = fake_cudnn_int(window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
    if (w_rank != rank || y_rank != rank || rank != spatial + 2) return refuse("ranks");
    if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0 || y[1] % (x[1] / w[1]) != 0)
        return refuse("images, channels or groups");
    for (int64_t i = 0; i < spatial; i++) {
        const int64_t reach = (w[i + 2] - 1) * at(window, CUDNN_ATTR_CONVOLUTION_DILATIONS, i) + 1;
        const int64_t room = x[i + 2] + at(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i) +
                             at(window, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i) - reach;
        if (room < 0 || room / at(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i) + 1 != y[i + 2])
            return refuse("the size of an output");
    }
    return CUDNN_STATUS_SUCCESS;
}

static int check_pointwise(const FakeDescriptor *operation) {
    const FakeDescriptor *function =
        fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0);
    const int mode = fake_cudnn_choice(function, CUDNN_ATTR_POINTWISE_MODE);
    const bool has_other = fake_cudnn_get(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC) != NULL;
    int64_t rank, y_rank, b_rank;
    const int64_t *x =
        dims_of(fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 0), &rank);
    const int64_t *y =
        dims_of(fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 0), &y_rank);
    if (rank != y_rank || memcmp(x, y, (size_t)rank * sizeof *x) != 0)
        return refuse("a function's operands");
    if (mode != CUDNN_POINTWISE_ADD && mode != CUDNN_POINTWISE_RELU_FWD)
        return refuse("a function");
    if (has_other != (mode == CUDNN_POINTWISE_ADD)) return refuse("how many operands");
    if (!has_other) return CUDNN_STATUS_SUCCESS;
    const int64_t *b =
        dims_of(fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 0), &b_rank);
    for (int64_t i = 0; i < rank; i++)
        if (b_rank != rank || (b[i] != 1 && b[i] != x[i])) return refuse("a second operand");
    return CUDNN_STATUS_SUCCESS;
}

static int check_pack(const FakeDescriptor *pack) {
    int64_t ids, pointers;
    (void)fake_cudnn_ints(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &ids);
    (void)fake_cudnn_ints(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, &pointers);
    return ids == pointers ? CUDNN_STATUS_SUCCESS : refuse("as many pointers as ids");
}

#define OTHER(name) fake_cudnn_other(descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_##name, 0)

int fake_cudnn_check(FakeDescriptor *descriptor) {
    int unused[FAKE_CUDNN_ENGINES_MAX];
    switch (descriptor->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return check_tensor(descriptor);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        return check_window(descriptor);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return check_convolution(
            OTHER(FORWARD_CONV_DESC), OTHER(FORWARD_X), OTHER(FORWARD_W), OTHER(FORWARD_Y));
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return check_convolution(
            OTHER(BWD_DATA_CONV_DESC), OTHER(BWD_DATA_DX), OTHER(BWD_DATA_W), OTHER(BWD_DATA_DY));
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return check_pointwise(descriptor);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return check_pack(descriptor);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return fake_cudnn_suggest(descriptor, unused) < 0 ? CUDNN_STATUS_NOT_SUPPORTED
                                                          : CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        descriptor->engine =
            fake_cudnn_other(descriptor, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0)->engine;
        return fake_cudnn_engine(descriptor->engine)->fails
                   ? fake_cudnn_refuse(CUDNN_STATUS_INTERNAL_ERROR, "this engine never works")
                   : CUDNN_STATUS_SUCCESS;
    default:
        return CUDNN_STATUS_SUCCESS;
    }
}
