#include "kernels/cpu/device/cpu_pack.h"

#include <assert.h>

#include "base/allocator.h"
#include "kernels/cpu/conv/cpu_conv_images.h"
#include "kernels/cpu/dnnl/cpu_dnnl.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/matmul/cpu_matmul.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/cpu/bytes/cpu_bytes_constants.h"
#include "kernels/cpu/quantized/cpu_lower_weights.h"
#include "kernels/cpu/matmul/cpu_panels_bfloat16.h"
#include "kernels/operator/operator_lower.h"

/* B of a matmul, the transposed W or R of a recurrent network, or W of a ConvTranspose, as K × N
 * with strides. */
typedef struct Weight {
    int64_t batch_count, depth, columns, row, column;
} Weight;

/* True for W, and for R unless a GRU resets its state first: then it reads R in two pieces. */
static bool is_recurrent_weight(const PackRequest *request) {
    const OperatorId id = operator_lower_of(request->operator_info->id);
    if (id != OPERATOR_LSTM && id != OPERATOR_GRU && id != OPERATOR_RNN) return false;
    if (request->input_index == 2 && id == OPERATOR_GRU)
        return attributes_int(request->attributes, "linear_before_reset") != 0;
    return request->input_index == 1 || request->input_index == 2;
}

/* True for R, which every step reads. W is read once for many steps and is widened. */
static bool stays_bfloat16(const PackRequest *request, const Weight *weight) {
    const OperatorLower *lower = operator_lower_get(request->operator_info->id);
    if (!lower || !is_recurrent_weight(request) || request->input_index != 2) return false;
    /* an executable may hold a constant of any shape and type here */
    return request->constant.dtype == DTYPE_BFLOAT16 && lower->weights == DTYPE_BFLOAT16 &&
           weight->depth % CPU_MATMUL_PANEL == 0 && weight->columns % CPU_MATMUL_PANEL == 0;
}

enum {
    TRANSPOSE_DEPTH_MIN = 64 /* with fewer channels, turning the terms is what takes the time */
};

/* W of a ConvTranspose as it lies: a matrix [channels, filters × kernel] for each group. */
static bool is_transpose_weight(const PackRequest *request) {
    const Shape *shape = &request->constant.shape;
    if (request->operator_info->id != OPERATOR_CONV_TRANSPOSE || request->input_index != 1 ||
        shape->rank < 3)
        return false;
    const int64_t groups = attributes_int(request->attributes, "group");
    return groups > 0 && shape->dims[0] % groups == 0 &&
           shape->dims[0] / groups >= TRANSPOSE_DEPTH_MIN;
}

static Weight weight_of(const PackRequest *request) {
    const Shape *shape = &request->constant.shape;
    if (is_transpose_weight(request)) {
        const int64_t groups = attributes_int(request->attributes, "group");
        const int64_t filters = shape_product(shape, 1, shape->rank);
        return (Weight){groups, shape->dims[0] / groups, filters, filters, 1};
    }
    const int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
    Weight weight = {shape_product(shape, 0, shape->rank - 2), rows, columns, columns, 1};
    if (is_recurrent_weight(request) ||
        cpu_matmul_is_transposed(request->operator_info, request->attributes, 1))
        weight.depth = columns, weight.columns = rows, weight.row = 1, weight.column = columns;
    return weight;
}

static bool is_matmul_weight(const PackRequest *request) {
    const OperatorId id = request->operator_info->id;
    const bool matmul = id == OPERATOR_MATMUL || id == OPERATOR_GEMM || id == OPERATOR_FUSED_MATMUL;
    return (is_recurrent_weight(request) || is_transpose_weight(request) ||
               (matmul && request->input_index == 1)) &&
           request->constant.shape.rank >= 2 &&
           (request->constant.dtype == DTYPE_FLOAT32 || request->constant.dtype == DTYPE_FLOAT16 ||
               request->constant.dtype == DTYPE_BFLOAT16);
}

static bool wants_panels(const CpuDevice *device, const PackRequest *request) {
    if (!is_matmul_weight(request)) return false;
    const Weight weight = weight_of(request);
    if (weight.batch_count == 0 || weight.depth == 0 || weight.columns == 0) return false;
    return weight.column != 1 ||
           weight.columns >= cpu_rule(&device->rules, CPU_RULE_PANELS_COLUMNS_MIN);
}

