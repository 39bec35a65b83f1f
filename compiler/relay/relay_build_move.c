/* Operators that move elements: shapes, axes, parts. */
#include <string.h>

#include "base/checked.h"
#include "compiler/relay/relay_build_internal.h"

/* Relay's newshape while it is read: sizes so far, as Reshape wants them. */
typedef struct NewShape {
    const RelayType *from;
    uint32_t source; /* the next dimension of the input */
    int64_t dims[RELAY_INTS_MAX];
    uint32_t count;
    bool left; /* one size is what is left: -1 */
} NewShape;

static Error *add_size(NewShape *shape, int64_t size) {
    if (shape->count == RELAY_INTS_MAX) FAIL(INVALID, "newshape has too many sizes");
    if (size == -1 && shape->left)
        FAIL(UNSUPPORTED, "newshape with two sizes that are not known before the run");
    shape->left = shape->left || size == -1;
    shape->dims[shape->count++] = size;
    return NULL;
}

/* The size of the input's next dimension; -1: not known. */
static Error *next_size(NewShape *shape, int64_t *out) {
    if (!shape->from->rank_known)
        FAIL(INVALID, "the rank of argument 1 is not known; write its type at a let");
    if (shape->source >= shape->from->rank)
        FAIL(INVALID, "newshape reads dimension %u of %u", shape->source, shape->from->rank);
    const int64_t size = shape->from->dims[shape->source++];
    *out = size < 0 ? -1 : size;
    return NULL;
}

/* A dimension that is not known is copied by Reshape itself where its place does not change. */
static Error *copy_size(NewShape *shape) {
    const bool in_place = shape->source == shape->count;
    int64_t size;
    TRY(next_size(shape, &size));
    return add_size(shape, size < 0 && in_place ? 0 : size);
}

static Error *merge_sizes(NewShape *shape) {
    int64_t first, second, product;
    TRY(next_size(shape, &first));
    TRY(next_size(shape, &second));
    if (first < 0 || second < 0) return add_size(shape, -1);
    if (!checked_mul_i64(first, second, &product)) FAIL(INVALID, "newshape is too large");
    return add_size(shape, product);
}

/* parts: the two sizes behind a -4, one of which may be -1. */
static Error *split_size(NewShape *shape, const int64_t parts[2]) {
    int64_t whole, sizes[2] = {parts[0], parts[1]};
    TRY(next_size(shape, &whole));
    if (sizes[0] < -1 || sizes[1] < -1 || (sizes[0] == -1 && sizes[1] == -1))
        FAIL(INVALID, "newshape splits a dimension into %lld and %lld", (long long)sizes[0],
            (long long)sizes[1]);
    for (uint32_t i = 0; i < 2 && whole >= 0; i++)
        if (sizes[i] == -1 && sizes[1 - i] > 0) sizes[i] = whole / sizes[1 - i];
    int64_t product;
    if (whole >= 0 && (!checked_mul_i64(sizes[0], sizes[1], &product) || product != whole))
        FAIL(INVALID, "newshape splits a dimension of %lld into %lld and %lld", (long long)whole,
            (long long)parts[0], (long long)parts[1]);
    TRY(add_size(shape, sizes[0]));
    return add_size(shape, sizes[1]);
}

/* 0 copies a dimension, -1 is what is left, -2 copies the dimensions that are left, -3 is the
 * product of two, -4 splits one into the two sizes that follow. */
static Error *read_newshape(const int64_t *codes, uint32_t count, NewShape *shape) {
    for (uint32_t i = 0; i < count; i++) {
        if (codes[i] > 0 || codes[i] == -1) {
            shape->source++;
            TRY(add_size(shape, codes[i]));
        } else if (codes[i] == 0) {
            TRY(copy_size(shape));
        } else if (codes[i] == -2) {
            if (!shape->from->rank_known) return next_size(shape, &(int64_t){0});
            while (shape->source < shape->from->rank) TRY(copy_size(shape));
        } else if (codes[i] == -3) {
            TRY(merge_sizes(shape));
        } else if (codes[i] == -4 && i + 2 < count) {
            TRY(split_size(shape, codes + i + 1));
            i += 2;
        } else {
            FAIL(INVALID, "newshape has %lld at place %u", (long long)codes[i], i);
        }
    }
    return NULL;
}

static bool has_codes(const int64_t *codes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (codes[i] < -1) return true;
    return false;
}

