/* Products, convolutions, pools and normalisations. */
#include <string.h>

#include "compiler/nnvm/nnvm_build_internal.h"

enum { WINDOW_RANK_MAX = 3 };

/* Whether there is a bias: what the attributes say, which has to be what the inputs say. */
static Error *check_bias(const NnvmCall *call, bool absent_by_default) {
    bool absent, used;
    TRY(nnvm_get_bool(call, "no_bias", absent_by_default, &absent));
    TRY(nnvm_get_bool(call, "use_bias", !absent, &used));
    if (used != (call->count > 2))
        FAIL(INVALID, "%u inputs, but the attributes say %s bias", call->count,
            used ? "that there is a" : "that there is no");
    return NULL;
}

/* target: whether the data is flattened by default */
Error *nnvm_build_dense(NnvmCall *call) {
    bool flatten;
    uint32_t rank;
    IrVariable *data = call->inputs[0], *weights, *result;
    TRY(check_bias(call, false));
    TRY(nnvm_rank(call, 1, &rank));
    if (rank != 2) FAIL(INVALID, "weights of %u dimensions; 2 are wanted", rank);
    TRY(nnvm_check_units(call, "num_hidden|units", 1, 0));
    if (call->count > 2) TRY(nnvm_check_units(call, "num_hidden|units", 2, 0));
    TRY(nnvm_get_bool(call, "flatten", strcmp(call->row->target, "mxnet") == 0, &flatten));
    if (flatten) TRY(ir_build_simple(call->at, "Flatten", NULL, data, NULL, NULL, &data));
    TRY(ir_build_swap_last(call->at, call->inputs[1], 2, &weights));
    TRY(ir_build_simple(call->at, "MatMul", NULL, data, weights, NULL, &result));
    if (call->count > 2)
        TRY(ir_build_simple(call->at, "Add", NULL, result, call->inputs[2], NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

/* target: dot, which is a product of matrices up to rank 2 of its second operand; batch_dot */
Error *nnvm_build_dot(NnvmCall *call) {
    IrVariable *operands[2] = {call->inputs[0], call->inputs[1]}, *result;
    static const char *const names[] = {"transpose_a", "transpose_b"};
    uint32_t rank;
    for (uint32_t i = 0; i < 2; i++) {
        bool turned;
        TRY(nnvm_get_bool(call, names[i], false, &turned));
        if (turned) {
            TRY(nnvm_rank(call, i, &rank));
            TRY(ir_build_swap_last(call->at, operands[i], rank, &operands[i]));
        }
    }
    if (strcmp(call->row->target, "dot") == 0) {
        TRY(nnvm_rank(call, 1, &rank));
        if (rank > 2)
            FAIL(UNSUPPORTED, "a second operand of %u dimensions; up to 2 are read", rank);
    }
    TRY(ir_build_simple(call->at, "MatMul", NULL, operands[0], operands[1], NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

/* ---- windows ---- */

/* Sets a list attribute of one number for each window dimension. */
static Error *set_window(
    const NnvmCall *call, const char *name, uint32_t rank, Attributes *attributes, const char *to) {
    int64_t values[NNVM_INTS_MAX];
    uint32_t count;
    TRY(nnvm_get_ints(call, name, values, &count));
    if (count == NNVM_ABSENT || count == 0) return NULL;
    if (count != rank && count != 1)
        FAIL(INVALID, "the attribute %s has %u numbers; %u are wanted", name, count, rank);
    for (uint32_t i = count; i < rank; i++) values[i] = values[0];
    return attributes_set_ints(attributes, to, values, rank);
}

/* For all, for each dimension, or for the beginnings and the ends. */
static Error *get_pads(
    const NnvmCall *call, uint32_t rank, int64_t out[2 * WINDOW_RANK_MAX], bool *out_given) {
    int64_t given[NNVM_INTS_MAX];
    uint32_t count;
    TRY(nnvm_get_ints(call, "pad|padding", given, &count));
    *out_given = count != NNVM_ABSENT && count > 0;
    if (!*out_given) return NULL;
    if (count != 1 && count != rank && count != 2 * rank)
        FAIL(INVALID, "the attribute pad has %u numbers; %u are wanted", count, rank);
    for (uint32_t i = 0; i < 2 * rank; i++)
        out[i] = given[count == 1 ? 0 : count == rank ? i % rank : i];
    return NULL;
}

static Error *set_pads(const NnvmCall *call, uint32_t rank, Attributes *attributes) {
    int64_t pads[2 * WINDOW_RANK_MAX];
    bool given;
    TRY(get_pads(call, rank, pads, &given));
    return given ? attributes_set_ints(attributes, "pads", pads, 2 * rank) : NULL;
}

static Error *check_layout(const NnvmCall *call, uint32_t rank) {
    static const char *const layouts[] = {"NCW", "NCHW", "NCDHW"};
    TRY(nnvm_only(call, "layout", layouts[rank - 1]));
    return nnvm_only(call, "out_layout", layouts[rank - 1]);
}

static Error *get_window_rank(const NnvmCall *call, const char *name, uint32_t *out) {
    int64_t window[NNVM_INTS_MAX];
    TRY(nnvm_get_ints(call, name, window, out));
    if (*out == NNVM_ABSENT || *out < 1 || *out > WINDOW_RANK_MAX)
        FAIL(INVALID, "the attribute %s has to be 1 to %d numbers", name, WINDOW_RANK_MAX);
    return NULL;
}

/* target: Conv or ConvTranspose */
Error *nnvm_build_conv(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    const bool turned = strcmp(call->row->target, "ConvTranspose") == 0;
    int64_t groups;
    uint32_t rank;
    IrVariable *bias = call->count > 2 ? call->inputs[2] : NULL, *result;
    TRY(check_bias(call, strcmp(call->row->name, "Deconvolution") == 0));
    TRY(get_window_rank(call, "kernel|kernel_size", &rank));
    TRY(check_layout(call, rank));
    TRY(nnvm_only(call, "kernel_layout", "OIHW"));
    TRY(nnvm_only(call, "out_dtype", "same"));
    TRY(nnvm_get_int(call, "num_group|groups", 1, &groups));
    if (!turned) TRY(nnvm_check_units(call, "num_filter|channels", 1, 0));
    if (bias) TRY(nnvm_check_units(call, "num_filter|channels", 2, 0));
    if (nnvm_text(call, "target_shape", NULL)) {
        int64_t shape[NNVM_INTS_MAX];
        uint32_t count;
        TRY(nnvm_get_ints(call, "target_shape", shape, &count));
        for (uint32_t i = 0; count != NNVM_ABSENT && i < count; i++)
            if (shape[i] != 0) FAIL(UNSUPPORTED, "the attribute target_shape");
    }
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "group", groups));
    TRY(set_window(call, "kernel|kernel_size", rank, attributes, "kernel_shape"));
    TRY(set_window(call, "stride|strides", rank, attributes, "strides"));
    TRY(set_window(call, "dilate|dilation", rank, attributes, "dilations"));
    TRY(set_pads(call, rank, attributes));
    if (turned) TRY(set_window(call, "adj|output_padding", rank, attributes, "output_padding"));
    TRY(ir_build_simple(
        call->at, call->row->target, attributes, call->inputs[0], call->inputs[1], bias, &result));
    nnvm_give(call, result);
    return NULL;
}

/* With ceil_mode our pools drop a last window that begins behind the image, those of MXNet do not.
 * Refuses what may have such windows. */
static Error *check_full(const NnvmCall *call, uint32_t rank) {
    int64_t pads[2 * WINDOW_RANK_MAX] = {0}, kernel[NNVM_INTS_MAX], strides[NNVM_INTS_MAX];
    uint32_t kernels, count;
    bool given;
    TRY(get_pads(call, rank, pads, &given));
    TRY(nnvm_get_ints(call, "kernel", kernel, &kernels));
    TRY(nnvm_get_ints(call, "stride", strides, &count));
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t stride = count == NNVM_ABSENT || i >= count ? 1 : strides[i];
        if (i < kernels && pads[i] > kernel[i] - stride)
            FAIL(UNSUPPORTED,
                "pooling_convention full with windows that may begin behind the image: kernel "
                "%lld, stride %lld, pad %lld",
                (long long)kernel[i], (long long)stride, (long long)pads[i]);
    }
    return NULL;
}

static Error *window_pool(NnvmCall *call, const char *name, const char *window, bool ceil_mode,
    bool with_pads, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    uint32_t rank;
    TRY(get_window_rank(call, window, &rank));
    TRY(check_layout(call, rank));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "ceil_mode", ceil_mode));
    TRY(set_window(call, window, rank, attributes, "kernel_shape"));
    TRY(set_window(call, "stride|strides", rank, attributes, "strides"));
    TRY(set_pads(call, rank, attributes));
    if (strcmp(name, "AveragePool") == 0)
        TRY(attributes_set_int(attributes, "count_include_pad", with_pads));
    return ir_build_simple(call->at, name, attributes, call->inputs[0], NULL, NULL, out);
}

Error *nnvm_build_pooling(NnvmCall *call) {
    const char *type = nnvm_text(call, "pool_type", "max");
    const char *convention = nnvm_text(call, "pooling_convention", "valid");
    const bool average = strcmp(type, "avg") == 0, full = strcmp(convention, "full") == 0;
    bool global, with_pads;
    IrVariable *result;
    if (!average && strcmp(type, "max") != 0)
        FAIL(UNSUPPORTED, "pool_type is %.100s; max and avg are read", type);
    TRY(nnvm_get_bool(call, "global_pool", false, &global));
    TRY(nnvm_get_bool(call, "count_include_pad", true, &with_pads));
    if (global) {
        TRY(ir_build_simple(call->at, average ? "GlobalAveragePool" : "GlobalMaxPool", NULL,
            call->inputs[0], NULL, NULL, &result));
    } else {
        uint32_t rank;
        if (!full && strcmp(convention, "valid") != 0)
            FAIL(UNSUPPORTED, "pooling_convention is %.100s; valid and full are read", convention);
        TRY(get_window_rank(call, "kernel", &rank));
        if (full) TRY(check_full(call, rank));
        TRY(window_pool(
            call, average ? "AveragePool" : "MaxPool", "kernel", full, with_pads, &result));
    }
    nnvm_give(call, result);
    return NULL;
}

/* target: the operator */
Error *nnvm_build_pool2d(NnvmCall *call) {
    bool ceil_mode, with_pads;
    IrVariable *result;
    TRY(nnvm_get_bool(call, "ceil_mode", false, &ceil_mode));
    TRY(nnvm_get_bool(call, "count_include_pad", false, &with_pads));
    TRY(window_pool(call, call->row->target, "pool_size", ceil_mode, with_pads, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_global_pool(NnvmCall *call) {
    TRY(nnvm_only(call, "layout", "NCHW"));
    return nnvm_build_same(call);
}

Error *nnvm_build_upsampling(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *scales, *result;
    int64_t scale;
    if (call->count != 1) FAIL(UNSUPPORTED, "%u inputs; one is read", call->count);
    TRY(nnvm_only(call, "sample_type", "nearest"));
    TRY(nnvm_only(call, "method", "NEAREST_NEIGHBOR"));
    TRY(nnvm_only(call, "layout", "NCHW"));
    TRY(nnvm_get_int(call, "scale", 1, &scale));
    if (scale < 1) FAIL(INVALID, "the attribute scale is %lld", (long long)scale);
    int64_t repeats[] = {1, 1, scale, scale};
    TRY(constants_ints(ir_cursor_module(call->at), 1, 4, repeats, &scales));
    TRY(ir_build_cast(call->at, scales, DTYPE_FLOAT32, &scales));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "coordinate_transformation_mode", "asymmetric"));
    TRY(attributes_set_text(attributes, "nearest_mode", "floor"));
    TRY(ir_build_simple(call->at, "Resize", attributes, call->inputs[0], NULL, scales, &result));
    nnvm_give(call, result);
    return NULL;
}
