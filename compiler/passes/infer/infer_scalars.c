/* Inference between tensors and scalars: the knowledge about one gives knowledge about the other.
 */
#include "compiler/passes/infer/infer_scalars.h"

Error *infer_scalars_shape_of(ProbeContext *context, const IrBinding *binding) {
    const Probe *input = probe_of(context, binding->operands[0]);
    const IrVariable *result = binding->results[0];
    if (input->state == PROBE_BOTTOM) return NULL;
    int64_t rank = input->state == PROBE_KNOWN ? (int64_t)input->rank : IR_DIM_UNKNOWN;
    IrType type = ir_type_shaped(DTYPE_INT64, 1, &rank);
    Probe *probe = probe_of(context, result);
    TRY(probe_from_type(context, result, &type, probe));
    if (input->state != PROBE_KNOWN || input->kind != IR_TYPE_TENSOR) return NULL;
    Shape shape = shape_make(1, &rank);
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        TRY(tensor_create_on_host(device_host(), DTYPE_INT64, &shape, &probe->values[w]));
        TRY(tensor_copy_from_host(probe->values[w], input->dims[w]));
    }
    probe->has_value = true;
    probe->value_tainted = input->shape_tainted;
    return NULL;
}

static bool read_integer(const Tensor *tensor, int64_t *out) {
    if (shape_count_unchecked(&tensor->shape) != 1) return false;
    const void *data = tensor_data(tensor);
    if (tensor->dtype == DTYPE_INT64)
        *out = *(const int64_t *)data;
    else if (tensor->dtype == DTYPE_INT32)
        *out = *(const int32_t *)data;
    else if (tensor->dtype == DTYPE_BOOL)
        *out = *(const uint8_t *)data != 0;
    else
        return false;
    return true;
}

Error *infer_scalars_read_scalar(ProbeContext *context, const IrBinding *binding) {
    const Probe *input = probe_of(context, binding->operands[0]);
    Probe *probe = probe_of(context, binding->results[0]);
    if (input->state == PROBE_BOTTOM) return NULL;
    Probe read = {.state = PROBE_KNOWN, .kind = binding->results[0]->type.kind};
    read.has_value = input->has_value;
    read.value_tainted = input->value_tainted;
    for (uint32_t w = 0; read.has_value && w < PROBE_WORLDS; w++)
        read.has_value = input->values[w] && read_integer(input->values[w], &read.scalars[w]);
    probe_set(probe, &read);
    return NULL;
}

/* False: the run will fail. */
static bool compute(IntOpKind kind, int64_t a, int64_t b, int64_t *out) {
    switch (kind) {
    case INT_OP_ADD:
        return !__builtin_add_overflow(a, b, out);
    case INT_OP_SUB:
        return !__builtin_sub_overflow(a, b, out);
    case INT_OP_MUL:
        return !__builtin_mul_overflow(a, b, out);
    case INT_OP_DIV:
    case INT_OP_MOD:
        if (b == 0 || (a == INT64_MIN && b == -1)) return false;
        *out = kind == INT_OP_DIV ? a / b : a % b;
        return true;
    case INT_OP_MIN:
        *out = a < b ? a : b;
        return true;
    case INT_OP_MAX:
        *out = a > b ? a : b;
        return true;
    case INT_OP_EQ:
        *out = a == b;
        return true;
    case INT_OP_LT:
        *out = a < b;
        return true;
    case INT_OP_LE:
        *out = a <= b;
        return true;
    case INT_OP_COUNT:
        break;
    }
    return false;
}

Error *infer_scalars_int_op(ProbeContext *context, const IrBinding *binding) {
    const Probe *a = probe_of(context, binding->operands[0]);
    const Probe *b = probe_of(context, binding->operands[1]);
    if (a->state == PROBE_BOTTOM || b->state == PROBE_BOTTOM) return NULL;
    IntOpKind kind = (IntOpKind)binding->integer;
    Probe result = {.state = PROBE_KNOWN, .kind = binding->results[0]->type.kind};
    result.has_value = a->has_value && b->has_value;
    bool cut = kind != INT_OP_ADD && kind != INT_OP_SUB && kind != INT_OP_MUL;
    result.value_tainted = a->value_tainted || b->value_tainted ||
                           (cut && !(probe_is_constant(a) && probe_is_constant(b)));
    for (uint32_t w = 0; result.has_value && w < PROBE_WORLDS; w++)
        result.has_value = compute(kind, a->scalars[w], b->scalars[w], &result.scalars[w]);
    if (!result.has_value) {
        result.value_tainted = false;
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) result.scalars[w] = 0;
    }
    probe_set(probe_of(context, binding->results[0]), &result);
    return NULL;
}

Error *infer_scalars_make_tensor(ProbeContext *context, const IrBinding *binding) {
    const Probe *input = probe_of(context, binding->operands[0]);
    if (input->state == PROBE_BOTTOM) return NULL;
    Probe *probe = probe_of(context, binding->results[0]);
    IrType type = ir_type_shaped(binding->dtype, 0, NULL);
    TRY(probe_from_type(context, binding->results[0], &type, probe));
    if (!input->has_value || binding->dtype != DTYPE_INT64) return NULL;
    Shape scalar = {0};
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        TRY(tensor_create_on_host(device_host(), DTYPE_INT64, &scalar, &probe->values[w]));
        TRY(tensor_copy_from_host(probe->values[w], &input->scalars[w]));
    }
    probe->has_value = true;
    probe->value_tainted = input->value_tainted;
    return NULL;
}
