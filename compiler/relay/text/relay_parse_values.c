/* Attributes' values and constants. */
#include <math.h>
#include <string.h>

#include "compiler/relay/text/relay_parser_internal.h"
#include "kernels/device/device.h"
#include "kernels/tensor/dtype_scalar.h"

static Error *parse_value_list(RelayParser *parser, const char *close, RelayValue *out) {
    RelayTokens *tokens = &parser->tokens;
    RelayItems OWN_ITEMS(items) = {0};
    bool taken;
    out->kind = RELAY_VALUE_LIST;
    TRY(relay_tokens_take(tokens, close, &taken));
    while (!taken) {
        RelayValue *item;
        bool comma;
        TRY(relay_new(parser->program, 1, sizeof *item, &item));
        TRY(relay_parse_value(parser, item));
        TRY(relay_items_add(&items, item));
        TRY(relay_tokens_take(tokens, ",", &comma));
        TRY(relay_tokens_take(tokens, close, &taken));
        if (!taken && !comma) return relay_tokens_fail(tokens, close);
    }
    if (items.count > UINT32_MAX) return relay_tokens_fail(tokens, "a shorter list");
    TRY(relay_new(parser->program, items.count, sizeof *out->items, &out->items));
    for (size_t i = 0; i < items.count; i++) out->items[i] = *(RelayValue *)items.items[i];
    out->count = (uint32_t)items.count;
    return NULL;
}

/* inf and nan as printers write them: inff, nanf. */
static bool is_special(const RelayTokens *tokens, double *out) {
    static const char *const names[] = {"inf", "inff", "inff64", "nan", "nanf", "nanf64"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!relay_tokens_is(tokens, names[i])) continue;
        *out = names[i][0] == 'i' ? (double)INFINITY : (double)NAN;
        return true;
    }
    return false;
}

static Error *parse_number(RelayParser *parser, RelayValue *out, DType *out_dtype) {
    RelayTokens *tokens = &parser->tokens;
    bool minus;
    double special;
    TRY(relay_tokens_take(tokens, "-", &minus));
    if (is_special(tokens, &special)) {
        const bool wide = text_ends_with(tokens->text, "64");
        *out = (RelayValue){.kind = RELAY_VALUE_FLOAT, .number = minus ? -special : special};
        *out_dtype = wide ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
        return relay_tokens_next(tokens);
    }
    if (tokens->kind != RELAY_TOKEN_INT && tokens->kind != RELAY_TOKEN_FLOAT)
        return relay_tokens_fail(tokens, "a number");
    const bool integer = tokens->kind == RELAY_TOKEN_INT;
    *out_dtype = tokens->dtype;
    out->kind = integer ? RELAY_VALUE_INT : RELAY_VALUE_FLOAT;
    out->integer = minus ? (int64_t)(0 - (uint64_t)tokens->integer) : tokens->integer;
    out->number = minus ? -tokens->number : tokens->number;
    return relay_tokens_next(tokens);
}

static Error *parse_value_inside(RelayParser *parser, RelayValue *out) {
    RelayTokens *tokens = &parser->tokens;
    const bool yes = relay_tokens_is(tokens, "True"), no = relay_tokens_is(tokens, "False");
    bool taken;
    DType dtype;
    double special;
    TRY(relay_tokens_take(tokens, "[", &taken));
    if (taken) return parse_value_list(parser, "]", out);
    TRY(relay_tokens_take(tokens, "(", &taken));
    if (taken) return parse_value_list(parser, ")", out);
    if (yes || no) {
        *out = (RelayValue){.kind = RELAY_VALUE_BOOL, .integer = yes, .number = yes};
        return relay_tokens_next(tokens);
    }
    TRY(relay_tokens_take(tokens, "None", &taken));
    if (taken) return NULL;
    const bool word = tokens->kind == RELAY_TOKEN_NAME && !is_special(tokens, &special);
    if (tokens->kind == RELAY_TOKEN_STRING || word) {
        out->kind = RELAY_VALUE_TEXT;
        TRY(relay_parse_text(parser, &out->text));
        return relay_tokens_next(tokens);
    }
    return parse_number(parser, out, &dtype);
}

