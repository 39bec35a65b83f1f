/* MatMul, Gemm and FusedMatMul of float32 by oneDNN. Constant weights come in panels of 64 columns
 * (cpu_pack.h), which is oneDNN's BA16a64b if depth and columns are multiples of 16 and 64; our own
 * kernels read the same panels. The rules decide when this kernel is used: never on the machines
 * measured so far, so it serves machines where tools/tune finds it faster. */
#include <string.h>

#include "kernels/cpu/dnnl/cpu_dnnl.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/core/cpu_layouts.h"

enum {
    DEPTH_MULTIPLE = 16, /* of BA16a64b */
    PANEL_COLUMNS = 64,  /* the same; our last panel may be narrower, oneDNN's may not */
};

typedef struct MatmulProblem {
    dnnl_memory_desc_t source, weights, bias, result;
    bool has_bias;
} MatmulProblem;

static Error *describe(const MatmulProblem *problem, const_dnnl_primitive_attr_t attributes,
    dnnl_primitive_desc_t *out) {
    dnnl_matmul_desc_t description;
    *out = NULL;
    if (dnnl.matmul_desc_init(&description, &problem->source, &problem->weights,
            problem->has_bias ? &problem->bias : NULL, &problem->result) != dnnl_success)
        return NULL;
    return cpu_dnnl_describe(&description, attributes, out);
}

/* The product as batch × [rows, depth] × [depth, columns]. */
typedef struct Product {
    int64_t batch, rows, depth, columns;
    bool transposed_a, transposed_b;
} Product;

static bool attribute_flag(const PlanRequest *request, const char *name) {
    return request->operator_info->id != OPERATOR_MATMUL &&
           attributes_int(request->attributes, name) != 0;
}

/* False for broadcast batches and vectors, which our own kernel takes. */
static bool product_of(const CpuRules *rules, const PlanRequest *request, Product *out) {
    const Shape *a = &request->inputs[0].shape, *b = &request->inputs[1].shape;
    if (a->rank < 2 || b->rank < 2) return false;
    Product product = {.batch = 1,
        .transposed_a = attribute_flag(request, "transA"),
        .transposed_b = attribute_flag(request, "transB")};
    product.rows = a->dims[a->rank - (product.transposed_a ? 1 : 2)];
    product.depth = a->dims[a->rank - (product.transposed_a ? 2 : 1)];
    product.columns = b->dims[b->rank - (product.transposed_b ? 2 : 1)];
    if (b->rank == 2) {
        int64_t leading = shape_product(a, 0, a->rank - 2);
        if (leading != 1 && product.transposed_a) return false;
        product.rows *= leading;
    } else {
        if (a->rank != b->rank) return false;
        for (uint32_t i = 0; i + 2 < a->rank; i++)
            if (a->dims[i] != b->dims[i]) return false;
        product.batch = shape_product(a, 0, a->rank - 2);
    }
    *out = product;
    return product.batch > 0 && product.depth > 0 && product.columns > 0 &&
           product.rows >= cpu_rule(rules, CPU_RULE_DNNL_MATMUL_ROWS_MIN) &&
           product.columns >= cpu_rule(rules, CPU_RULE_DNNL_MATMUL_COLUMNS_MIN);
}

/* [batch, rows, columns], or a matrix for a batch of 1. transposed: the order in memory. */
static dnnl_memory_desc_t form_of(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
    dnnl_memory_desc_t made = {0};
    const dnnl_dims_t dims = {batch, rows, columns};
    const dnnl_dims_t strides = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
    int skip = batch == 1;
    (void)dnnl.memory_desc_init_by_strides(&made, 3 - skip, dims + skip, dnnl_f32, strides + skip);
    return made;
}

/* Accepts a bias along the columns; our own kernel takes other ones. */
static bool bias_of(const PlanRequest *request, const Product *product, MatmulProblem *problem) {
    problem->has_bias = plan_request_has(request, 2);
    if (!problem->has_bias) return true;
    const Shape *bias = &request->inputs[2].shape;
    if (bias->rank == 0 || bias->dims[bias->rank - 1] != product->columns ||
        shape_count_unchecked(bias) != product->columns)
        return false;
    /* the same for every matrix of a batch */
    const dnnl_dims_t dims = {1, 1, product->columns};
    const dnnl_dims_t strides = {product->columns, product->columns, 1};
    int skip = product->batch == 1;
    (void)dnnl.memory_desc_init_by_strides(
        &problem->bias, 3 - skip, dims + skip, dnnl_f32, strides + skip);
    return true;
}

/* Gemm's and FusedMatMul's factors. oneDNN's scale would multiply the bias, too. */
static bool scale_of(const PlanRequest *request, bool has_bias, DnnlEpilogue *epilogue) {
    epilogue->scale = 1;
    if (request->operator_info->id == OPERATOR_MATMUL) return true;
    epilogue->scale = (float)attributes_float(request->attributes, "alpha");
    if (has_bias && epilogue->scale != 1) return false;
    return request->operator_info->id != OPERATOR_GEMM || !has_bias ||
           attributes_float(request->attributes, "beta") == 1;
}

static bool weights_of(
    const PlanRequest *request, const Product *product, dnnl_memory_desc_t *out) {
    const TensorSpec *weights = &request->inputs[1];
    if (weights->layout == CPU_LAYOUT_PLAIN) {
        *out = form_of(product->batch, product->depth, product->columns, product->transposed_b);
        return true;
    }
    if (weights->layout != CPU_LAYOUT_PANELS || weights->shape.rank != 2 ||
        product->depth % DEPTH_MULTIPLE != 0 || product->columns % PANEL_COLUMNS != 0)
        return false;
    const dnnl_dims_t dims = {product->depth, product->columns};
    return dnnl.memory_desc_init_by_tag(out, 2, dims, dnnl_f32, dnnl_BA16a64b) == dnnl_success;
}

