/* Convolutions and products of dequantized operands become operators of integers: QLinearConv and
 * QLinearMatMul where the result is quantized, else ConvInteger and MatMulInteger, whose sums are
 * scaled. */
#include <math.h>
#include <string.h>

#include "compiler/ir/constants.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/integers/integers.h"

/* A convolution or product whose operands are dequantized from bytes. */
typedef struct Product {
    IrBinding *binding;
    bool is_conv;
    Quantized a, b;
    IrVariable *weights; /* b's bytes, transposed where the product asks for it */
    IrVariable *scale;   /* b's scale times alpha */
    IrVariable *added;   /* float bias; may be NULL */
    int64_t columns;     /* channels or columns that have a bias of their own; 0: unknown */
    double beta;         /* the bias is taken so often */
    IrBinding *bias_add; /* the Add that adds the bias; NULL: the operator itself */
} Product;

static double scale_at(const Product *product, int64_t column) {
    const Tensor *scales = ir_variable_tensor(product->scale);
    const int64_t count = shape_count_unchecked(&scales->shape);
    return (double)((const float *)tensor_data(scales))[count > 1 ? column : 0] *
           (double)product->a.one_scale;
}

/* Whether the weights' scales are one, or one for each of the `count` entries of the axis. */
static bool scales_lie_along(const Quantized *b, uint32_t rank, uint32_t axis, int64_t count) {
    if (b->is_one) return true;
    const int64_t given = b->axis < 0 ? b->axis + rank : b->axis;
    return given == axis && b->scales->shape.dims[0] == count;
}

static Error *transpose_constant(Fusion *fusion, IrVariable *variable, IrVariable **out) {
    static const int64_t perm[2] = {1, 0};
    Tensor *tensor = ir_variable_tensor(variable);
    OWN(Attributes, attributes) = NULL;
    OWN(Tensor, turned) = NULL;
    bool done;
    *out = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_ints(attributes, "perm", perm, 2));
    TRY(evaluate_operator(fusion->context->portable, operator_get(OPERATOR_TRANSPOSE), attributes,
        1, &tensor, 1, tensor_bytes(tensor), &turned, &done));
    return done ? ir_constant_tensor(fusion->module, turned, out) : NULL;
}

/* Puts alpha into the scale of the weights. *inout_ok false: a scale leaves its range. */
static Error *scale_weights(Fusion *fusion, Product *product, double alpha, bool *inout_ok) {
    TRY(quantized_scale(fusion->module, &product->b, &product->scale));
    if (alpha == 1) return NULL;
    OWN(Tensor, scaled) = NULL;
    const Tensor *from = ir_variable_tensor(product->scale);
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &from->shape, &scaled));
    float *to = tensor_data(scaled);
    const int64_t count = shape_count_unchecked(&from->shape);
    for (int64_t i = 0; i < count; i++) {
        to[i] = (float)(((const float *)tensor_data(from))[i] * alpha);
        *inout_ok = *inout_ok && isnormal(to[i]) && to[i] > 0;
    }
    return ir_constant_tensor(fusion->module, scaled, &product->scale);
}

/* Conv with constant weights. */
static Error *read_conv(Fusion *fusion, Product *product, bool *out_ok) {
    const Tensor *weights = ir_variable_tensor(product->b.values);
    *out_ok = false;
    if (!weights || weights->shape.rank < 3) return NULL;
    product->columns = weights->shape.dims[0];
    if (!scales_lie_along(&product->b, weights->shape.rank, 0, product->columns)) return NULL;
    *out_ok = true;
    return scale_weights(fusion, product, 1, out_ok);
}

/* MatMul, or Gemm without a transposed left operand. */
static Error *read_matmul(Fusion *fusion, Product *product, bool *out_ok) {
    const IrBinding *binding = product->binding;
    const bool is_gemm = binding->operator_info->id == OPERATOR_GEMM;
    const bool turns = is_gemm && attributes_int(binding->attributes, "transB") != 0;
    const IrType *right = &product->b.values->type;
    double alpha = 1;
    *out_ok = false;
    if (is_gemm) {
        if (attributes_int(binding->attributes, "transA") != 0) return NULL;
        alpha = attributes_float(binding->attributes, "alpha");
        product->beta = attributes_float(binding->attributes, "beta");
    }
    if (!right->rank_known || right->rank < 2) return NULL;
    const uint32_t axis = turns ? right->rank - 2 : right->rank - 1;
    product->columns = right->dims[axis] > 0 ? right->dims[axis] : 0;
    if (!product->b.is_one &&
        (right->rank != 2 || !scales_lie_along(&product->b, right->rank, axis, product->columns)))
        return NULL;
    if (turns) {
        if (!ir_variable_tensor(product->weights)) return NULL;
        TRY(transpose_constant(fusion, product->weights, &product->weights));
        if (!product->weights) return NULL;
    }
    *out_ok = alpha > 0;
    return *out_ok ? scale_weights(fusion, product, alpha, out_ok) : NULL;
}

