/* Conv and FusedConv of float32 by oneDNN. Images are brought into its blocked form and back inside
 * the plan; weights come packed, in the form that it prefers for a canonical image, so that packing
 * never depends on the images. */
#include <string.h>

#include "kernels/cpu/cpu_dnnl.h"
#include "kernels/cpu/cpu_pack.h"
#include "kernels/shape_rules/window.h"

typedef struct ConvProblem {
    int rank; /* of the tensors: 3 … 5 */
    dnnl_dims_t source, weights, result, stride, dilation, pad_begin, pad_end;
    bool grouped, has_bias;
    bool weights_fixed; /* packed: in this form */
    dnnl_memory_desc_t weights_form;
} ConvProblem;

static dnnl_memory_desc_t any_of(int rank, const dnnl_dims_t dims) {
    dnnl_memory_desc_t made = {0};
    (void)dnnl_memory_desc_init_by_tag(&made, rank, dims, dnnl_f32, dnnl_format_tag_any);
    return made;
}

static Error *describe(const void *opaque, CpuDevice *device, const dnnl_memory_desc_t *formats,
    const_dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t *out) {
    const ConvProblem *problem = opaque;
    int weights_rank = problem->rank + problem->grouped;
    dnnl_memory_desc_t source = any_of(problem->rank, problem->source);
    dnnl_memory_desc_t weights = any_of(weights_rank, problem->weights);
    dnnl_memory_desc_t result = any_of(problem->rank, problem->result);
    dnnl_memory_desc_t bias = cpu_dnnl_plain(1, &problem->result[1]);
    if (problem->weights_fixed) weights = problem->weights_form;
    if (formats) {
        source = formats[DNNL_OPERAND_SOURCE];
        weights = formats[DNNL_OPERAND_WEIGHTS];
        result = formats[DNNL_OPERAND_RESULT];
    }
    dnnl_convolution_desc_t description;
    *out = NULL;
    if (dnnl_dilated_convolution_forward_desc_init(&description, dnnl_forward_inference,
            dnnl_convolution_direct, &source, &weights, problem->has_bias ? &bias : NULL, &result,
            problem->stride, problem->dilation, problem->pad_begin,
            problem->pad_end) != dnnl_success)
        return NULL;
    if (dnnl_primitive_desc_create(out, &description, attributes, device->dnnl_engine, NULL) !=
        dnnl_success) {
        *out = NULL;
        return NULL;
    }
    if (!cpu_dnnl_is_slow(*out)) return NULL;
    (void)dnnl_primitive_desc_destroy(*out);
    *out = NULL;
    return NULL;
}

/* Weights [O, I / groups, …] as oneDNN sees them: [groups, O / groups, I / groups, …] where there
 * are groups. */
static void set_weights(ConvProblem *problem, const Shape *weights, int64_t groups) {
    problem->grouped = groups > 1;
    int64_t *to = problem->weights;
    if (problem->grouped) *to++ = groups;
    *to++ = weights->dims[0] / groups;
    for (uint32_t i = 1; i < weights->rank; i++) *to++ = weights->dims[i];
}

static bool is_taken(const Shape *weights, int64_t groups) {
    if (weights->rank < 3 || weights->rank > 5 || groups < 1) return false;
    if (shape_count_unchecked(weights) == 0 || weights->dims[0] % groups != 0) return false;
    /* one channel a group: our own kernel is faster */
    return groups == 1 || weights->dims[1] > 1;
}

/* Output pixels a dimension of the image that weights are packed for. oneDNN's choice of blocks
 * follows the image, and in the usual networks images shrink as channels grow. */
static int64_t canonical_pixels(const Shape *weights, int64_t groups) {
    int64_t channels = weights->dims[1] * groups;
    if (weights->dims[0] > channels) channels = weights->dims[0];
    return channels >= 2048 ? 7 : channels >= 1024 ? 14 : channels >= 512 ? 28 : 56;
}