Error *relay_parse_value(RelayParser *parser, RelayValue *out) {
    *out = (RelayValue){0};
    TRY(relay_parse_enter(parser));
    TRY(parse_value_inside(parser, out));
    parser->depth--;
    return NULL;
}

/* Whether an integer fits its element type. */
static bool fits(int64_t integer, bool minus, DType dtype) {
    const uint32_t bits = dtype_bits(dtype);
    if (!dtype_is_integer(dtype)) return true;
    if (!dtype_is_signed(dtype)) return !minus && (bits == 64 || (uint64_t)integer >> bits == 0);
    if (minus != (integer < 0) && integer != 0) return false; /* beyond 63 bits */
    const int64_t most = (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
    return integer <= most && integer >= -most - 1;
}

static Error *make_scalar(
    RelayParser *parser, RelayPlace place, const RelayValue *value, DType dtype, RelayExpr **out) {
    Tensor *tensor;
    const Shape shape = {.rank = 0};
    TRY(relay_make_expr(parser, RELAY_CONSTANT, place, out));
    TRY(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    if (dtype_is_integer(dtype))
        memcpy(tensor_data(tensor), &value->integer, dtype_bits(dtype) / 8);
    else if (dtype == DTYPE_BOOL)
        *(uint8_t *)tensor_data(tensor) = value->integer != 0;
    else
        (void)dtype_scalar_write(dtype, value->number, tensor_data(tensor));
    (*out)->tensor = tensor;
    return relay_program_keep(parser->program, tensor);
}

/* The index in "meta[relay.Constant][0]". */
static Error *parse_meta(RelayParser *parser, RelayPlace place, RelayExpr **out) {
    RelayTokens *tokens = &parser->tokens;
    TRY(relay_tokens_next(tokens));
    TRY(relay_tokens_expect(tokens, "["));
    if (!relay_tokens_is(tokens, "relay.Constant") && !relay_tokens_is(tokens, "Constant"))
        return relay_tokens_fail(tokens, "relay.Constant");
    TRY(relay_tokens_next(tokens));
    TRY(relay_tokens_expect(tokens, "]"));
    TRY(relay_tokens_expect(tokens, "["));
    if (tokens->kind != RELAY_TOKEN_INT || tokens->integer < 0 || tokens->integer > INT32_MAX)
        return relay_tokens_fail(tokens, "the number of a constant");
    TRY(relay_make_expr(parser, RELAY_CONSTANT, place, out));
    (*out)->index = (uint32_t)tokens->integer;
    TRY(relay_tokens_next(tokens));
    return relay_tokens_expect(tokens, "]");
}

Error *relay_parse_constant(RelayParser *parser, RelayExpr **out, bool *out_found) {
    RelayTokens *tokens = &parser->tokens;
    const RelayPlace place = tokens->place;
    RelayValue value = {0};
    DType dtype = DTYPE_BOOL;
    double special;
    const bool boolean = relay_tokens_is(tokens, "True") || relay_tokens_is(tokens, "False");
    const bool minus = relay_tokens_is(tokens, "-");
    *out_found = true;
    if (relay_tokens_is(tokens, "meta")) return parse_meta(parser, place, out);
    if (boolean) {
        TRY(relay_parse_value(parser, &value));
        return make_scalar(parser, place, &value, dtype, out);
    }
    *out_found = minus || tokens->kind == RELAY_TOKEN_INT || tokens->kind == RELAY_TOKEN_FLOAT ||
                 is_special(tokens, &special);
    if (!*out_found) return NULL;
    TRY(parse_number(parser, &value, &dtype));
    if (!fits(value.integer, minus, dtype))
        FAIL(INVALID, RELAY_AT ": the number does not fit %s", RELAY_PLACE(place),
            dtype_name(dtype));
    return make_scalar(parser, place, &value, dtype, out);
}
