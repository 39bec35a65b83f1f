#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

int64_t reference_flat(const Shape *shape, const int64_t *index) {
    int64_t flat = 0;
    for (uint32_t i = 0; i < shape->rank; i++) flat = flat * shape->dims[i] + index[i];
    return flat;
}

bool reference_next(const Shape *shape, int64_t *inout_index) {
    for (uint32_t i = shape->rank; i-- > 0;) {
        if (++inout_index[i] < shape->dims[i]) return true;
        inout_index[i] = 0;
    }
    return false;
}

double reference_broadcast(const ReferenceTensor *from, const Shape *shape, const int64_t *index) {
    int64_t own[SHAPE_RANK_MAX] = {0};
    uint32_t lead = shape->rank - from->shape.rank;
    for (uint32_t i = 0; i < from->shape.rank; i++)
        own[i] = from->shape.dims[i] == 1 ? 0 : index[lead + i];
    return from->values[reference_flat(&from->shape, own)];
}

uint32_t reference_axis(int64_t axis, uint32_t rank) {
    return (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
}

double reference_gelu(double x, bool tanh_form) {
    if (tanh_form) return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double one(const ReferenceCall *call, double x) {
    const Attributes *a = call->attributes;
    switch ((int)call->operator_info->id) {
    case OPERATOR_NOT:
        return x == 0;
    case OPERATOR_NEG:
        return -x;
    case OPERATOR_ABS:
        return fabs(x);
    case OPERATOR_SIGN:
        return (x > 0) - (x < 0);
    case OPERATOR_SQRT:
        return sqrt(x);
    case OPERATOR_RECIPROCAL:
        return 1 / x;
    case OPERATOR_EXP:
        return exp(x);
    case OPERATOR_LOG:
        return log(x);
    case OPERATOR_SIN:
        return sin(x);
    case OPERATOR_COS:
        return cos(x);
    case OPERATOR_ERF:
        return erf(x);
    case OPERATOR_TANH:
        return tanh(x);
    case OPERATOR_SIGMOID:
        return 1 / (1 + exp(-x));
    case OPERATOR_RELU:
        return x > 0 ? x : 0;
    case OPERATOR_LEAKY_RELU:
        return x < 0 ? attributes_float(a, "alpha") * x : x;
    case OPERATOR_ELU:
        return x < 0 ? attributes_float(a, "alpha") * (exp(x) - 1) : x;
    case OPERATOR_SELU:
        return attributes_float(a, "gamma") *
               (x > 0 ? x : attributes_float(a, "alpha") * (exp(x) - 1));
    case OPERATOR_GELU:
        return reference_gelu(x, strcmp(attributes_text(a, "approximate"), "tanh") == 0);
    case OPERATOR_SOFTPLUS:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    case OPERATOR_HARD_SIGMOID:
        return fmax(0, fmin(1, attributes_float(a, "alpha") * x + attributes_float(a, "beta")));
    case OPERATOR_HARD_SWISH:
        return x * fmax(0, fmin(1, x / 6 + 0.5));
    case OPERATOR_FLOOR:
        return floor(x);
    case OPERATOR_CEIL:
        return ceil(x);
    case OPERATOR_ROUND:
        return nearbyint(x);
    case OPERATOR_IS_NAN:
        return isnan(x);
    default:
        return NAN;
    }
}

void reference_unary(ReferenceCall *call) {
    for (int64_t i = 0; i < call->outputs[0].count; i++)
        call->outputs[0].values[i] = one(call, call->inputs[0].values[i]);
}

static double quotient(const ReferenceCall *call, double x, double y) {
    return dtype_is_integer(call->inputs[0].dtype) ? trunc(x / y) : x / y;
}

static double two(const ReferenceCall *call, double x, double y) {
    switch ((int)call->operator_info->id) {
    case OPERATOR_ADD:
    case OPERATOR_SUM:
    case OPERATOR_MEAN:
        return x + y;
    case OPERATOR_SUB:
        return x - y;
    case OPERATOR_MUL:
        return x * y;
    case OPERATOR_DIV:
        return quotient(call, x, y);
    case OPERATOR_POW:
        return pow(x, y);
    case OPERATOR_MOD:
        return attributes_int(call->attributes, "fmod") ? fmod(x, y) : x - floor(x / y) * y;
    case OPERATOR_MAX:
        return x > y ? x : y;
    case OPERATOR_MIN:
        return x < y ? x : y;
    case OPERATOR_AND:
        return x != 0 && y != 0;
    case OPERATOR_OR:
        return x != 0 || y != 0;
    case OPERATOR_XOR:
        return (x != 0) != (y != 0);
    case OPERATOR_EQUAL:
        return x == y;
    case OPERATOR_GREATER:
        return x > y;
    case OPERATOR_LESS:
        return x < y;
    case OPERATOR_GREATER_OR_EQUAL:
        return x >= y;
    case OPERATOR_LESS_OR_EQUAL:
        return x <= y;
    case OPERATOR_BITWISE_AND:
        return (double)((int64_t)x & (int64_t)y);
    case OPERATOR_BITWISE_OR:
        return (double)((int64_t)x | (int64_t)y);
    case OPERATOR_BITWISE_XOR:
        return (double)((int64_t)x ^ (int64_t)y);
    case OPERATOR_PRELU:
        return x < 0 ? x * y : x;
    default:
        return NAN;
    }
}

void reference_variadic(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++) {
        double value = reference_broadcast(&call->inputs[0], &out->shape, index);
        for (uint32_t j = 1; j < call->input_count; j++)
            value = two(call, value, reference_broadcast(&call->inputs[j], &out->shape, index));
        bool mean = call->operator_info->id == OPERATOR_MEAN;
        out->values[i] = mean ? value / call->input_count : value;
        (void)reference_next(&out->shape, index);
    }
}

void reference_binary(ReferenceCall *call) { reference_variadic(call); }

void reference_where(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++) {
        bool chosen = reference_broadcast(&call->inputs[0], &out->shape, index) != 0;
        out->values[i] = reference_broadcast(&call->inputs[chosen ? 1 : 2], &out->shape, index);
        (void)reference_next(&out->shape, index);
    }
}

void reference_clip(ReferenceCall *call) {
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        double value = call->inputs[0].values[i];
        if (call->inputs[1].present) value = fmax(value, call->inputs[1].values[0]);
        if (call->inputs[2].present) value = fmin(value, call->inputs[2].values[0]);
        call->outputs[0].values[i] = value;
    }
}

void reference_elementwise_mul_add_tanh(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++) {
        out->values[i] = tanh(reference_broadcast(&call->inputs[0], &out->shape, index) * 0.5 +
                              reference_broadcast(&call->inputs[1], &out->shape, index));
        (void)reference_next(&out->shape, index);
    }
}

void reference_elementwise_where(ReferenceCall *call) {
    ReferenceTensor *out = &call->outputs[0];
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < out->count; i++) {
        double x = reference_broadcast(&call->inputs[0], &out->shape, index);
        double y = x > 0 ? x : reference_broadcast(&call->inputs[1], &out->shape, index);
        out->values[i] = y < 0 ? 0.25 * y : y;
        (void)reference_next(&out->shape, index);
    }
}