static Error *read_product(Fusion *fusion, IrBinding *binding, Product *out, bool *out_ok) {
    const OperatorId id = binding->operator_info->id;
    *out = (Product){.binding = binding, .is_conv = id == OPERATOR_CONV, .beta = 1};
    *out_ok = false;
    if (id != OPERATOR_CONV && id != OPERATOR_MATMUL && id != OPERATOR_GEMM) return NULL;
    if (!quantized_of(binding, fusion_operand(binding, 0), &out->a)) return NULL;
    if (!quantized_of(binding, fusion_operand(binding, 1), &out->b)) return NULL;
    if (!out->a.is_one || !quantized_is_byte(out->a.dtype) || !quantized_is_byte(out->b.dtype))
        return NULL;
    out->weights = out->b.values;
    out->added = fusion_operand(binding, 2);
    return out->is_conv ? read_conv(fusion, out, out_ok) : read_matmul(fusion, out, out_ok);
}

/* ---- the bias ---- */

/* Bias numbers as constants, one for each column. */
typedef struct Bias {
    const Tensor *tensor; /* int32 codes, or float32 */
    Quantized codes;      /* when int32 */
} Bias;

static bool read_bias(const Product *product, Bias *out) {
    const IrBinding *reader = product->bias_add ? product->bias_add : product->binding;
    *out = (Bias){0};
    if (quantized_of(reader, product->added, &out->codes)) {
        out->tensor = ir_variable_tensor(out->codes.values);
        const int64_t count = shape_count_unchecked(&out->codes.scales->shape);
        if (!out->codes.is_one && count != product->columns) return false;
    } else {
        out->tensor = ir_variable_tensor(product->added);
        if (out->tensor && out->tensor->dtype != DTYPE_FLOAT32) return false;
    }
    const Tensor *tensor = out->tensor;
    if (!tensor || tensor->shape.rank == 0) return false;
    return tensor->shape.dims[tensor->shape.rank - 1] == product->columns &&
           shape_count_unchecked(&tensor->shape) == product->columns;
}

static double bias_at(const Bias *bias, int64_t column) {
    if (bias->tensor->dtype == DTYPE_FLOAT32)
        return (double)((const float *)tensor_data(bias->tensor))[column];
    const Quantized *codes = &bias->codes;
    const int64_t at = codes->is_one ? 0 : column;
    const int64_t zero = codes->zero ? quantized_code(ir_variable_tensor(codes->zero), at) : 0;
    return (double)(quantized_code(bias->tensor, column) - zero) *
           (double)((const float *)tensor_data(codes->scales))[at];
}

/* Makes the bias as int32 [columns] in units of the sums; *out NULL without one. *out_ok false: a
 * bias that is no constant of the columns, or that these units do not hold to a sixteenth of a step
 * of the result. */
static Error *whole_bias(
    Fusion *fusion, const Product *product, double step, IrVariable **out, bool *out_ok) {
    enum { PARTS_OF_STEP = 8 };
    Bias bias;
    *out = NULL;
    *out_ok = !product->added;
    if (!product->added || product->columns < 1 || !read_bias(product, &bias)) return NULL;
    OWN(Tensor, whole) = NULL;
    const Shape shape = shape_make(1, &product->columns);
    TRY(tensor_create_on_host(device_host(), DTYPE_INT32, &shape, &whole));
    int32_t *to = tensor_data(whole);
    for (int64_t i = 0; i < product->columns; i++) {
        const double unit = scale_at(product, i);
        const double exact = bias_at(&bias, i) * product->beta / unit, rounded = nearbyint(exact);
        if (!(fabs(rounded) < 0x1p30)) return NULL;
        /* scales that were multiplied in float32 differ in their last bits */
        if (fabs(rounded - exact) * unit * PARTS_OF_STEP * 2 > step) return NULL;
        to[i] = (int32_t)rounded;
    }
    *out_ok = true;
    return ir_constant_tensor(fusion->module, whole, out);
}

/* ---- limits behind the product ---- */

/* The codes that Relu and Clip leave. */
typedef struct Limits {
    double low, high;
} Limits;