Error *relay_build_reshape(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    NewShape read = {.from = call->types[0]};
    int64_t dims[RELAY_INTS_MAX];
    uint32_t count;
    bool zero;
    IrVariable *shape, *result;
    TRY(relay_get_ints(call, "newshape", dims, &count));
    TRY(relay_get_bool(call, "allowzero", false, &zero));
    if (count == RELAY_ABSENT) FAIL(INVALID, "the attribute newshape is wanted");
    if (has_codes(dims, count)) {
        if (zero) FAIL(INVALID, "newshape with codes below -1 and allowzero");
        TRY(read_newshape(dims, count, &read));
        count = read.count;
        memcpy(dims, read.dims, count * sizeof *dims);
    }
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "allowzero", zero));
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, dims, &shape));
    TRY(ir_build_simple(call->at, "Reshape", attributes, call->inputs[0], shape, NULL, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_transpose(RelayOperatorCall *call) {
    int64_t axes[RELAY_INTS_MAX];
    uint32_t rank, count;
    IrVariable *result;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_ints(call, "axes", axes, &count));
    if (count == RELAY_ABSENT || (count == 0 && rank > 0)) {
        count = rank;
        for (uint32_t i = 0; i < rank; i++) axes[i] = rank - 1 - i;
    }
    if (count != rank) FAIL(INVALID, "axes has %u numbers, the tensor %u dimensions", count, rank);
    for (uint32_t i = 0; i < rank; i++)
        if (axes[i] < 0) axes[i] += rank;
    TRY(ir_build_transpose(call->at, call->inputs[0], rank, axes, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_expand_dims(RelayOperatorCall *call) {
    int64_t axes[SHAPE_RANK_MAX], count;
    uint32_t rank, axis;
    IrVariable *list, *result;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_int(call, "num_newaxis", 1, &count));
    if (!relay_attribute(call, "axis")) FAIL(INVALID, "the attribute axis is wanted");
    TRY(relay_get_axis(call, "axis", rank + 1, 0, &axis));
    if (count < 0 || count + rank > SHAPE_RANK_MAX)
        FAIL(INVALID, "num_newaxis is %lld", (long long)count);
    for (uint32_t i = 0; i < (uint32_t)count; i++) axes[i] = axis + i;
    TRY(constants_ints(ir_cursor_module(call->at), 1, (uint32_t)count, axes, &list));
    TRY(ir_build_simple(call->at, "Unsqueeze", NULL, call->inputs[0], list, NULL, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_squeeze(RelayOperatorCall *call) {
    int64_t axes[RELAY_INTS_MAX];
    uint32_t count;
    IrVariable *list = NULL, *result;
    TRY(relay_get_ints(call, "axis", axes, &count));
    if (count != RELAY_ABSENT)
        TRY(constants_ints(ir_cursor_module(call->at), 1, count, axes, &list));
    TRY(ir_build_simple(call->at, "Squeeze", NULL, call->inputs[0], list, NULL, &result));
    relay_give(call, result);
    return NULL;
}

static Error *join(RelayOperatorCall *call, uint32_t axis, IrVariable *const *parts) {
    OWN(Attributes, attributes) = NULL;
    IrVariable **results;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(ir_build_operator(call->at, "Concat", attributes, call->count, parts, 1, &results));
    relay_give(call, results[0]);
    return NULL;
}

Error *relay_build_concatenate(RelayOperatorCall *call) {
    uint32_t rank, axis;
    if (call->count == 0) FAIL(INVALID, "a tuple of no tensors");
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_axis(call, "axis", rank, 0, &axis));
    return join(call, axis, call->inputs);
}

Error *relay_build_stack(RelayOperatorCall *call) {
    uint32_t rank, axis;
    int64_t axes[1];
    IrVariable *list;
    if (call->count == 0) FAIL(INVALID, "a tuple of no tensors");
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_axis(call, "axis", rank + 1, 0, &axis));
    axes[0] = axis;
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, axes, &list));
    /* the inputs' array is the call's own */
    for (uint32_t i = 0; i < call->count; i++)
        TRY(ir_build_simple(
            call->at, "Unsqueeze", NULL, call->inputs[i], list, NULL, &call->inputs[i]));
    return join(call, axis, call->inputs);
}

/* The lengths of the parts: a number of equal parts, or the places of the cuts. */
static Error *get_parts(RelayOperatorCall *call, int64_t length, int64_t parts[RELAY_INTS_MAX + 1],
    uint32_t *out_count) {
    const RelayValue *value = relay_attribute(call, "indices_or_sections");
    int64_t cuts[RELAY_INTS_MAX];
    uint32_t count;
    TRY(relay_get_ints(call, "indices_or_sections", cuts, &count));
    if (!value) FAIL(INVALID, "the attribute indices_or_sections is wanted");
    if (length < 0)
        FAIL(UNSUPPORTED, "the length of the dimension is not known; write it in the type");
    *out_count = value->kind == RELAY_VALUE_INT ? (uint32_t)cuts[0] : count + 1;
    if (value->kind == RELAY_VALUE_INT) {
        if (cuts[0] < 1 || cuts[0] > RELAY_RESULTS_MAX || length % cuts[0] != 0)
            FAIL(INVALID, "%lld elements in %lld equal parts", (long long)length,
                (long long)cuts[0]);
        for (uint32_t i = 0; i < *out_count; i++) parts[i] = length / cuts[0];
        return NULL;
    }
    if (*out_count > RELAY_RESULTS_MAX)
        FAIL(UNSUPPORTED, "%u parts; at most %d are made", *out_count, RELAY_RESULTS_MAX);
    for (uint32_t i = 0; i < *out_count; i++) {
        const int64_t from = i > 0 ? cuts[i - 1] : 0, to = i < count ? cuts[i] : length;
        if (from < 0 || to < from || to > length)
            FAIL(INVALID, "a part from %lld to %lld of %lld elements", (long long)from,
                (long long)to, (long long)length);
        parts[i] = to - from;
    }
    return NULL;
}

Error *relay_build_split(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    int64_t parts[RELAY_INTS_MAX + 1];
    uint32_t rank, axis, count;
    IrVariable *inputs[2], **results;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_axis(call, "axis", rank, 0, &axis));
    TRY(get_parts(call, call->types[0]->dims[axis], parts, &count));
    inputs[0] = call->inputs[0];
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, parts, &inputs[1]));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(ir_build_operator(call->at, "Split", attributes, 2, inputs, count, &results));
    call->is_tuple = true;
    call->result_count = count;
    memcpy(call->results, results, count * sizeof *results);
    return NULL;
}

