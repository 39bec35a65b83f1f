/* CausalConvWithState: a depthwise convolution over the past and the present elements. */
#include <inttypes.h>
#include <string.h>

#include "kernels/shape_rules/expansion_builder.h"

typedef struct CausalConv {
    int64_t batch, channels, length, kernel;
    bool is_silu;
} CausalConv;

static Error *check_shape(
    const PlanRequest *request, uint32_t index, uint32_t rank, const int64_t *dims) {
    if (!plan_request_has(request, index)) return NULL;
    const Shape wanted = shape_make(rank, dims);
    if (!shape_equal(&request->inputs[index].shape, &wanted))
        FAIL(
            INVALID, "input %u does not have the shape that input 0 and the kernel ask for", index);
    return NULL;
}

static Error *read(const PlanRequest *request, CausalConv *out) {
    const Shape *x = &request->inputs[0].shape, *w = &request->inputs[1].shape;
    const char *activation = attributes_text(request->attributes, "activation");
    if (!(DTYPES_FLOAT & DTYPE_BIT(request->inputs[0].dtype)))
        FAIL(INVALID, "input 0 is %s", dtype_name(request->inputs[0].dtype));
    for (uint32_t i = 0; i < request->input_count; i++)
        if (plan_request_has(request, i) && request->inputs[i].dtype != request->inputs[0].dtype)
            FAIL(INVALID, "input %u is %s, input 0 %s", i, dtype_name(request->inputs[i].dtype),
                dtype_name(request->inputs[0].dtype));
    if (x->rank != 3 || w->rank != 3)
        FAIL(INVALID, "an input of rank %u and a kernel of rank %u, not 3", x->rank, w->rank);
    CausalConv conv = {x->dims[0], x->dims[1], x->dims[2], w->dims[2], false};
    if (w->dims[0] != conv.channels || w->dims[1] != 1 || conv.kernel < 1)
        FAIL(INVALID,
            "a kernel of [%" PRId64 ", %" PRId64 ", %" PRId64 "] for %" PRId64 " channels",
            w->dims[0], w->dims[1], w->dims[2], conv.channels);
    const int64_t past[3] = {conv.batch, conv.channels, conv.kernel - 1};
    TRY(check_shape(request, 2, 1, &conv.channels));
    TRY(check_shape(request, 3, 3, past));
    conv.is_silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
    if (!conv.is_silu && strcmp(activation, "none") != 0)
        FAIL(INVALID, "activation \"%.40s\"", activation);
    *out = conv;
    return NULL;
}

/* The past, or kernel - 1 columns of zeros, followed by the input. */
static Error *add_sequence(ExpansionBuilder *builder, const CausalConv *conv, uint32_t *out) {
    const int64_t pads[6] = {0, 0, conv->kernel - 1, 0, 0, 0};
    uint32_t inputs[2] = {0};
    if (expansion_input(builder, 3) != EXPANSION_ABSENT)
        return expansion_concat(builder, 3, 0, 2, out);
    TRY(expansion_ints(builder, pads, 6, &inputs[1]));
    return expansion_call(builder, (ExpansionCall){OPERATOR_PAD, NULL, 2, inputs, 1}, out);
}

static Error *add_conv(
    ExpansionBuilder *builder, const CausalConv *conv, uint32_t sequence, uint32_t *out) {
    const uint32_t inputs[3] = {sequence, 1, expansion_input(builder, 2)};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "group", conv->channels));
    return expansion_call(
        builder, (ExpansionCall){OPERATOR_CONV, TAKE(attributes), 3, inputs, 1}, out);
}

Error *expand_causal_conv_with_state(ExpansionBuilder *builder) {
    CausalConv conv;
    uint32_t sequence, value, gate, state;
    TRY(read(builder->request, &conv));
    TRY(add_sequence(builder, &conv, &sequence));
    if (conv.length == 0 || conv.channels == 0) {
        value = 0; /* the input is empty, so it has the result's shape */
    } else {
        TRY(add_conv(builder, &conv, sequence, &value));
    }
    if (conv.is_silu) {
        TRY(expansion_unary(builder, OPERATOR_SIGMOID, value, &gate));
        TRY(expansion_binary(builder, OPERATOR_MUL, value, gate, &value));
    }
    TRY(expansion_slice(builder, sequence, 2, conv.length, conv.length + conv.kernel - 1, &state));
    expansion_set_output(builder, 0, value);
    expansion_set_output(builder, 1, state);
    return NULL;
}