/* Follows a value up through Relu, and Clip with constant limits, that only it reads. */
static IrVariable *skip_limits(
    const Fusion *fusion, const IrBinding *reader, IrVariable *value, Limits *limits) {
    *limits = (Limits){-(double)INFINITY, (double)INFINITY};
    for (;;) {
        const IrBinding *maker = fusion_sole_maker(fusion, reader, value, OPERATOR_RELU);
        double low = 0, high = (double)INFINITY;
        if (!maker && (maker = fusion_sole_maker(fusion, reader, value, OPERATOR_CLIP))) {
            const IrVariable *least = fusion_operand(maker, 1), *most = fusion_operand(maker, 2);
            low = -(double)INFINITY;
            if (least && !fusion_scalar(least, &low)) return value;
            if (most && !fusion_scalar(most, &high)) return value;
            if (!(low <= high)) return value;
        }
        if (!maker) return value;
        /* the limits behind this one are applied to what it leaves */
        const double least = limits->low, most = limits->high;
        limits->low = fmin(fmax(low, least), most);
        limits->high = fmin(fmax(high, least), most);
        value = fusion_operand(maker, 0);
    }
}

static Error *replace_limited(
    Fusion *fusion, const Quantized *to, const Limits *limits, IrVariable *bytes) {
    double lowest, highest;
    quantized_limits(to->dtype, &lowest, &highest);
    const double low = (double)quantized_round(to, limits->low);
    const double high = (double)quantized_round(to, limits->high);
    if (low <= lowest && high >= highest) return fusion_replace_by(fusion, to->binding, bytes);
    IrVariable *inputs[] = {bytes, NULL, NULL};
    TRY(quantized_scalar(fusion->module, to->dtype, low, &inputs[1]));
    TRY(quantized_scalar(fusion->module, to->dtype, high, &inputs[2]));
    return fusion_replace(fusion, to->binding, "Clip", NULL, 3, inputs);
}

/* ---- results ---- */

/* A product, or the Add of a product and its bias, at the value. */
static Error *find_product(
    Fusion *fusion, const IrBinding *reader, IrVariable *value, Product *out, bool *out_ok) {
    IrBinding *maker = value->binding;
    *out_ok = false;
    if (!maker || maker->kind != IR_OPERATOR || maker->block != reader->block) return NULL;
    if (fusion_uses(fusion, value) != 1) return NULL;
    if (maker->operator_info->id != OPERATOR_ADD) return read_product(fusion, maker, out, out_ok);
    for (uint32_t i = 0; i < 2 && !*out_ok; i++) {
        IrBinding *product =
            fusion_sole_maker(fusion, maker, fusion_operand(maker, i), OPERATOR_MATMUL);
        if (!product) continue;
        if (!fusion_same_shape(&product->results[0]->type, &value->type)) continue;
        TRY(read_product(fusion, product, out, out_ok));
        out->added = fusion_operand(maker, 1 - i);
        out->bias_add = maker;
    }
    return NULL;
}

static Error *copy_of(const IrBinding *binding, const char *name, Attributes **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(binding->attributes, operator_find(name), attributes));
    *out = TAKE(attributes);
    return NULL;
}

/* Inserts ConvInteger or MatMulInteger. */
static Error *insert_sums(
    Fusion *fusion, IrBinding *before, const Product *product, IrVariable **out) {
    const char *name = product->is_conv ? "ConvInteger" : "MatMulInteger";
    IrVariable *inputs[] = {product->a.values, product->weights, NULL, NULL};
    IrType type = product->binding->results[0]->type;
    OWN(Attributes, attributes) = NULL;
    type.dtype = DTYPE_INT32;
    TRY(quantized_zero(fusion->module, &product->a, &inputs[2]));
    TRY(quantized_zero(fusion->module, &product->b, &inputs[3]));
    TRY(copy_of(product->binding, name, &attributes));
    return fusion_insert(fusion, before, name, attributes, 4, inputs, &type, out);
}

/* A constant with one float for each column (count > 1), in the place where columns are. */
static Error *column_floats(Fusion *fusion, const Product *product, int64_t count,
    double (*at)(const void *context, int64_t column), const void *context, IrVariable **out) {
    Shape shape = {0};
    OWN(Tensor, floats) = NULL;
    if (count > 1 || product->columns == 1) shape.dims[shape.rank++] = count;
    const IrType *type = &product->binding->results[0]->type;
    if (product->is_conv && shape.rank > 0)
        for (uint32_t i = 2; i < type->rank; i++) shape.dims[shape.rank++] = 1;
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &floats));
    for (int64_t i = 0; i < count; i++) ((float *)tensor_data(floats))[i] = (float)at(context, i);
    return ir_constant_tensor(fusion->module, floats, out);
}

