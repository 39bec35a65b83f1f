/* Conv and FusedConv of float32 by oneDNN. The plan converts images to oneDNN's blocked form and
 * back; weights come packed, in the form that oneDNN prefers for a canonical image, so that packing
 * never depends on the images. */
#include <string.h>

#include "kernels/cpu/dnnl/cpu_dnnl.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/arguments/channels_first.h"
#include "kernels/arguments/window.h"

typedef struct ConvProblem {
    int rank; /* rank of the tensors: 3 … 5 */
    dnnl_dims_t source, weights, result, stride, dilation, pad_begin, pad_end;
    bool grouped, has_bias;
    dnnl_memory_desc_t source_form, weights_form, result_form; /* ndims 0: oneDNN chooses */
} ConvProblem;

static dnnl_memory_desc_t form_or_any(
    const dnnl_memory_desc_t *form, int rank, const dnnl_dims_t dims) {
    dnnl_memory_desc_t made = *form;
    if (!made.ndims)
        (void)dnnl.memory_desc_init_by_tag(&made, rank, dims, dnnl_f32, dnnl_format_tag_any);
    return made;
}

static Error *describe(const ConvProblem *problem, const_dnnl_primitive_attr_t attributes,
    dnnl_primitive_desc_t *out) {
    dnnl_memory_desc_t source = form_or_any(&problem->source_form, problem->rank, problem->source);
    dnnl_memory_desc_t weights =
        form_or_any(&problem->weights_form, problem->rank + problem->grouped, problem->weights);
    dnnl_memory_desc_t result = form_or_any(&problem->result_form, problem->rank, problem->result);
    dnnl_memory_desc_t bias = cpu_dnnl_plain(1, &problem->result[1]);
    dnnl_convolution_desc_t description;
    *out = NULL;
    if (dnnl.dilated_convolution_forward_desc_init(&description, dnnl_forward_inference,
            dnnl_convolution_direct, &source, &weights, problem->has_bias ? &bias : NULL, &result,
            problem->stride, problem->dilation, problem->pad_begin,
            problem->pad_end) != dnnl_success)
        return NULL;
    return cpu_dnnl_describe(&description, attributes, out);
}

/* Weights [O, I / groups, …] in oneDNN's form: with groups [groups, O / groups, I / groups, …]. */
static void set_weights(ConvProblem *problem, const Shape *weights, int64_t groups) {
    problem->grouped = groups > 1;
    int64_t *to = problem->weights;
    if (problem->grouped) *to++ = groups;
    *to++ = weights->dims[0] / groups;
    for (uint32_t i = 1; i < weights->rank; i++) *to++ = weights->dims[i];
}

static bool is_taken(const CpuRules *rules, const Attributes *attributes, const Shape *weights) {
    const int64_t groups = attributes_int(attributes, "group");
    /* not one dimension: steps of 2 corrupted the heap */
    if (weights->rank < 4 || weights->rank > 5 || groups < 1) return false;
    if (shape_count_unchecked(weights) == 0 || weights->dims[0] % groups != 0) return false;
    /* 1 × 1 is a product over the image in its own order, by our own kernel: on one thread within
     * 10 % of oneDNN's time, on two faster by half where oneDNN cannot be cut into bands (1024 >
     * 256 at 14 × 14, 512 > 1000 at 13 × 13) */
    if (shape_product(weights, 2, weights->rank) < cpu_rule(rules, CPU_RULE_DNNL_CONV_TAPS_MIN))
        return false;
    /* for groups of one channel, our own kernel is faster */
    return groups == 1 ||
           weights->dims[1] >= cpu_rule(rules, CPU_RULE_DNNL_CONV_GROUP_CHANNELS_MIN);
}

/* Output pixels in each dimension of the image for which weights are packed. oneDNN's choice of
 * blocks depends on the image, and in usual networks images shrink as channels grow. */
static int64_t canonical_pixels(const CpuRules *rules, const Shape *weights, int64_t groups) {
    int64_t channels = weights->dims[1] * groups;
    if (weights->dims[0] > channels) channels = weights->dims[0];
    if (channels >= cpu_rule(rules, CPU_RULE_DNNL_CONV_PIXELS_7)) return 7;
    if (channels >= cpu_rule(rules, CPU_RULE_DNNL_CONV_PIXELS_14)) return 14;
    return channels >= cpu_rule(rules, CPU_RULE_DNNL_CONV_PIXELS_28) ? 28 : 56;
}

