#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

/* A tensor as [outer, dim, inner]; without an axis as [1, count, 1]. */
typedef struct Lanes {
    int64_t outer, dim, inner;
} Lanes;

static Lanes lanes_of(const ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    if (!attributes_has(call->attributes, "axis")) return (Lanes){1, input->count, 1};
    uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), input->shape.rank);
    return (Lanes){shape_product(&input->shape, 0, axis), input->shape.dims[axis],
        shape_product(&input->shape, axis + 1, input->shape.rank)};
}

static void copy_item(ReferenceCall *call, Lanes lanes, int64_t from, int64_t to, int64_t room) {
    for (int64_t outer = 0; outer < lanes.outer; outer++)
        for (int64_t i = 0; i < lanes.inner; i++)
            call->outputs[0].values[(outer * room + to) * lanes.inner + i] =
                call->inputs[0].values[(outer * lanes.dim + from) * lanes.inner + i];
}

void reference_compress(ReferenceCall *call) {
    const ReferenceTensor *condition = &call->inputs[1];
    Lanes lanes = lanes_of(call);
    int64_t room = 0, found = 0;
    for (int64_t i = 0; i < condition->count; i++) room += condition->values[i] != 0;
    for (int64_t i = 0; i < condition->count; i++)
        if (condition->values[i] != 0) copy_item(call, lanes, i, found++, room);
}

static int compare(const ReferenceCall *call, Lanes lanes, int64_t a, int64_t b) {
    for (int64_t outer = 0; outer < lanes.outer; outer++)
        for (int64_t i = 0; i < lanes.inner; i++) {
            double x = call->inputs[0].values[(outer * lanes.dim + a) * lanes.inner + i];
            double y = call->inputs[0].values[(outer * lanes.dim + b) * lanes.inner + i];
            if (isnan(x) || isnan(y)) {
                if (isnan(x) != isnan(y)) return isnan(x) ? 1 : -1;
            } else if (x != y) {
                return x < y ? -1 : 1;
            }
        }
    return 0;
}

static int64_t first_equal(const ReferenceCall *call, Lanes lanes, int64_t item) {
    int64_t first = 0;
    while (compare(call, lanes, first, item) != 0) first++;
    return first;
}

/* How many different items come before this one, which is the first of its like. */
static int64_t place_of(const ReferenceCall *call, Lanes lanes, int64_t item) {
    bool sorted = attributes_int(call->attributes, "sorted") != 0;
    int64_t place = 0;
    for (int64_t i = 0; i < lanes.dim; i++)
        if (first_equal(call, lanes, i) == i)
            place += sorted ? compare(call, lanes, i, item) < 0 : i < item;
    return place;
}

void reference_unique(ReferenceCall *call) {
    Lanes lanes = lanes_of(call);
    int64_t room = 0;
    for (int64_t i = 0; i < lanes.dim; i++) room += first_equal(call, lanes, i) == i;
    for (int64_t i = 0; i < lanes.dim; i++) {
        int64_t first = first_equal(call, lanes, i), place = place_of(call, lanes, first);
        if (first == i) {
            copy_item(call, lanes, i, place, room);
            if (call->output_count > 1) call->outputs[1].values[place] = (double)i;
        }
        if (call->output_count > 2) call->outputs[2].values[i] = (double)place;
        if (call->output_count > 3) call->outputs[3].values[place]++;
    }
}

void reference_reverse_sequence(ReferenceCall *call) {
    const ReferenceTensor *input = &call->inputs[0];
    const int64_t time_axis = attributes_int(call->attributes, "time_axis");
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < input->count; i++, (void)reference_next(&input->shape, index)) {
        int64_t from[SHAPE_RANK_MAX];
        memcpy(from, index, sizeof from);
        const int64_t length = (int64_t)call->inputs[1].values[index[1 - time_axis]];
        if (index[time_axis] < length) from[time_axis] = length - 1 - index[time_axis];
        call->outputs[0].values[i] = input->values[reference_flat(&input->shape, from)];
    }
}