/* The canonical image, nothing padded. */
static bool canonical_problem(
    const Attributes *attributes, const Shape *weights, ConvProblem *problem) {
    int64_t groups = attributes_int(attributes, "group");
    if (!is_taken(weights, groups)) return false;
    const int64_t pixels = canonical_pixels(weights, groups);
    *problem = (ConvProblem){.rank = (int)weights->rank};
    set_weights(problem, weights, groups);
    uint32_t stride_count, dilation_count, spatial = weights->rank - 2;
    const int64_t *strides = attributes_ints(attributes, "strides", &stride_count);
    const int64_t *dilations = attributes_ints(attributes, "dilations", &dilation_count);
    problem->source[0] = problem->result[0] = 1;
    problem->source[1] = weights->dims[1] * groups;
    problem->result[1] = weights->dims[0];
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t stride = i < stride_count ? strides[i] : 1;
        int64_t dilation = i < dilation_count ? dilations[i] : 1;
        int64_t kernel = weights->dims[i + 2], extent, reach;
        if (stride < 1 || dilation < 1 || __builtin_mul_overflow(dilation, kernel - 1, &reach) ||
            __builtin_mul_overflow(stride, pixels - 1, &extent) ||
            __builtin_add_overflow(extent, reach + 1, &extent) || extent > INT32_MAX)
            return false;
        problem->stride[i] = stride;
        problem->dilation[i] = dilation - 1;
        problem->source[i + 2] = extent;
        problem->result[i + 2] = pixels;
    }
    return true;
}

/* False where oneDNN wants them plain or has nothing good. */
static Error *packed_form(CpuDevice *device, const Attributes *attributes, const Shape *weights,
    bool *out_packs, dnnl_memory_desc_t *out_form) {
    ConvProblem problem;
    dnnl_primitive_attr_t no_attributes = NULL;
    dnnl_primitive_desc_t description = NULL;
    *out_packs = false;
    if (!canonical_problem(attributes, weights, &problem)) return NULL;
    cpu_dnnl_set_threads(1);
    TRY(describe(&problem, device, NULL, no_attributes, &description));
    if (!description) return NULL;
    *out_form = *dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0);
    (void)dnnl_primitive_desc_destroy(description);
    dnnl_memory_desc_t plain = cpu_dnnl_plain((uint32_t)out_form->ndims, problem.weights);
    *out_packs = !dnnl_memory_desc_equal(&plain, out_form);
    return NULL;
}

static bool serves(const CpuDevice *device) {
    return device->dnnl_engine && !device->portable_only && device->level >= CPU_LEVEL_AVX2;
}

static bool is_conv_weight(const PackRequest *request) {
    OperatorId id = request->operator_info->id;
    return (id == OPERATOR_CONV || id == OPERATOR_FUSED_CONV) && request->input_index == 1 &&
           request->constant.dtype == DTYPE_FLOAT32;
}

Error *cpu_dnnl_conv_pack_rule(
    CpuDevice *device, const PackRequest *request, bool *out_packs, uint64_t *out_bytes) {
    dnnl_memory_desc_t form;
    *out_packs = false;
    if (!serves(device) || !is_conv_weight(request)) return NULL;
    TRY(packed_form(device, request->attributes, &request->constant.shape, out_packs, &form));
    if (*out_packs) *out_bytes = dnnl_memory_desc_get_size(&form);
    return NULL;
}

Error *cpu_dnnl_conv_pack(
    CpuDevice *device, const PackRequest *request, const void *plain, void *to) {
    bool packs;
    dnnl_memory_desc_t form, from;
    dnnl_primitive_desc_t description = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_memory_t memories[2] = {NULL, NULL};
    dnnl_stream_t stream = NULL;
    ConvProblem problem = {0};
    const Shape *weights = &request->constant.shape;
    TRY(packed_form(device, request->attributes, weights, &packs, &form));
    if (!packs) FAIL(INTERNAL, "weights that are not packed");
    set_weights(&problem, weights, attributes_int(request->attributes, "group"));
    from = cpu_dnnl_plain((uint32_t)form.ndims, problem.weights);
    cpu_dnnl_set_threads(1);
    dnnl_engine_t engine = device->dnnl_engine;
    bool worked =
        dnnl_reorder_primitive_desc_create(&description, &from, engine, &form, engine, NULL) ==
            dnnl_success &&
        dnnl_primitive_create(&reorder, description) == dnnl_success &&
        dnnl_memory_create(&memories[0], &from, engine, (void *)(uintptr_t)plain) == dnnl_success &&
        dnnl_memory_create(&memories[1], &form, engine, to) == dnnl_success &&
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
    dnnl_exec_arg_t arguments[2] = {{DNNL_ARG_FROM, memories[0]}, {DNNL_ARG_TO, memories[1]}};
    if (worked) worked = dnnl_primitive_execute(reorder, stream, 2, arguments) == dnnl_success;
    if (stream) (void)dnnl_stream_destroy(stream);
    for (int i = 0; i < 2; i++)
        if (memories[i]) (void)dnnl_memory_destroy(memories[i]);
    if (reorder) (void)dnnl_primitive_destroy(reorder);
    if (description) (void)dnnl_primitive_desc_destroy(description);
    if (!worked) FAIL(INTERNAL, "oneDNN: packing convolution weights failed");
    return NULL;
}

