#include "kernels/cpu/quantized/cpu_lower_weights.h"

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/cpu/quantized/cpu_lower_pack.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/operator/operator_lower.h"

/* Constant weights in the form of a matrix. */
typedef struct Weights {
    CpuLowerForm form;
    uint8_t flip;
    int64_t matrices, depth, columns;
    bool is_filters;
} Weights;

static bool is_byte_matrix(OperatorId id, uint32_t index) {
    if (id == OPERATOR_DYNAMIC_QUANTIZE_LSTM) return index == 1 || index == 2;
    if (id == OPERATOR_MATMUL_INTEGER || id == OPERATOR_FUSED_MATMUL_INTEGER) return index == 1;
    return (id == OPERATOR_QLINEAR_MATMUL || id == OPERATOR_FUSED_QLINEAR_MATMUL) && index == 3;
}

/* B of a product of bytes; W or R of a recurrent network. */
static bool byte_weights_of(const CpuDevice *device, const PackRequest *request, Weights *out) {
    const TensorSpec *constant = &request->constant;
    const Shape *shape = &constant->shape;
    if (!is_byte_matrix(request->operator_info->id, request->input_index) || shape->rank < 2)
        return false;
    if (constant->dtype != DTYPE_INT8 && constant->dtype != DTYPE_UINT8) return false;
    *out = (Weights){
        .form = cpu_lower_form(device, true),
        .flip = constant->dtype == DTYPE_UINT8 ? CPU_LOWER_FLIP : 0,
        .matrices = shape_product(shape, 0, shape->rank - 2),
        .depth = shape->dims[shape->rank - 2],
        .columns = shape->dims[shape->rank - 1],
    };
    return true;
}

/* False: the request is not for weights of lower precision. */
static bool weights_of(const CpuDevice *device, const PackRequest *request, Weights *out) {
    const OperatorLower *lower = operator_lower_get(request->operator_info->id);
    const TensorSpec *constant = &request->constant;
    const Shape *shape = &constant->shape;
    if (byte_weights_of(device, request, out)) return true;
    if (!lower || request->input_index != 1 || constant->dtype != lower->weights) return false;
    const bool is_conv = lower->of == OPERATOR_FUSED_CONV;
    if ((!is_conv && lower->of != OPERATOR_FUSED_MATMUL) || shape->rank != (is_conv ? 4 : 2))
        return false;
    if (is_conv && shape->dims[1] % CPU_LOWER_CHANNELS != 0) return false;
    *out = (Weights){.form = cpu_lower_form(device, lower->weights == DTYPE_INT8),
        .matrices = 1,
        .is_filters = is_conv};
    out->depth = is_conv ? shape_product(shape, 1, shape->rank) : shape->dims[0];
    out->columns = shape->dims[is_conv ? 0 : 1];
    return true;
}

bool cpu_lower_pack_rule(const CpuDevice *device, const PackRequest *request, uint32_t *out_layout,
    uint64_t *out_bytes) {
    Weights weights;
    if (device->portable_only || !weights_of(device, request, &weights)) return false;
    uint64_t bytes = 0;
    Error *error = cpu_lower_packed_bytes(weights.form, weights.depth, weights.columns, &bytes);
    if (error || weights.depth == 0 ||
        !checked_mul_u64(bytes, (uint64_t)weights.matrices, &bytes) || bytes == 0) {
        error_free(error); /* the weights stay unpacked, and a plan refuses them */
        return false;
    }
    *out_layout = cpu_lower_forms[weights.form].layout;
    *out_bytes = bytes;
    return true;
}

#define DEFINE_TURN(name, T)                                                                       \
    static void name(const T *from, int64_t filters, int64_t channels, int64_t taps, T *to) {      \
        KernelStopMeter meter = {0};                                                               \
        for (int64_t tap = 0; tap < taps; tap++)                                                   \
            for (int64_t c = 0; c < channels; c++) {                                               \
                if (kernel_stop_ends_after(&meter, 8 + (uint64_t)filters * 4)) return;             \
                for (int64_t f = 0; f < filters; f++)                                              \
                    *to++ = from[(f * channels + c) * taps + tap];                                 \
            }                                                                                      \
    }                                                                                              \
    struct turn_needs_semicolon

DEFINE_TURN(turn_bytes, int8_t);
DEFINE_TURN(turn_halves, uint16_t);

void cpu_lower_turn_filters(CpuLowerForm form, const void *filters, const Shape *shape, void *to) {
    const int64_t *dims = shape->dims, taps = shape_product(shape, 2, shape->rank);
    if (cpu_lower_forms[form].is_int8)
        turn_bytes(filters, dims[0], dims[1], taps, to);
    else
        turn_halves(filters, dims[0], dims[1], taps, to);
}

Error *cpu_lower_pack_weights(const CpuDevice *device, const PackRequest *request, uint32_t layout,
    const void *plain, void *to, bool *out_packed) {
    Weights weights;
    *out_packed = false;
    if (!weights_of(device, request, &weights) || layout != cpu_lower_forms[weights.form].layout)
        return NULL;
    const size_t bytes =
        (size_t)(weights.depth * weights.columns) * cpu_lower_forms[weights.form].weight_size;
    void *matrix = NULL;
    if (weights.is_filters) {
        TRY(memory_map(bytes, &matrix));
        cpu_lower_turn_filters(weights.form, plain, &request->constant.shape, matrix);
    }
    const int64_t panels = cpu_lower_panels(weights.columns);
    const int64_t packed = panels * cpu_lower_panel_bytes(weights.form, weights.depth);
    const int64_t plain_bytes = weights.depth * weights.columns;
    for (int64_t i = 0; i < weights.matrices; i++)
        cpu_lower_pack(weights.form, (const char *)(matrix ? matrix : plain) + i * plain_bytes,
            weights.flip, weights.depth, weights.columns, 0, panels, (char *)to + i * packed);
    if (matrix) memory_unmap(matrix, bytes);
    *out_packed = true;
    return NULL;
}