void reference_tensor_scatter(ReferenceCall *call) {
    const ReferenceTensor *update = &call->inputs[1];
    ReferenceTensor *out = &call->outputs[0];
    const uint32_t axis = reference_axis(attributes_int(call->attributes, "axis"), out->shape.rank);
    memcpy(out->values, call->inputs[0].values, (size_t)out->count * sizeof(double));
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < update->count; i++, (void)reference_next(&update->shape, index)) {
        int64_t to[SHAPE_RANK_MAX];
        memcpy(to, index, sizeof to);
        if (call->inputs[2].present) to[axis] += (int64_t)call->inputs[2].values[index[0]];
        to[axis] %= out->shape.dims[axis];
        out->values[reference_flat(&out->shape, to)] = update->values[i];
    }
}

void reference_eye(ReferenceCall *call) {
    const int64_t columns = call->outputs[0].shape.dims[1];
    for (int64_t i = 0; i < call->outputs[0].count; i++)
        call->outputs[0].values[i] =
            i % columns - i / columns == attributes_int(call->attributes, "k");
}

/* The bits of every element as those of another type: of small whole numbers and their like. */
void reference_bit_cast(ReferenceCall *call) {
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        const double x = call->inputs[0].values[i];
        const DType from = call->inputs[0].dtype, to = call->outputs[0].dtype;
        if (from == DTYPE_FLOAT32 && to == DTYPE_INT32) {
            const float narrow = (float)x;
            int32_t bits;
            memcpy(&bits, &narrow, sizeof bits);
            call->outputs[0].values[i] = bits;
        } else {
            const double span = ldexp(1, (int)dtype_bits(to));
            call->outputs[0].values[i] = x < 0 && !dtype_is_signed(to) ? x + span : x;
        }
    }
}

/* By the first row's minors. */
static double determinant(const double *matrix, int64_t n) {
    if (n == 0) return 1;
    double sum = 0, minor[64];
    for (int64_t column = 0; column < n; column++) {
        int64_t count = 0;
        for (int64_t i = n; i < n * n; i++)
            if (i % n != column) minor[count++] = matrix[i];
        sum += (column % 2 ? -1 : 1) * matrix[column] * determinant(minor, n - 1);
    }
    return sum;
}

void reference_det(ReferenceCall *call) {
    const Shape *shape = &call->inputs[0].shape;
    const int64_t n = shape->dims[shape->rank - 1];
    for (int64_t i = 0; i < call->outputs[0].count; i++)
        call->outputs[0].values[i] = determinant(call->inputs[0].values + i * n * n, n);
}

/* ---- Lookup ---- */

/* Asks every key. */
void reference_lookup(ReferenceCall *call) {
    const ReferenceTensor *from = &call->inputs[0], *keys = &call->inputs[1];
    for (int64_t i = 0; i < from->count; i++) {
        const double x = from->values[i];
        call->outputs[0].values[i] = (double)keys->count;
        for (int64_t k = 0; k < keys->count; k++)
            if (x == keys->values[k] || (isnan(x) && isnan(keys->values[k])))
                call->outputs[0].values[i] = (double)k;
    }
}

/* ---- SvmCouple ---- */

/* One round with the text-book's formulas: the sums are made anew for each class. Returns whether
 * the conditions held before. */
static bool couple_round(const double *form, int64_t classes, double *p) {
    double total = 0, sum;
    bool near = true;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t t = 0; t < classes; t++) {
            sum = 0;
            for (int64_t j = 0; j < classes; j++) sum += form[t * classes + j] * p[j];
            if (pass == 0)
                total += p[t] * sum;
            else
                near = near && fabs(sum - total) < 0.005 / (double)classes;
        }
    for (int64_t t = 0; t < classes && !near; t++) {
        double own = 0, all = 0, grown = 0;
        for (int64_t i = 0; i < classes; i++) {
            sum = 0;
            for (int64_t j = 0; j < classes; j++) sum += form[i * classes + j] * p[j];
            all += p[i] * sum;
            own = i == t ? sum : own;
        }
        p[t] += (all - own) / form[t * classes + t];
        for (int64_t j = 0; j < classes; j++) grown += p[j];
        for (int64_t j = 0; j < classes; j++) p[j] /= grown;
    }
    return near;
}

