/* Movement of values that are quantized moves bytes: a dequantization in front of it goes behind
 * it, a quantization behind it goes in front. */
#include <string.h>

#include "compiler/passes/integers/integers.h"

enum { OPERANDS_MAX = 64 };

/* The number of leading operands whose elements are moved; 0: not a movement of values alone. */
static uint32_t moved_operands(const IrBinding *binding) {
    switch ((int)binding->operator_info->id) {
    case OPERATOR_CONCAT:
        return binding->operand_count;
    case OPERATOR_RESHAPE:
    case OPERATOR_TRANSPOSE:
    case OPERATOR_FLATTEN:
    case OPERATOR_SQUEEZE:
    case OPERATOR_UNSQUEEZE:
    case OPERATOR_IDENTITY:
    case OPERATOR_EXPAND:
    case OPERATOR_TILE:
    case OPERATOR_SLICE:
    case OPERATOR_SPLIT:
    case OPERATOR_GATHER:
    case OPERATOR_GATHER_ELEMENTS:
    case OPERATOR_GATHER_ND:
    case OPERATOR_DEPTH_TO_SPACE:
    case OPERATOR_SPACE_TO_DEPTH:
    case OPERATOR_PAD:
        return 1;
    case OPERATOR_MAX_POOL: /* indices are of no bytes */
        return binding->result_count == 1 ? 1 : 0;
    case OPERATOR_RESIZE: {
        const Attributes *attributes = binding->attributes;
        const bool nearest = strcmp(attributes_text(attributes, "mode"), "nearest") == 0;
        const char *mode = attributes_text(attributes, "coordinate_transformation_mode");
        /* beside the image this mode gives a number of its own */
        return nearest && strcmp(mode, "tf_crop_and_resize") != 0 ? 1 : 0;
    }
    default:
        return 0;
    }
}

/* Whether the moved operands are dequantized alike from bytes. */
static bool read_moved(const IrBinding *binding, uint32_t count, Quantized *out) {
    for (uint32_t i = 0; i < count; i++) {
        Quantized other;
        if (!quantized_of(binding, fusion_operand(binding, i), i ? &other : out)) return false;
        if (!out->is_one || !quantized_is_byte(out->dtype)) return false;
        if (i > 0 && !quantized_is_same(out, &other)) return false;
    }
    return true;
}

/* The value that Pad puts beside the input, as a code. *out_ok false: not known. */
static Error *pad_with_code(Fusion *fusion, const IrBinding *pad, const Quantized *quantized,
    IrVariable **out, bool *out_ok) {
    const IrVariable *given = fusion_operand(pad, 2);
    double value = 0;
    *out_ok = !given || fusion_scalar(given, &value);
    /* a value between two codes would be rounded, and only a quantization behind says how */
    const int64_t code = *out_ok ? quantized_round(quantized, value) : 0;
    const float exact = (float)(code - quantized->one_zero) * quantized->one_scale;
    *out_ok = *out_ok && (double)exact == value;
    if (!*out_ok) return NULL;
    return quantized_scalar(fusion->module, quantized->dtype, (double)code, out);
}

static Error *copy_attributes(const IrBinding *binding, Attributes **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(binding->attributes, binding->operator_info, attributes));
    *out = TAKE(attributes);
    return NULL;
}

/* Puts DequantizeLinear of each of the moved results in the place of the binding's. */
static Error *dequantize_results(
    Fusion *fusion, IrBinding *binding, const Quantized *quantized, IrVariable **moved) {
    IrVariable *first = NULL;
    for (uint32_t i = binding->result_count; i-- > 0;) {
        IrVariable *inputs[] = {moved[i], quantized->scale, quantized->zero};
        IrVariable *result = binding->results[i];
        TRY(fusion_insert(
            fusion, binding, "DequantizeLinear", NULL, 3, inputs, &result->type, &first));
        first->name = result->name;
        if (i > 0) TRY(fusion_stand_for(fusion, result, first));
    }
    return fusion_replace_by(fusion, binding, first);
}