static bool is_given(const PlanRequest *request, uint32_t index) {
    return index < request->input_count && request->inputs[index].present;
}

static Error *conv_problem(const PlanRequest *request, ConvProblem *out) {
    Window window;
    const Shape *source = &request->inputs[0].shape;
    TRY(window_of(request, &window));
    *out = (ConvProblem){.rank = (int)source->rank, .has_bias = is_given(request, 2)};
    set_weights(out, &request->inputs[1].shape, attributes_int(request->attributes, "group"));
    memcpy(out->source, source->dims, source->rank * sizeof *source->dims);
    memcpy(out->result, request->outputs[0].shape.dims, source->rank * sizeof *source->dims);
    for (uint32_t i = 0; i < window.rank; i++) {
        out->stride[i] = window.stride[i];
        out->dilation[i] = window.dilation[i] - 1;
        out->pad_begin[i] = window.pad_begin[i];
        out->pad_end[i] = window.pad_end[i];
    }
    return NULL;
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const TensorSpec *weights = &request->inputs[1];
    ConvProblem problem;
    DnnlProblem common = {.describe = describe,
        .data = &problem,
        .size = sizeof problem,
        .scale = 1,
        .name = "cpu.dnnl_conv",
        .adds_residual = is_given(request, 3)};
    bool packs = false;
    if (!serves(cpu_device(device)) || weights->dtype != DTYPE_FLOAT32) return cpu_decline(out);
    if (!is_taken(&weights->shape, attributes_int(request->attributes, "group")) ||
        shape_count_unchecked(&request->inputs[0].shape) == 0 ||
        shape_count_unchecked(&request->outputs[0].shape) == 0)
        return cpu_decline(out);
    TRY(conv_problem(request, &problem));
    if (weights->layout == CPU_LAYOUT_DNNL)
        TRY(packed_form(cpu_device(device), request->attributes, &weights->shape, &packs,
            &problem.weights_form));
    if ((weights->layout != CPU_LAYOUT_PLAIN) != packs) return cpu_decline(out);
    problem.weights_fixed = packs;
    if (request->operator_info->id == OPERATOR_FUSED_CONV) {
        TRY(activation_of(request->attributes, &common.activation));
        common.alpha = attributes_float(request->attributes, "activation_alpha");
        common.beta = attributes_float(request->attributes, "activation_beta");
    }
    common.plain[DNNL_OPERAND_SOURCE] = cpu_dnnl_plain((uint32_t)problem.rank, problem.source);
    common.plain[DNNL_OPERAND_RESULT] = cpu_dnnl_plain((uint32_t)problem.rank, problem.result);
    common.plain[DNNL_OPERAND_WEIGHTS] =
        packs ? problem.weights_form
              : cpu_dnnl_plain((uint32_t)(problem.rank + problem.grouped), problem.weights);
    if (problem.has_bias) common.plain[DNNL_OPERAND_BIAS] = cpu_dnnl_plain(1, &problem.result[1]);
    TRY(cpu_dnnl_plan(device, request, &common, out));
    if (*out || !packs) return NULL;
    /* this image wants another form than the canonical one: the launch brings the weights into it
     */
    problem.weights_fixed = false;
    return cpu_dnnl_plan(device, request, &common, out);
}

const Kernel cpu_dnnl_conv[] = {
    {OPERATOR_CONV, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.dnnl_conv", 0},
    {OPERATOR_FUSED_CONV, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.dnnl_conv", 0},
    KERNELS_END,
};