/* The problem with the canonical image and without padding. */
static bool canonical_problem(const CpuRules *rules, const Attributes *attributes,
    const Shape *weights, ConvProblem *problem) {
    int64_t groups = attributes_int(attributes, "group");
    if (!is_taken(rules, attributes, weights)) return false;
    const int64_t pixels = canonical_pixels(rules, weights, groups);
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

/* *out_packs false: oneDNN needs the weights plain, or has no good kernel. */
static Error *packed_form(CpuDevice *device, const Attributes *attributes, const Shape *weights,
    bool *out_packs, dnnl_memory_desc_t *out_form) {
    ConvProblem problem;
    dnnl_primitive_desc_t description = NULL;
    *out_packs = false;
    if (!canonical_problem(&device->rules, attributes, weights, &problem)) return NULL;
    TRY(cpu_dnnl_open());
    TRY(describe(&problem, NULL, &description));
    if (!description) return NULL;
    *out_form = *dnnl.primitive_desc_query_md(description, dnnl_query_weights_md, 0);
    (void)dnnl.primitive_desc_destroy(description);
    dnnl_memory_desc_t plain = cpu_dnnl_plain((uint32_t)out_form->ndims, problem.weights);
    *out_packs = !dnnl.memory_desc_equal(&plain, out_form);
    return NULL;
}

static bool serves(const CpuDevice *device) {
    return !device->portable_only && device->level >= CPU_LEVEL_AVX2;
}

static bool is_conv_weight(const PackRequest *request) {
    OperatorId id = request->operator_info->id;
    if (id == OPERATOR_FUSED_CONV && attributes_int(request->attributes, "channels_last"))
        return false;
    return (id == OPERATOR_CONV || id == OPERATOR_FUSED_CONV) && request->input_index == 1 &&
           request->constant.dtype == DTYPE_FLOAT32;
}

Error *cpu_dnnl_conv_pack_rule(
    CpuDevice *device, const PackRequest *request, bool *out_packs, uint64_t *out_bytes) {
    dnnl_memory_desc_t form;
    *out_packs = false;
    if (!serves(device) || !is_conv_weight(request)) return NULL;
    TRY(packed_form(device, request->attributes, &request->constant.shape, out_packs, &form));
    if (*out_packs) *out_bytes = dnnl.memory_desc_get_size(&form);
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
    cpu_dnnl_use_one_thread();
    dnnl_engine_t engine = cpu_dnnl_engine();
    bool worked =
        dnnl.reorder_primitive_desc_create(&description, &from, engine, &form, engine, NULL) ==
            dnnl_success &&
        dnnl.primitive_create(&reorder, description) == dnnl_success &&
        dnnl.memory_create(&memories[0], &from, engine, (void *)(uintptr_t)plain) == dnnl_success &&
        dnnl.memory_create(&memories[1], &form, engine, to) == dnnl_success &&
        dnnl.stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
    dnnl_exec_arg_t arguments[2] = {{DNNL_ARG_FROM, memories[0]}, {DNNL_ARG_TO, memories[1]}};
    if (worked) worked = dnnl.primitive_execute(reorder, stream, 2, arguments) == dnnl_success;
    if (stream) (void)dnnl.stream_destroy(stream);
    for (int i = 0; i < 2; i++)
        if (memories[i]) (void)dnnl.memory_destroy(memories[i]);
    if (reorder) (void)dnnl.primitive_destroy(reorder);
    if (description) (void)dnnl.primitive_desc_destroy(description);
    if (!worked) FAIL(INTERNAL, "oneDNN: packing convolution weights failed");
    return NULL;
}

Error *cpu_dnnl_conv_form(CpuDevice *device, const Attributes *attributes, const Shape *weights,
    dnnl_memory_desc_t *out) {
    bool packs = false;
    dnnl_memory_desc_t form;
    if (serves(device)) TRY(packed_form(device, attributes, weights, &packs, &form));
    if (!packs) FAIL(INVALID, "weights that oneDNN does not pack");
    *out = form;
    return NULL;
}

/* The offset of an element in oneDNN's form: blocks within blocks, the innermost last. */
static int64_t offset_in(const dnnl_memory_desc_t *form, dnnl_dims_t position) {
    const dnnl_blocking_desc_t *blocks = &form->format_desc.blocking;
    int64_t offset = form->offset0, step = 1;
    for (int i = blocks->inner_nblks; i-- > 0;) {
        int64_t *at = &position[blocks->inner_idxs[i]];
        offset += *at % blocks->inner_blks[i] * step;
        *at /= blocks->inner_blks[i];
        step *= blocks->inner_blks[i];
    }
    for (int d = 0; d < form->ndims; d++) offset += position[d] * blocks->strides[d];
    return offset;
}

void cpu_dnnl_conv_unpack(const dnnl_memory_desc_t *form, const float *packed, float *plain) {
    int64_t count = 1;
    for (int d = 0; d < form->ndims; d++) count *= form->dims[d];
    for (int64_t i = 0; i < count; i++) {
        dnnl_dims_t position;
        int64_t rest = i;
        for (int d = form->ndims; d-- > 0; rest /= form->dims[d])
            position[d] = rest % form->dims[d];
        plain[i] = packed[offset_in(form, position)];
    }
}

/* Reads the problem of one image. */
static Error *conv_problem(const PlanRequest *request, ConvProblem *out) {
    Window window;
    const Shape *source = &request->inputs[0].shape;
    TRY(window_of(request, &window));
    *out = (ConvProblem){.rank = (int)source->rank, .has_bias = plan_request_has(request, 2)};
    set_weights(out, &request->inputs[1].shape, attributes_int(request->attributes, "group"));
    memcpy(out->source, source->dims, source->rank * sizeof *source->dims);
    memcpy(out->result, request->outputs[0].shape.dims, source->rank * sizeof *source->dims);
    out->source[0] = out->result[0] = 1;
    for (uint32_t i = 0; i < window.rank; i++) {
        out->stride[i] = window.stride[i];
        out->dilation[i] = window.dilation[i] - 1;
        out->pad_begin[i] = window.pad_begin[i];
        out->pad_end[i] = window.pad_end[i];
    }
    return NULL;
}

static double multiply_adds(const ConvProblem *problem) {
    double product = 1;
    for (int i = 1; i < problem->rank; i++) product *= (double)problem->result[i];
    for (int i = 1; i < problem->rank + problem->grouped; i++)
        if (i > problem->grouped) product *= (double)problem->weights[i];
    return product;
}

/* The form of some rows of one image. oneDNN compares the step between images, too. There is no
 * second image, but the step must be that of a compact one. */
static dnnl_memory_desc_t band_form(
    int rank, const dnnl_dims_t dims, const dnnl_memory_desc_t *image) {
    dnnl_memory_desc_t made = {0};
    dnnl_dims_t strides;
    memcpy(strides, image->format_desc.blocking.strides, sizeof strides);
    strides[0] = 1;
    for (int i = 1; i < rank; i++) strides[0] *= dims[i];
    (void)dnnl.memory_desc_init_by_strides(&made, rank, dims, dnnl_f32, strides);
    return made;
}

/* The part of the problem that computes output rows [begin, end). False: the part would read no
 * rows. */
static bool cut_rows(const ConvProblem *whole, const dnnl_memory_desc_t *source,
    const dnnl_memory_desc_t *result, int64_t begin, int64_t end, ConvProblem *out,
    DnnlBand *out_band) {
    const int64_t reach = (whole->dilation[0] + 1) * (whole->weights[whole->grouped + 2] - 1) + 1;
    const int64_t first = begin * whole->stride[0] - whole->pad_begin[0];
    const int64_t last = (end - 1) * whole->stride[0] - whole->pad_begin[0] + reach;
    const int64_t from = first > 0 ? first : 0;
    const int64_t to = last < whole->source[2] ? last : whole->source[2];
    if (to <= from) return false;
    *out = *whole;
    out->source[2] = to - from;
    out->result[2] = end - begin;
    out->pad_begin[0] = from - first;
    out->pad_end[0] = last - to;
    out->source_form = band_form(whole->rank, out->source, source);
    out->result_form = band_form(whole->rank, out->result, result);
    out_band->offsets[DNNL_OPERAND_SOURCE] =
        (uint64_t)(from * source->format_desc.blocking.strides[2]) * sizeof(float);
    out_band->offsets[DNNL_OPERAND_RESULT] =
        (uint64_t)(begin * result->format_desc.blocking.strides[2]) * sizeof(float);
    return true;
}

static bool same_kind(const ConvProblem *a, const ConvProblem *b) {
    return a->source[2] == b->source[2] && a->result[2] == b->result[2] &&
           a->pad_begin[0] == b->pad_begin[0] && a->pad_end[0] == b->pad_end[0];
}

static bool is_strided(const dnnl_memory_desc_t *form) {
    return form->format_kind == dnnl_blocked && form->format_desc.blocking.inner_nblks == 0;
}

/* Cuts the rows of the image into that many bands, each with the whole image's forms. False:
 * impossible; the problem is unchanged. */
static Error *cut_into(const ConvProblem *whole, const_dnnl_primitive_attr_t attributes,
    uint32_t band_count, DnnlProblem *inout, bool *out_cut) {
    const dnnl_memory_desc_t *source = &inout->wanted[DNNL_OPERAND_SOURCE];
    const dnnl_memory_desc_t *result = &inout->wanted[DNNL_OPERAND_RESULT];
    DnnlProblem cut = {.band_count = band_count};
    ConvProblem kinds[DNNL_KINDS_MAX], band;
    uint32_t kind_count = 0;
    for (uint32_t i = 0; i < cut.band_count; i++) {
        int64_t begin = whole->result[2] * i / cut.band_count;
        int64_t end = whole->result[2] * (i + 1) / cut.band_count;
        uint32_t kind = 0;
        if (!cut_rows(whole, source, result, begin, end, &band, &cut.bands[i])) return NULL;
        while (kind < kind_count && !same_kind(&kinds[kind], &band)) kind++;
        if (kind == DNNL_KINDS_MAX) return NULL;
        if (kind == kind_count) kinds[kind_count++] = band;
        cut.bands[i].kind = kind;
    }
    for (uint32_t i = 0; i < kind_count; i++) {
        kinds[i].weights_form = inout->wanted[DNNL_OPERAND_WEIGHTS];
        Error *error = describe(&kinds[i], attributes, &cut.kinds[i]);
        if (error || !cut.kinds[i]) {
            cpu_dnnl_problem_deinit(&cut);
            return error;
        }
    }
    cpu_dnnl_problem_deinit(inout);
    memcpy(inout->kinds, cut.kinds, sizeof cut.kinds);
    memcpy(inout->bands, cut.bands, sizeof cut.bands);
    inout->band_count = cut.band_count;
    *out_cut = true;
    return NULL;
}

static Error *cut_image(const ConvProblem *whole, CpuDevice *device,
    const_dnnl_primitive_attr_t attributes, DnnlProblem *inout) {
    bool is_cut = false;
    if (whole->rank != 4 || !is_strided(&inout->wanted[DNNL_OPERAND_SOURCE]) ||
        !is_strided(&inout->wanted[DNNL_OPERAND_RESULT]))
        return NULL;
    /* for bands of a few rows, oneDNN may need weights in another form than the given one */
    for (uint32_t count =
             cpu_dnnl_band_count(&device->rules, multiply_adds(whole), whole->result[2]);
         count > 1 && !is_cut; count /= 2)
        TRY(cut_into(whole, attributes, count, inout, &is_cut));
    return NULL;
}

/* The form of several images, one after the other. */
static dnnl_memory_desc_t of_images(const dnnl_memory_desc_t *one, int64_t count) {
    dnnl_memory_desc_t made = *one;
    made.dims[0] = made.padded_dims[0] = count;
    return made;
}

/* Sets the facts about the whole operands, after the description of the image's primitive. */
static void set_operands(const PlanRequest *request, const ConvProblem *problem,
    const dnnl_memory_desc_t *given_weights, DnnlProblem *common) {
    const_dnnl_primitive_desc_t description = common->kinds[0];
    const int64_t images = request->inputs[0].shape.dims[0];
    const dnnl_memory_desc_t source = cpu_dnnl_plain((uint32_t)problem->rank, problem->source);
    const dnnl_memory_desc_t result = cpu_dnnl_plain((uint32_t)problem->rank, problem->result);
    const dnnl_memory_desc_t *source_form =
        dnnl.primitive_desc_query_md(description, dnnl_query_src_md, 0);
    const dnnl_memory_desc_t *result_form =
        dnnl.primitive_desc_query_md(description, dnnl_query_dst_md, 0);
    common->image_count = (uint64_t)images;
    common->band_count = 1;
    common->plain[DNNL_OPERAND_SOURCE] = of_images(&source, images);
    common->plain[DNNL_OPERAND_RESULT] = of_images(&result, images);
    common->plain[DNNL_OPERAND_WEIGHTS] = *given_weights;
    common->wanted[DNNL_OPERAND_SOURCE] = of_images(source_form, images);
    common->wanted[DNNL_OPERAND_RESULT] = of_images(result_form, images);
    common->wanted[DNNL_OPERAND_WEIGHTS] =
        *dnnl.primitive_desc_query_md(description, dnnl_query_weights_md, 0);
    common->image_bytes[DNNL_OPERAND_SOURCE] = dnnl.memory_desc_get_size(source_form);
    common->image_bytes[DNNL_OPERAND_RESULT] = dnnl.memory_desc_get_size(result_form);
    if (!problem->has_bias) return;
    common->plain[DNNL_OPERAND_BIAS] = cpu_dnnl_plain(1, &problem->result[1]);
    common->wanted[DNNL_OPERAND_BIAS] = common->plain[DNNL_OPERAND_BIAS];
}

static Error *plan_with(Device *device, const PlanRequest *request, const ConvProblem *problem,
    const dnnl_memory_desc_t *given_weights, const_dnnl_primitive_attr_t attributes, Plan **out) {
    DnnlProblem common = {.name = "cpu.dnnl_conv", .adds_residual = plan_request_has(request, 3)};
    CpuDevice *cpu = cpu_device(device);
    TRY(describe(problem, attributes, &common.kinds[0]));
    /* packed weights may be in a form that oneDNN does not accept for this image: our own kernel
     * unpacks them */
    if (!common.kinds[0]) return cpu_decline(out);
    set_operands(request, problem, given_weights, &common);
    Error *error = cut_image(problem, cpu, attributes, &common);
    /* our own kernel can be stopped, and it unpacks the weights */
    const bool is_long = cpu_dnnl_is_long(&cpu->rules, multiply_adds(problem), common.band_count);
    if (error || is_long) {
        cpu_dnnl_problem_deinit(&common);
        return error ? error : cpu_decline(out);
    }
    return cpu_dnnl_plan(device, request, &common, out);
}

static Error *epilogue_of(const PlanRequest *request, dnnl_primitive_attr_t *out) {
    DnnlEpilogue epilogue = {.scale = 1, .adds_residual = plan_request_has(request, 3)};
    if (request->operator_info->id == OPERATOR_FUSED_CONV) {
        TRY(activation_of(request->attributes, &epilogue.activation));
        epilogue.alpha = attributes_float(request->attributes, "activation_alpha");
        epilogue.beta = attributes_float(request->attributes, "activation_beta");
    }
    return cpu_dnnl_attributes(&epilogue, out);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const TensorSpec *weights = &request->inputs[1];
    ConvProblem problem;
    dnnl_memory_desc_t given_weights;
    dnnl_primitive_attr_t attributes;
    bool packs = false;
    if (channels_last_is(request)) return cpu_decline(out);
    if (!serves(cpu_device(device)) || weights->dtype != DTYPE_FLOAT32) return cpu_decline(out);
    if (!is_taken(&cpu_device(device)->rules, request->attributes, &weights->shape) ||
        shape_count_unchecked(&request->inputs[0].shape) == 0 ||
        shape_count_unchecked(&request->outputs[0].shape) == 0)
        return cpu_decline(out);
    TRY(cpu_dnnl_open());
    TRY(conv_problem(request, &problem));
    if (weights->layout == CPU_LAYOUT_DNNL) {
        TRY(packed_form(
            cpu_device(device), request->attributes, &weights->shape, &packs, &given_weights));
        if (packs) problem.weights_form = given_weights;
    } else
        given_weights = cpu_dnnl_plain((uint32_t)(problem.rank + problem.grouped), problem.weights);
    if ((weights->layout != CPU_LAYOUT_PLAIN) != packs) return cpu_decline(out);
    TRY(epilogue_of(request, &attributes));
    Error *error = plan_with(device, request, &problem, &given_weights, attributes, out);
    (void)dnnl.primitive_attr_destroy(attributes);
    return error;
}

const Kernel cpu_dnnl_conv[] = {
    {OPERATOR_CONV, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.dnnl_conv", KERNEL_BANDS},
    {OPERATOR_FUSED_CONV, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.dnnl_conv", KERNEL_BANDS},
    KERNELS_END,
};