Error *integers_sink(Fusion *fusion, IrBinding *binding) {
    Quantized quantized;
    const uint32_t count = moved_operands(binding);
    if (count == 0 || count > OPERANDS_MAX || binding->operand_count > OPERANDS_MAX) return NULL;
    if (!read_moved(binding, count, &quantized)) return NULL;
    IrVariable *inputs[OPERANDS_MAX], **moved;
    uint32_t input_count = binding->operand_count;
    for (uint32_t i = 0; i < input_count; i++) {
        inputs[i] = fusion_operand(binding, i);
        Quantized operand;
        if (i < count && quantized_of(binding, inputs[i], &operand)) inputs[i] = operand.values;
    }
    if (binding->operator_info->id == OPERATOR_PAD &&
        strcmp(attributes_text(binding->attributes, "mode"), "constant") == 0) {
        bool ok;
        TRY(pad_with_code(fusion, binding, &quantized, &inputs[2], &ok));
        if (!ok) return NULL;
        if (input_count < 3) input_count = 3;
    }
    OWN(Attributes, attributes) = NULL;
    TRY(copy_attributes(binding, &attributes));
    IrType types[OPERANDS_MAX];
    if (binding->result_count > OPERANDS_MAX) return NULL;
    for (uint32_t i = 0; i < binding->result_count; i++) {
        types[i] = binding->results[i]->type;
        types[i].dtype = quantized.dtype;
    }
    TRY(fusion_insert_results(fusion, binding, binding->operator_info->name, attributes,
        input_count, inputs, binding->result_count, types, &moved));
    return dequantize_results(fusion, binding, &quantized, moved);
}

/* The number of leading operands of an operator whose results are their elements, each once; 0: it
 * is none. */
static uint32_t kept_operands(const IrBinding *binding) {
    const OperatorId id = binding->operator_info->id;
    if (id == OPERATOR_CONCAT) return binding->operand_count;
    return id == OPERATOR_RESHAPE || id == OPERATOR_TRANSPOSE || id == OPERATOR_FLATTEN ||
           id == OPERATOR_SQUEEZE || id == OPERATOR_UNSQUEEZE || id == OPERATOR_IDENTITY;
}

static bool are_floats(const IrBinding *binding, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const IrType *type = &fusion_operand(binding, i)->type;
        if (type->kind != IR_TYPE_TENSOR || type->dtype != DTYPE_FLOAT32) return false;
    }
    return true;
}

static Error *quantize_operand(
    Fusion *fusion, const Quantized *to, IrVariable *operand, IrVariable **out) {
    IrVariable *const inputs[] = {operand, to->scale, to->zero};
    IrType type = operand->type;
    type.dtype = to->dtype;
    OWN(Attributes, how) = NULL;
    TRY(copy_attributes(to->binding, &how));
    return fusion_insert(fusion, to->binding, "QuantizeLinear", how, 3, inputs, &type, out);
}

Error *integers_raise(Fusion *fusion, IrBinding *binding) {
    Quantized to;
    IrVariable *inputs[OPERANDS_MAX];
    if (!quantized_read(binding, OPERATOR_QUANTIZE_LINEAR, &to)) return NULL;
    if (!to.is_one || !quantized_is_byte(to.dtype)) return NULL;
    const IrBinding *moves = to.values->binding;
    if (!moves || moves->kind != IR_OPERATOR || moves->block != binding->block) return NULL;
    const uint32_t kept = kept_operands(moves), count = moves->operand_count;
    if (kept == 0 || count > OPERANDS_MAX || fusion_uses(fusion, to.values) != 1) return NULL;
    if (!are_floats(moves, kept)) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = fusion_operand(moves, i);
        if (i < kept) TRY(quantize_operand(fusion, &to, inputs[i], &inputs[i]));
    }
    OWN(Attributes, attributes) = NULL;
    TRY(copy_attributes(moves, &attributes));
    return fusion_replace(fusion, binding, moves->operator_info->name, attributes, count, inputs);
}
