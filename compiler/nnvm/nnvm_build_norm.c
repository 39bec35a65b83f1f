/* Normalisations. */
#include <string.h>

#include "compiler/nnvm/nnvm_build_internal.h"

/* A vector of one number, as long as another. */
static Error *filled(NnvmCall *call, uint32_t like, double value, IrVariable **out) {
    IrVariable *number, *yes, *equal, *all, *is = call->inputs[like];
    TRY(constants_number(ir_cursor_module(call->at), nnvm_dtype(call, like), value, &number));
    TRY(ir_build_simple(call->at, "Equal", NULL, is, is, NULL, &equal));
    TRY(ir_build_simple(call->at, "Not", NULL, equal, NULL, NULL, &yes));
    TRY(ir_build_simple(call->at, "Or", NULL, equal, yes, NULL, &all));
    return ir_build_simple(call->at, "Where", NULL, all, number, number, out);
}

/* Moves an axis to another place. */
static Error *move_axis(NnvmCall *call, IrVariable *input, uint32_t rank, uint32_t from,
    uint32_t to, IrVariable **out) {
    int64_t perm[SHAPE_RANK_MAX];
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (next == from) next++;
        perm[i] = i == to ? from : next++;
    }
    return ir_build_transpose(call->at, input, rank, perm, out);
}

static Error *normalize(
    NnvmCall *call, IrVariable *const inputs[5], double epsilon, int64_t axis, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *own[5], **results;
    uint32_t rank = 0;
    memcpy(own, inputs, sizeof own);
    if (axis != 1) {
        TRY(nnvm_rank(call, 0, &rank));
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank || rank < 2)
            FAIL(INVALID, "axis %lld of %u dimensions", (long long)axis, rank);
    }
    if (axis != 1) TRY(move_axis(call, own[0], rank, (uint32_t)axis, 1, &own[0]));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "epsilon", epsilon));
    TRY(ir_build_operator(call->at, "BatchNormalization", attributes, 5, own, 1, &results));
    *out = results[0];
    if (axis != 1) TRY(move_axis(call, *out, rank, 1, (uint32_t)axis, out));
    return NULL;
}

/* target: whose defaults. The other results are the moments, which do not change. */
Error *nnvm_build_batch_norm(NnvmCall *call) {
    const bool mxnet = strcmp(call->row->target, "mxnet") == 0;
    IrVariable *inputs[5], *result;
    double epsilon;
    int64_t axis;
    bool fixed, scale, center;
    memcpy(inputs, call->inputs, sizeof inputs);
    TRY(nnvm_get_float(call, "eps|epsilon", mxnet ? 1e-3 : 1e-5, &epsilon));
    TRY(nnvm_get_int(call, "axis", 1, &axis));
    TRY(nnvm_get_bool(call, "fix_gamma", mxnet, &fixed));
    TRY(nnvm_get_bool(call, "scale", !fixed, &scale));
    TRY(nnvm_get_bool(call, "center", true, &center));
    if (!scale) TRY(filled(call, 1, 1, &inputs[1]));
    if (!center) TRY(filled(call, 2, 0, &inputs[2]));
    TRY(normalize(call, inputs, epsilon, axis, &result));
    call->result_count = 3;
    call->results[0] = result;
    call->results[1] = call->inputs[3];
    call->results[2] = call->inputs[4];
    return NULL;
}