Error *cpu_pack_rule(
    Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes) {
    *out_layout = CPU_LAYOUT_PLAIN;
    *out_bytes = 0;
    bool by_dnnl;
    if (cpu_conv_images_pack_rule(cpu_device(device), request, out_layout, out_bytes)) return NULL;
    if (cpu_lower_pack_rule(cpu_device(device), request, out_layout, out_bytes)) return NULL;
    if (cpu_bytes_pack_rule(cpu_device(device), request, out_layout, out_bytes)) return NULL;
    TRY(cpu_dnnl_conv_pack_rule(cpu_device(device), request, &by_dnnl, out_bytes));
    if (by_dnnl) {
        *out_layout = CPU_LAYOUT_DNNL;
        return NULL;
    }
    if (cpu_device(device)->portable_only || !wants_panels(cpu_device(device), request))
        return NULL;
    const Weight weight = weight_of(request);
    if (stays_bfloat16(request, &weight)) {
        *out_layout = CPU_LAYOUT_PANELS_BFLOAT16;
        *out_bytes =
            (uint64_t)(weight.batch_count * weight.depth * weight.columns) * sizeof(uint16_t);
        return NULL;
    }
    *out_layout = CPU_LAYOUT_PANELS;
    *out_bytes =
        (uint64_t)(weight.batch_count * cpu_matmul_packed_count(weight.depth, weight.columns)) *
        sizeof(float);
    return NULL;
}

/* A constant in float32. */
typedef struct Widened {
    const float *values;
    void *copy; /* NULL: the constant is of float32 */
    size_t bytes;
} Widened;

static void widened_close(Widened *widened) {
    if (widened->copy) memory_unmap(widened->copy, widened->bytes);
}

static Error *widen(
    const CpuDevice *device, const TensorSpec *constant, const void *plain, Widened *out) {
    const DType dtype = constant->dtype;
    const int64_t count = shape_count_unchecked(&constant->shape);
    *out = (Widened){.values = plain, .bytes = (size_t)count * sizeof(float)};
    if (dtype == DTYPE_FLOAT32) return NULL;
    TRY(memory_map(out->bytes, &out->copy));
    const CpuParameters none = {0};
    CpuLoop *loop = cpu_loop_find_cast(device->level, dtype, DTYPE_FLOAT32, false);
    for (int64_t begin = 0, end; begin < count && !kernel_stop_ends(); begin = end) {
        const CpuOperand operand = {(const char *)plain + begin * (dtype_bits(dtype) / 8), 1};
        end = kernel_stop_piece(begin, count);
        loop((float *)out->copy + begin, &operand, end - begin, &none);
    }
    out->values = out->copy;
    return NULL;
}

static Error *pack_panels(
    Device *device, const PackRequest *request, const void *plain, float *to) {
    const Weight weight = weight_of(request);
    const int64_t matrix = weight.depth * weight.columns;
    const int64_t packed = cpu_matmul_packed_count(weight.depth, weight.columns);
    const CpuMatmulCode code = cpu_matmul_code_for(cpu_device(device)->level);
    Widened from;
    TRY(widen(cpu_device(device), &request->constant, plain, &from));
    for (int64_t batch = 0; batch < weight.batch_count; batch++)
        cpu_matmul_pack(&code, from.values + batch * matrix, weight.row, weight.column,
            weight.depth, weight.columns, to + batch * packed);
    widened_close(&from);
    return NULL;
}

static Error *pack_conv(
    Device *device, const PackRequest *request, uint32_t layout, const void *plain, float *to) {
    Widened from;
    TRY(widen(cpu_device(device), &request->constant, plain, &from));
    cpu_conv_images_pack(cpu_device(device), request, layout, from.values, to);
    widened_close(&from);
    return kernel_stop_check();
}

static void pack_bfloat16(const PackRequest *request, const uint16_t *plain, uint16_t *to) {
    const Weight weight = weight_of(request);
    const int64_t matrix = weight.depth * weight.columns;
    for (int64_t batch = 0; batch < weight.batch_count; batch++)
        cpu_panels_bfloat16_pack(
            plain + batch * matrix, weight.depth, weight.columns, to + batch * matrix);
}

Error *cpu_pack(Device *device, DeviceStream *stream, const PackRequest *request, uint32_t layout,
    const void *plain, uint64_t to) {
    (void)stream;
    if (cpu_conv_images_packs(cpu_device(device), request, layout))
        return pack_conv(device, request, layout, plain, (float *)(uintptr_t)to);
    bool packed;
    TRY(cpu_lower_pack_weights(
        cpu_device(device), request, layout, plain, (void *)(uintptr_t)to, &packed));
    if (packed) return kernel_stop_check();
    if (cpu_bytes_pack_weights(cpu_device(device), request, layout, plain, (void *)(uintptr_t)to))
        return kernel_stop_check();
    if (layout == CPU_LAYOUT_DNNL)
        return cpu_dnnl_conv_pack(cpu_device(device), request, plain, (void *)(uintptr_t)to);
    const bool in_panels = wants_panels(cpu_device(device), request);
    if (in_panels && layout == CPU_LAYOUT_PANELS_BFLOAT16) {
        pack_bfloat16(request, plain, (uint16_t *)(uintptr_t)to);
        return kernel_stop_check();
    }
    if (!in_panels || layout != CPU_LAYOUT_PANELS)
        FAIL(INVALID, "%s: input %u is not packed in layout %u", request->operator_info->name,
            request->input_index, layout);
    TRY(pack_panels(device, request, plain, (float *)(uintptr_t)to));
    return kernel_stop_check();
}