/* The problem over matrices or rows [begin, end) of the outermost dimension with several. */
static void cut(const Product *product, const MatmulProblem *whole, int64_t begin, int64_t end,
    MatmulProblem *out, DnnlBand *out_band) {
    const int at = 0; /* the outermost dimension is the batch, or the rows without a batch */
    *out = *whole;
    out->source.dims[at] = out->source.padded_dims[at] = end - begin;
    out->result.dims[at] = out->result.padded_dims[at] = end - begin;
    const uint64_t offset = (uint64_t)begin * sizeof(float);
    out_band->offsets[DNNL_OPERAND_SOURCE] =
        offset * (uint64_t)whole->source.format_desc.blocking.strides[at];
    out_band->offsets[DNNL_OPERAND_RESULT] =
        offset * (uint64_t)whole->result.format_desc.blocking.strides[at];
    if (product->batch == 1) return;
    out->weights.dims[at] = out->weights.padded_dims[at] = end - begin;
    out_band->offsets[DNNL_OPERAND_WEIGHTS] =
        offset * (uint64_t)whole->weights.format_desc.blocking.strides[at];
}

static double multiply_adds(const Product *product) {
    return (double)product->batch * (double)product->rows * (double)product->depth *
           (double)product->columns;
}

/* Bands have at most two sizes, which differ by one row or matrix. */
static Error *describe_bands(const Product *product, const MatmulProblem *whole, CpuDevice *device,
    const_dnnl_primitive_attr_t attributes, DnnlProblem *common) {
    const int64_t units = product->batch == 1 ? product->rows : product->batch;
    const double work = multiply_adds(product);
    int64_t sizes[DNNL_KINDS_MAX] = {0};
    common->image_count = 1;
    common->band_count = cpu_dnnl_band_count(&device->rules, work, units);
    for (uint32_t i = 0; i < common->band_count; i++) {
        int64_t begin = units * i / common->band_count;
        int64_t end = units * (i + 1) / common->band_count;
        MatmulProblem band;
        uint32_t kind = 0;
        cut(product, whole, begin, end, &band, &common->bands[i]);
        while (sizes[kind] && sizes[kind] != end - begin) kind++;
        common->bands[i].kind = kind;
        if (sizes[kind]) continue;
        sizes[kind] = end - begin;
        TRY(describe(&band, attributes, &common->kinds[kind]));
        if (!common->kinds[kind]) return NULL;
    }
    return NULL;
}

static Error *plan_product(Device *device, const PlanRequest *request, const Product *product,
    const MatmulProblem *problem, const_dnnl_primitive_attr_t attributes, Plan **out) {
    DnnlProblem common = {.name = "cpu.dnnl_matmul", .adds_residual = plan_request_has(request, 3)};
    common.plain[DNNL_OPERAND_SOURCE] = problem->source;
    common.plain[DNNL_OPERAND_WEIGHTS] = problem->weights;
    common.plain[DNNL_OPERAND_RESULT] = problem->result;
    if (problem->has_bias) common.plain[DNNL_OPERAND_BIAS] = problem->bias;
    memcpy(common.wanted, common.plain, sizeof common.plain);
    Error *error = describe_bands(product, problem, cpu_device(device), attributes, &common);
    const CpuRules *rules = &cpu_device(device)->rules;
    bool complete = !error && !cpu_dnnl_is_long(rules, multiply_adds(product), common.band_count);
    for (uint32_t i = 0; complete && i < common.band_count; i++)
        complete = common.kinds[common.bands[i].kind] != NULL;
    if (complete) return cpu_dnnl_plan(device, request, &common, out);
    cpu_dnnl_problem_deinit(&common);
    *out = NULL;
    return error;
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const CpuDevice *cpu = cpu_device(device);
    MatmulProblem problem = {0};
    DnnlEpilogue epilogue = {.adds_residual = plan_request_has(request, 3)};
    dnnl_primitive_attr_t attributes;
    Product product;
    /* below AVX-512 oneDNN has no kernel that reads panels, and our own kernel gives the same bits
     * for packed and plain weights */
    if (cpu->portable_only || cpu->level < CPU_LEVEL_AVX512 ||
        request->inputs[1].dtype != DTYPE_FLOAT32 || !product_of(&cpu->rules, request, &product))
        return cpu_decline(out);
    TRY(cpu_dnnl_open());
    if (!bias_of(request, &product, &problem) || !scale_of(request, problem.has_bias, &epilogue) ||
        !weights_of(request, &product, &problem.weights))
        return cpu_decline(out);
    problem.source = form_of(product.batch, product.rows, product.depth, product.transposed_a);
    problem.result = form_of(product.batch, product.rows, product.columns, false);
    if (request->operator_info->id == OPERATOR_FUSED_MATMUL) {
        TRY(activation_of(request->attributes, &epilogue.activation));
        epilogue.alpha = attributes_float(request->attributes, "activation_alpha");
        epilogue.beta = attributes_float(request->attributes, "activation_beta");
    }
    TRY(cpu_dnnl_attributes(&epilogue, &attributes));
    Error *error = plan_product(device, request, &product, &problem, attributes, out);
    (void)dnnl.primitive_attr_destroy(attributes);
    return error;
}

const Kernel cpu_dnnl_matmul[] = {
    {OPERATOR_MATMUL, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.dnnl_matmul", KERNEL_BANDS},
    {OPERATOR_GEMM, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.dnnl_matmul", KERNEL_BANDS},
    {OPERATOR_FUSED_MATMUL, DTYPE_BIT(DTYPE_FLOAT32), plan, "cpu.dnnl_matmul", KERNEL_BANDS},
    KERNELS_END,
};