/* The length of a dimension as an int64 tensor of rank 0. */
static Error *length_of(
    RelayOperatorCall *call, IrVariable *input, uint32_t axis, int64_t known, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *shape;
    const int64_t zero = 0;
    IrVariable *axes;
    if (known >= 0)
        return constants_number(ir_cursor_module(call->at), DTYPE_INT64, (double)known, out);
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "start", axis));
    TRY(attributes_set_int(attributes, "end", axis + 1));
    TRY(ir_build_simple(call->at, "Shape", attributes, input, NULL, NULL, &shape));
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &zero, &axes));
    return ir_build_simple(call->at, "Squeeze", NULL, shape, axes, NULL, out);
}

/* Indices outside: clip takes the first or last element, wrap counts on from the other end. */
static Error *settle_indices(RelayOperatorCall *call, IrVariable *data, uint32_t axis,
    int64_t length, IrVariable **inout_indices) {
    const char *mode;
    IrVariable *count, *one, *zero, *last;
    TRY(relay_get_text(call, "mode", "clip", &mode));
    const bool wrap = strcmp(mode, "wrap") == 0;
    if (strcmp(mode, "fast") == 0) return NULL; /* all indices are inside, by promise */
    if (strcmp(mode, "clip") != 0 && !wrap)
        FAIL(INVALID, "mode is %.40s; there is clip, wrap and fast", mode);
    TRY(ir_build_cast(call->at, *inout_indices, DTYPE_INT64, inout_indices));
    TRY(length_of(call, data, axis, length, &count));
    if (wrap)
        return ir_build_simple(call->at, "Mod", NULL, *inout_indices, count, NULL, inout_indices);
    TRY(constants_number(ir_cursor_module(call->at), DTYPE_INT64, 0, &zero));
    TRY(constants_number(ir_cursor_module(call->at), DTYPE_INT64, 1, &one));
    TRY(ir_build_simple(call->at, "Sub", NULL, count, one, NULL, &last));
    TRY(ir_build_simple(call->at, "Max", NULL, *inout_indices, zero, NULL, inout_indices));
    return ir_build_simple(call->at, "Min", NULL, *inout_indices, last, NULL, inout_indices);
}