static double factor_at(const void *context, int64_t column) { return scale_at(context, column); }

typedef struct FloatBias {
    Bias bias;
    double beta;
} FloatBias;

static double float_bias_at(const void *context, int64_t column) {
    const FloatBias *bias = context;
    return bias_at(&bias->bias, column) * bias->beta;
}

/* Inserts the float values of sums. */
static Error *insert_scaled(
    Fusion *fusion, IrBinding *before, const Product *product, IrVariable **inout) {
    IrType type = (*inout)->type;
    IrVariable *inputs[2] = {NULL};
    OWN(Attributes, attributes) = NULL;
    const Tensor *scales = ir_variable_tensor(product->scale);
    type.dtype = DTYPE_FLOAT32;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_dtype(attributes, "to", DTYPE_FLOAT32));
    TRY(fusion_insert(fusion, before, "Cast", attributes, 1, inout, &type, &inputs[0]));
    TRY(column_floats(
        fusion, product, shape_count_unchecked(&scales->shape), factor_at, product, &inputs[1]));
    return fusion_insert(fusion, before, "Mul", NULL, 2, inputs, &type, inout);
}

/* The bias as floats that can be added to the result; *out NULL without one. */
static Error *float_bias(Fusion *fusion, const Product *product, IrVariable **out, bool *out_ok) {
    FloatBias bias = {.beta = product->beta};
    *out = NULL;
    *out_ok = !product->added;
    if (!product->added) return NULL;
    if (product->columns > 0 && read_bias(product, &bias.bias)) {
        *out_ok = true;
        return column_floats(fusion, product, product->columns, float_bias_at, &bias, out);
    }
    *out_ok = !product->is_conv && product->beta == 1;
    *out = product->added;
    return NULL;
}

static Error *product_inputs(
    Fusion *fusion, const Product *product, const Quantized *to, IrVariable *inputs[8]) {
    IrModule *module = fusion->module;
    inputs[0] = product->a.values;
    TRY(quantized_scale(module, &product->a, &inputs[1]));
    TRY(quantized_zero(module, &product->a, &inputs[2]));
    inputs[3] = product->weights;
    inputs[4] = product->scale;
    TRY(quantized_zero(module, &product->b, &inputs[5]));
    TRY(quantized_scale(module, to, &inputs[6]));
    return quantized_zero(module, to, &inputs[7]);
}

Error *integers_product(Fusion *fusion, IrBinding *quantize) {
    Quantized to;
    Product product;
    Limits limits;
    bool ok;
    if (!quantized_read(quantize, OPERATOR_QUANTIZE_LINEAR, &to)) return NULL;
    if (!to.is_one || !quantized_is_byte(to.dtype)) return NULL;
    IrVariable *value = skip_limits(fusion, quantize, to.values, &limits);
    TRY(find_product(fusion, quantize, value, &product, &ok));
    if (!ok) return NULL;
    IrVariable *inputs[9] = {NULL}, *bytes;
    TRY(whole_bias(fusion, &product, (double)to.one_scale, &inputs[8], &ok));
    if (!ok) return NULL;
    TRY(product_inputs(fusion, &product, &to, inputs));
    const char *name = product.is_conv ? "QLinearConv"
                       : inputs[8]     ? "FusedQLinearMatMul"
                                       : "QLinearMatMul";
    OWN(Attributes, attributes) = NULL;
    TRY(copy_of(product.binding, name, &attributes));
    TRY(fusion_insert(fusion, quantize, name, attributes, product.is_conv || inputs[8] ? 9 : 8,
        inputs, &quantize->results[0]->type, &bytes));
    return replace_limited(fusion, &to, &limits, bytes);
}

Error *integers_product_to_float(Fusion *fusion, IrBinding *binding) {
    Product product;
    IrVariable *inputs[2] = {NULL};
    bool ok;
    TRY(read_product(fusion, binding, &product, &ok));
    if (!ok || !binding->results[0]->type.rank_known) return NULL;
    TRY(float_bias(fusion, &product, &inputs[1], &ok));
    if (!ok) return NULL;
    TRY(insert_sums(fusion, binding, &product, &inputs[0]));
    TRY(insert_scaled(fusion, binding, &product, &inputs[0]));
    if (!inputs[1]) return fusion_replace_by(fusion, binding, inputs[0]);
    return fusion_replace(fusion, binding, "Add", NULL, 2, inputs);
}