void reference_svm_couple(ReferenceCall *call) {
    const int64_t classes = attributes_int(call->attributes, "classes");
    const int64_t rows = call->inputs[0].shape.dims[0], pairs = call->inputs[0].shape.dims[1];
    double *form = calloc((size_t)(classes * classes), sizeof *form);
    for (int64_t row = 0; row < rows; row++) {
        const double *at = call->inputs[0].values + row * pairs;
        double *p = call->outputs[0].values + row * classes;
        memset(form, 0, (size_t)(classes * classes) * sizeof *form);
        for (int64_t t = 0; t < classes; t++)
            for (int64_t j = t + 1; j < classes; j++, at++) {
                form[t * classes + j] = form[j * classes + t] = -*at * (1 - *at);
                form[t * classes + t] += (1 - *at) * (1 - *at);
                form[j * classes + j] += *at * *at;
            }
        for (int64_t t = 0; t < classes; t++) p[t] = 1 / (double)classes;
        for (int round = 0; round < 100 && !couple_round(form, classes, p); round++) continue;
    }
    free(form);
}

/* ---- TreeScores ---- */

/* The place that a wild index stands for. */
static int64_t place_in(double index, int64_t count) {
    return index < 0 || index >= (double)count ? count - 1 : (int64_t)index;
}

/* The node where a row ends that begins at a root. */
static int64_t end_of(const ReferenceCall *call, int64_t row, int64_t node) {
    const ReferenceTensor *rows = &call->inputs[0];
    const double *intervals = call->inputs[1].values, *links = call->inputs[2].values;
    const int64_t columns = rows->shape.dims[1], nodes = call->inputs[1].shape.dims[0];
    for (int64_t i = 0; i < attributes_int(call->attributes, "depth"); i++) {
        const uint32_t test = (uint32_t)(int32_t)links[2 * node];
        const double x = rows->values[row * columns + place_in(test / 2, columns)];
        const bool within =
            isnan(x) ? test % 2 == 1 : x >= intervals[2 * node] && x <= intervals[2 * node + 1];
        const uint32_t next = (uint32_t)(int32_t)links[2 * node + 1] + !within;
        node = place_in(next, nodes);
    }
    return node;
}

/* Score e of the nodes where a row ends. */
static double aggregate(ReferenceCall *call, const int64_t *ends, int64_t score) {
    const char *how = attributes_text(call->attributes, "aggregate");
    const double *starts = call->inputs[4].values, *weights = call->inputs[6].values;
    const int64_t trees = call->inputs[3].count, scores = call->inputs[7].count;
    double sum = 0, least = INFINITY, most = -INFINITY;
    for (int64_t t = 0; t < trees; t++)
        for (int64_t i = 0; i < call->inputs[5].count; i++) {
            if ((double)i < starts[ends[t]] || (double)i >= starts[ends[t] + 1]) continue;
            if (place_in(call->inputs[5].values[i], scores) != score) continue;
            sum += weights[i];
            least = fmin(least, weights[i]);
            most = fmax(most, weights[i]);
        }
    if (strcmp(how, "AVERAGE") == 0) return sum / (double)trees;
    if (strcmp(how, "SUM") == 0) return sum;
    if (least > most) return 0;
    return strcmp(how, "MIN") == 0 ? least : most;
}

void reference_tree_scores(ReferenceCall *call) {
    const ReferenceTensor *out = &call->outputs[0], *roots = &call->inputs[3];
    const int64_t scores = out->shape.dims[1], nodes = call->inputs[1].shape.dims[0];
    int64_t ends[8];
    for (int64_t row = 0; row < out->shape.dims[0]; row++) {
        for (int64_t t = 0; t < roots->count; t++)
            ends[t] = end_of(call, row, place_in(roots->values[t], nodes));
        for (int64_t e = 0; e < scores; e++)
            out->values[row * scores + e] = aggregate(call, ends, e) + call->inputs[7].values[e];
    }
}