static Error *make_norm(NnvmCall *call, const char *name, bool has_axis) {
    OWN(Attributes, attributes) = NULL;
    double epsilon;
    int64_t axis;
    bool moments;
    IrVariable *result;
    TRY(nnvm_get_float(call, "eps", has_axis ? 1e-5 : 1e-3, &epsilon));
    TRY(nnvm_get_int(call, "axis", -1, &axis));
    TRY(nnvm_get_bool(call, "output_mean_var", false, &moments));
    if (axis != -1) FAIL(UNSUPPORTED, "axis is %lld; only -1 is read", (long long)axis);
    if (moments) FAIL(UNSUPPORTED, "output_mean_var is True");
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "epsilon", epsilon));
    TRY(ir_build_simple(
        call->at, name, attributes, call->inputs[0], call->inputs[1], call->inputs[2], &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_instance_norm(NnvmCall *call) {
    return make_norm(call, "InstanceNormalization", false);
}

Error *nnvm_build_layer_norm(NnvmCall *call) { return make_norm(call, "LayerNormalization", true); }

/* target: whose defaults */
Error *nnvm_build_lrn(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    double alpha, beta, bias;
    int64_t size, axis;
    IrVariable *result;
    TRY(nnvm_get_float(call, "alpha", 1e-4, &alpha));
    TRY(nnvm_get_float(call, "beta", 0.75, &beta));
    TRY(nnvm_get_float(call, "knorm|bias", 2, &bias));
    TRY(nnvm_get_int(call, "nsize|size", 5, &size));
    TRY(nnvm_get_int(call, "axis", 1, &axis));
    if (axis != 1) FAIL(UNSUPPORTED, "axis is %lld; only 1 is read", (long long)axis);
    if (size < 1 || size % 2 == 0) FAIL(INVALID, "the size is %lld, not odd", (long long)size);
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "alpha", alpha));
    TRY(attributes_set_float(attributes, "beta", beta));
    TRY(attributes_set_float(attributes, "bias", bias));
    TRY(attributes_set_int(attributes, "size", size));
    TRY(ir_build_simple(call->at, "LRN", attributes, call->inputs[0], NULL, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

/* ---- softmax ---- */

/* target: the operator */
Error *nnvm_build_softmax(NnvmCall *call) {
    int64_t axis;
    double temperature;
    bool lengths;
    IrVariable *input = call->inputs[0], *number, *result;
    TRY(nnvm_get_int(call, "axis", -1, &axis));
    TRY(nnvm_get_float(call, "temperature", 1, &temperature));
    TRY(nnvm_get_bool(call, "use_length", false, &lengths));
    if (lengths) FAIL(UNSUPPORTED, "use_length is True");
    TRY(nnvm_only(call, "dtype", "float32"));
    if (temperature != 1) {
        TRY(constants_number(
            ir_cursor_module(call->at), nnvm_dtype(call, 0), temperature, &number));
        TRY(ir_build_simple(call->at, "Div", NULL, input, number, NULL, &input));
    }
    TRY(nnvm_make_along(call, call->row->target, axis, input, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

/* Over all elements of each item of the batch. */
static Error *softmax_of_items(NnvmCall *call, IrVariable **out) {
    const IrType *type = &call->inputs[0]->type;
    IrVariable *flat, *shape, *data = call->inputs[0];
    if (type->kind == IR_TYPE_TENSOR && type->rank_known && type->rank == 2)
        return nnvm_make_along(call, "Softmax", 1, data, NULL, out);
    TRY(ir_build_simple(call->at, "Flatten", NULL, data, NULL, NULL, &flat));
    TRY(nnvm_make_along(call, "Softmax", 1, flat, NULL, &flat));
    TRY(ir_build_simple(call->at, "Shape", NULL, data, NULL, NULL, &shape));
    return ir_build_simple(call->at, "Reshape", NULL, flat, shape, NULL, out);
}

Error *nnvm_build_softmax_output(NnvmCall *call) {
    bool along_channels, keeps;
    IrVariable *result;
    TRY(nnvm_get_bool(call, "multi_output", false, &along_channels));
    TRY(nnvm_get_bool(call, "preserve_shape", false, &keeps));
    if (along_channels || keeps)
        TRY(nnvm_make_along(
            call, "Softmax", along_channels ? 1 : -1, call->inputs[0], NULL, &result));
    else
        TRY(softmax_of_items(call, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_softmax_activation(NnvmCall *call) {
    const char *mode = nnvm_text(call, "mode", "instance");
    IrVariable *result;
    if (strcmp(mode, "channel") == 0)
        TRY(nnvm_make_along(call, "Softmax", 1, call->inputs[0], NULL, &result));
    else if (strcmp(mode, "instance") == 0)
        TRY(softmax_of_items(call, &result));
    else
        FAIL(UNSUPPORTED, "mode is %.100s; instance and channel are read", mode);
    nnvm_give(call, result);
    return NULL;
}
