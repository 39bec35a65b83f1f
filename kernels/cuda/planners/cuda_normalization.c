/* LayerNormalization, RMSNormalization, InstanceNormalization: rows normalized to mean 0 and
 * variance 1; BatchNormalization and LRN, which scale each element. */
#include <string.h>

#include "kernels/cuda/planners/cuda_internal.h"

/* True when all operands are float64, or none is. */
static bool is_even(const PlanRequest *request) {
    const bool wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].present && (request->inputs[i].dtype == DTYPE_FLOAT64) != wide)
            return false;
    return true;
}

static Error *launch_rows(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaNormalizeParams params = *(const CudaNormalizeParams *)plan_state(plan);
    const bool wide = params.dtype == DTYPE_FLOAT64;
    (void)output_shapes;
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    params.scale.address = launch->inputs[1];
    if (plan->input_count > 2) params.bias.address = launch->inputs[2];
    if (plan->output_count > 1) params.mean = launch->outputs[1];
    if (plan->output_count > 2) params.deviation = launch->outputs[2];
    /* rows of nothing cost no memory: any number */
    if (params.size == 0 && !params.mean && !params.deviation) return NULL;
    return cuda_run_blocks(plan, launch,
        wide ? CUDA_KERNEL_NORMALIZE_F64 : CUDA_KERNEL_NORMALIZE_F32, (uint64_t)params.rows,
        &params, sizeof params);
}

static Error *create(Device *device, const PlanRequest *request, uint32_t axis, Plan **out,
    CudaNormalizeParams **out_params) {
    const Shape *x = &request->inputs[0].shape;
    TRY(plan_create(device, request, "cuda.normalization", sizeof(CudaNormalizeParams), out));
    CudaNormalizeParams *params = plan_state(*out);
    params->rows = shape_product(x, 0, axis);
    params->size = shape_product(x, axis, x->rank);
    params->epsilon = attributes_float(request->attributes, "epsilon");
    params->dtype = request->inputs[0].dtype;
    params->centered = request->operator_info->id != OPERATOR_RMS_NORMALIZATION;
    params->rank = x->rank;
    memcpy(params->dims, x->dims, sizeof params->dims);
    (*out)->launch = launch_rows;
    *out_params = params;
    return NULL;
}

/* Reads an operand that broadcasts to x. The last dimensions of x, from `axis` on, are a row. */
static CudaAlong along_of(const TensorSpec *spec, const Shape *x, uint32_t axis) {
    CudaAlong along = {.dtype = spec->dtype, .step = 1, .row_wrap = 1};
    const int64_t count = shape_count_unchecked(&spec->shape);
    int64_t stride = shape_product(x, axis, x->rank);
    bool plain = count == stride;
    shape_broadcast_strides(&spec->shape, x, along.strides);
    for (uint32_t d = axis; d < x->rank; d++) {
        stride = x->dims[d] ? stride / x->dims[d] : 0;
        plain = plain && (x->dims[d] == 1 || along.strides[d] == stride);
    }
    if (count == 1) along.step = 0;
    along.strided = count != 1 && !plain;
    return along;
}

static Error *plan_rows(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    CudaNormalizeParams *params;
    uint32_t axis;
    if (!is_even(request)) return cuda_decline(out);
    TRY(shape_axis(attributes_int(request->attributes, "axis"), x->rank, &axis));
    TRY(create(device, request, axis, out, &params));
    params->scale = along_of(&request->inputs[1], x, axis);
    if (plan_request_has(request, 2)) params->bias = along_of(&request->inputs[2], x, axis);
    for (uint32_t i = 1; i < request->output_count; i++)
        params->statistics_dtype = request->outputs[i].dtype;
    return NULL;
}

/* x is [N, C, …]: one row for each image and channel, one scale and bias for each channel. */
static Error *plan_instances(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    CudaNormalizeParams *params;
    if (!is_even(request)) return cuda_decline(out);
    TRY(create(device, request, 2, out, &params));
    params->scale = (CudaAlong){
        .dtype = request->inputs[1].dtype, .row_step = 1, .row_wrap = x->dims[1] ? x->dims[1] : 1};
    params->bias = params->scale;
    params->bias.dtype = request->inputs[2].dtype;
    return NULL;
}

static Error *launch_batch(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaBatchNormalizeParams params = *(const CudaBatchNormalizeParams *)plan_state(plan);
    const bool wide = params.dtype == DTYPE_FLOAT64;
    (void)output_shapes;
    params.from = launch->inputs[0];
    params.scale = launch->inputs[1];
    params.bias = launch->inputs[2];
    params.mean = launch->inputs[3];
    params.variance = launch->inputs[4];
    params.to = launch->outputs[0];
    return cuda_run_units(plan, launch,
        wide ? CUDA_KERNEL_BATCH_NORMALIZE_F64 : CUDA_KERNEL_BATCH_NORMALIZE_F32, params.count,
        &params, sizeof params);
}

static Error *plan_batch(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    if (attributes_int(request->attributes, "training_mode") != 0) return cuda_decline(out);
    if (!is_even(request)) return cuda_decline(out);
    TRY(plan_create(
        device, request, "cuda.batch_normalization", sizeof(CudaBatchNormalizeParams), out));
    CudaBatchNormalizeParams *params = plan_state(*out);
    params->count = (uint64_t)shape_count_unchecked(x);
    params->channels = x->rank > 1 ? x->dims[1] : 1;
    params->pixels = x->rank > 2 ? shape_product(x, 2, x->rank) : 1;
    params->epsilon = attributes_float(request->attributes, "epsilon");
    params->dtype = request->inputs[0].dtype;
    params->scale_dtype = request->inputs[1].dtype;
    params->statistics_dtype = request->inputs[3].dtype;
    (*out)->launch = launch_batch;
    return NULL;
}

static Error *launch_lrn(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaLrnParams params = *(const CudaLrnParams *)plan_state(plan);
    (void)output_shapes;
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    return cuda_run_units(plan, launch, CUDA_KERNEL_LRN, params.count, &params, sizeof params);
}

static Error *plan_lrn(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    const Attributes *attributes = request->attributes;
    const int64_t size = attributes_int(attributes, "size");
    TRY(plan_create(device, request, "cuda.lrn", sizeof(CudaLrnParams), out));
    CudaLrnParams *params = plan_state(*out);
    params->count = (uint64_t)shape_count_unchecked(x);
    params->channels = x->dims[1];
    params->pixels = shape_product(x, 2, x->rank);
    params->before = (size - 1) / 2;
    params->after = size - 1 - params->before;
    params->factor = (float)(attributes_float(attributes, "alpha") / (double)size);
    params->bias = (float)attributes_float(attributes, "bias");
    params->beta = (float)attributes_float(attributes, "beta");
    params->dtype = request->inputs[0].dtype;
    (*out)->launch = launch_lrn;
    return NULL;
}

const Kernel cuda_normalization[] = {
    {OPERATOR_LAYER_NORMALIZATION, DTYPES_FLOAT, plan_rows, "cuda.normalization", 0},
    {OPERATOR_RMS_NORMALIZATION, DTYPES_FLOAT, plan_rows, "cuda.normalization", 0},
    {OPERATOR_INSTANCE_NORMALIZATION, DTYPES_FLOAT, plan_instances, "cuda.normalization", 0},
    {OPERATOR_BATCH_NORMALIZATION, DTYPES_FLOAT, plan_batch, "cuda.batch_normalization", 0},
    {OPERATOR_LRN, DTYPES_FLOAT32_AND_HALF, plan_lrn, "cuda.lrn", 0},
    KERNELS_END,
};