Error *relay_build_take(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    uint32_t rank, axis = 0;
    int64_t batch, length = -1;
    IrVariable *data = call->inputs[0], *indices = call->inputs[1], *flat, *result;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_int(call, "batch_dims", 0, &batch));
    if (batch != 0) FAIL(UNSUPPORTED, "batch_dims %lld; 0 is read", (long long)batch);
    if (relay_attribute(call, "axis")) {
        TRY(relay_get_axis(call, "axis", rank, 0, &axis));
        length = call->types[0]->dims[axis];
    } else {
        const int64_t all = -1;
        TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &all, &flat));
        TRY(ir_build_simple(call->at, "Reshape", NULL, data, flat, NULL, &data));
        if (rank == 1) length = call->types[0]->dims[0];
    }
    TRY(settle_indices(call, data, axis, length, &indices));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(ir_build_simple(call->at, "Gather", attributes, data, indices, NULL, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_gather(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    uint32_t rank, axis;
    IrVariable *result;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_axis(call, "axis", rank, 0, &axis));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(ir_build_simple(
        call->at, "GatherElements", attributes, call->inputs[0], call->inputs[1], NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* slice_mode size: end has sizes, and -1 is all that is left. */
static Error *ends_of_sizes(const int64_t *begin, int64_t *end, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (end[i] < -1 || (end[i] >= 0 && begin[i] < 0))
            FAIL(UNSUPPORTED, "slice_mode size with begin %lld and size %lld", (long long)begin[i],
                (long long)end[i]);
        end[i] = end[i] < 0 || end[i] > INT64_MAX - begin[i] ? INT64_MAX : begin[i] + end[i];
    }
    return NULL;
}

Error *relay_build_strided_slice(RelayOperatorCall *call) {
    int64_t begin[RELAY_INTS_MAX], end[RELAY_INTS_MAX], strides[RELAY_INTS_MAX],
        axes[RELAY_INTS_MAX];
    uint32_t count, end_count, stride_count, axis_count;
    const char *mode;
    IrVariable *inputs[5] = {call->inputs[0]}, **results;
    TRY(relay_get_ints(call, "begin", begin, &count));
    TRY(relay_get_ints(call, "end", end, &end_count));
    TRY(relay_get_ints(call, "strides", strides, &stride_count));
    TRY(relay_get_ints(call, "axes", axes, &axis_count));
    TRY(relay_get_text(call, "slice_mode", "end", &mode));
    if (count == RELAY_ABSENT || end_count != count)
        FAIL(INVALID, "the attributes begin and end have to be lists of the same length");
    const bool size = strcmp(mode, "size") == 0;
    if (!size && strcmp(mode, "end") != 0) FAIL(INVALID, "slice_mode is %.40s", mode);
    if (size) TRY(ends_of_sizes(begin, end, count));
    if (axis_count != RELAY_ABSENT && axis_count != count)
        FAIL(INVALID, "axes has %u numbers, begin %u", axis_count, count);
    if (stride_count != RELAY_ABSENT && stride_count != count && stride_count != 1)
        FAIL(INVALID, "strides has %u numbers, begin %u", stride_count, count);
    for (uint32_t i = 0; i < count; i++) {
        if (axis_count == RELAY_ABSENT) axes[i] = i;
        if (stride_count == RELAY_ABSENT || size) strides[i] = 1;
        if (stride_count == 1 && !size) strides[i] = strides[0];
    }
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, begin, &inputs[1]));
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, end, &inputs[2]));
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, axes, &inputs[3]));
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, strides, &inputs[4]));
    TRY(ir_build_operator(call->at, "Slice", NULL, 5, inputs, 1, &results));
    relay_give(call, results[0]);
    return NULL;
}

Error *relay_build_reverse(RelayOperatorCall *call) {
    const int64_t begin = -1, end = INT64_MIN, step = -1;
    int64_t axes[1];
    uint32_t rank, axis;
    IrVariable *inputs[5] = {call->inputs[0]}, **results;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_axis(call, "axis", rank, 0, &axis));
    axes[0] = axis;
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &begin, &inputs[1]));
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &end, &inputs[2]));
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, axes, &inputs[3]));
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &step, &inputs[4]));
    TRY(ir_build_operator(call->at, "Slice", NULL, 5, inputs, 1, &results));
    relay_give(call, results[0]);
    return NULL;
}

Error *relay_build_tile(RelayOperatorCall *call) {
    int64_t reps[RELAY_INTS_MAX], ones[RELAY_INTS_MAX];
    uint32_t rank, count;
    IrVariable *input = call->inputs[0], *list, *result;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_ints(call, "reps", reps, &count));
    if (count == RELAY_ABSENT) FAIL(INVALID, "the attribute reps is wanted");
    if (count > rank) { /* new dimensions in front */
        for (uint32_t i = 0; i < count - rank; i++) ones[i] = i;
        TRY(constants_ints(ir_cursor_module(call->at), 1, count - rank, ones, &list));
        TRY(ir_build_simple(call->at, "Unsqueeze", NULL, input, list, NULL, &input));
    }
    if (count < rank) {
        memmove(reps + (rank - count), reps, count * sizeof *reps);
        for (uint32_t i = 0; i < rank - count; i++) reps[i] = 1;
        count = rank;
    }
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, reps, &list));
    TRY(ir_build_simple(call->at, "Tile", NULL, input, list, NULL, &result));
    relay_give(call, result);
    return NULL;
}
