#include "compiler/ir/ir_parse_value.h"

#include <string.h>

#include "base/text.h"
#include "compiler/ir/ir_print.h"
#include "kernels/device/device.h"
#include "kernels/tensor/dtype_scalar.h"

enum { CONTAINERS_MAX = 16 }; /* lists and optionals in each other */

static Error *parse_dims(IrModule *module, IrTokens *tokens, IrType *inout_type) {
    bool taken;
    TRY(ir_tokens_expect(tokens, "["));
    TRY(ir_tokens_take(tokens, "...", &taken));
    if (taken) return ir_tokens_expect(tokens, "]");
    inout_type->rank_known = true;
    TRY(ir_tokens_take(tokens, "]", &taken));
    while (!taken) {
        if (inout_type->rank == SHAPE_RANK_MAX) return ir_tokens_fail(tokens, "no more dimensions");
        int64_t *dim = &inout_type->dims[inout_type->rank++];
        if (tokens->kind == IR_TOKEN_NUMBER) {
            TRY(ir_tokens_integer(tokens, dim));
        } else if (tokens->kind == IR_TOKEN_WORD) {
            uint32_t symbol;
            TRY(ir_module_symbol(module, tokens->text, &symbol));
            *dim = ir_dim_symbol(symbol);
            TRY(ir_tokens_next(tokens));
        } else {
            TRY(ir_tokens_expect(tokens, "?"));
            *dim = IR_DIM_UNKNOWN;
        }
        TRY(ir_tokens_take(tokens, "]", &taken));
        if (!taken) TRY(ir_tokens_expect(tokens, ","));
    }
    return NULL;
}

Error *ir_parse_type(IrModule *module, IrTokens *tokens, IrType *out) {
    IrTypeKind containers[CONTAINERS_MAX];
    uint32_t depth = 0;
    while ((ir_tokens_is(tokens, "list") || ir_tokens_is(tokens, "optional")) &&
           depth < CONTAINERS_MAX) {
        containers[depth++] = ir_tokens_is(tokens, "list") ? IR_TYPE_LIST : IR_TYPE_OPTIONAL;
        TRY(ir_tokens_next(tokens));
        TRY(ir_tokens_expect(tokens, "("));
    }
    IrType type = {0};
    DType dtype = dtype_find(tokens->text);
    for (uint32_t i = 0; i < IR_TYPE_COUNT; i++)
        if (ir_tokens_is(tokens, ir_type_kind_name((IrTypeKind)i))) type.kind = (IrTypeKind)i;
    if (dtype != DTYPE_NONE && *tokens->at == '[') type.kind = IR_TYPE_TENSOR;
    if (type.kind == IR_TYPE_UNKNOWN && !ir_tokens_is(tokens, "unknown"))
        return ir_tokens_fail(tokens, "a type");
    TRY(ir_tokens_next(tokens));
    if (type.kind == IR_TYPE_TENSOR) {
        type.dtype = dtype;
        TRY(parse_dims(module, tokens, &type));
    }
    while (depth-- > 0) {
        const IrType element = type;
        const IrType *known = element.kind == IR_TYPE_UNKNOWN ? NULL : &element;
        TRY(ir_type_container(module, containers[depth], known, &type));
        TRY(ir_tokens_expect(tokens, ")"));
    }
    *out = type;
    return NULL;
}

static void set_element(Tensor *tensor, int64_t index, double value) {
    char *data = tensor_data(tensor);
    (void)dtype_scalar_write(
        tensor->dtype, value, data + index * (int64_t)(dtype_bits(tensor->dtype) / 8));
}

/* Fills with numbers of -1 … 1 in steps of 1/128, by splitmix64. */
static Error *fill_random(IrTokens *tokens, Tensor *tensor, int64_t count) {
    uint64_t state = 0;
    TRY(ir_tokens_expect(tokens, "#"));
    for (const char *c = tokens->text; *c; c++) state = state * 31 + (uint8_t)*c;
    for (int64_t i = 0; i < count; i++) {
        state += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t bits = state;
        bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
        set_element(tensor, i, (double)(bits >> 56) / 128.0 - 1.0);
    }
    TRY(ir_tokens_next(tokens));
    return ir_tokens_expect(tokens, "}");
}

static Error *parse_elements(IrTokens *tokens, Tensor *tensor) {
    int64_t count = shape_count_unchecked(&tensor->shape);
    TRY(ir_tokens_expect(tokens, "{"));
    if (ir_tokens_is(tokens, "#")) return fill_random(tokens, tensor, count);
    for (int64_t i = 0; i < count; i++) {
        double value = 0;
        if (i > 0) TRY(ir_tokens_expect(tokens, ","));
        if (ir_tokens_is(tokens, "true"))
            value = 1;
        else if (!ir_tokens_is(tokens, "false") && !text_parse_f64(tokens->text, &value))
            return ir_tokens_fail(tokens, "an element");
        int64_t integer;
        if (tensor->dtype == DTYPE_INT64 && text_parse_i64(tokens->text, &integer))
            ((int64_t *)tensor_data(tensor))[i] = integer;
        else
            set_element(tensor, i, value);
        TRY(ir_tokens_next(tokens));
    }
    return ir_tokens_expect(tokens, "}");
}

Error *ir_parse_constant(IrModule *module, IrTokens *tokens, IrVariable **out) {
    int64_t integer;
    double real;
    if (ir_tokens_is(tokens, "true") || ir_tokens_is(tokens, "false")) {
        TRY(ir_constant_bool(module, ir_tokens_is(tokens, "true"), out));
        return ir_tokens_next(tokens);
    }
    if (tokens->kind == IR_TOKEN_NUMBER) {
        if (text_parse_i64(tokens->text, &integer))
            TRY(ir_constant_int(module, integer, out));
        else if (text_parse_f64(tokens->text, &real))
            TRY(ir_constant_float(module, real, out));
        return ir_tokens_next(tokens);
    }
    IrType type;
    TRY(ir_parse_type(module, tokens, &type));
    const DTypeSet taken = DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL);
    if (!ir_type_is_static(&type) || !(taken >> type.dtype & 1))
        return ir_tokens_fail(tokens, "a constant of a plain type");
    Shape shape = shape_make(type.rank, type.dims);
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device_host(), type.dtype, &shape, &tensor));
    TRY(parse_elements(tokens, tensor));
    return ir_constant_tensor(module, tensor, out);
}
