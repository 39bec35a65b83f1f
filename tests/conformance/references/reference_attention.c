/* ONNX's Attention, RotaryEmbedding, LinearAttention; our own PagedAttention. */
#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

enum { KEYS_MAX = 64 };

/* An operand of rank 3 or 4 as [batch, heads, rows, size]. */
typedef struct Heads {
    const ReferenceTensor *tensor;
    int64_t heads, rows, size;
} Heads;

static Heads heads_of(const ReferenceCall *call, uint32_t index, const char *attribute) {
    const Shape *shape = &call->inputs[index].shape;
    Heads heads = {.tensor = &call->inputs[index]};
    if (shape->rank == 4) {
        heads.heads = shape->dims[1], heads.rows = shape->dims[2], heads.size = shape->dims[3];
        return heads;
    }
    heads.heads = attributes_int(call->attributes, attribute);
    heads.rows = shape->dims[1];
    heads.size = shape->dims[2] / heads.heads;
    return heads;
}

static int64_t place(
    const Shape *shape, const Heads *heads, int64_t b, int64_t h, int64_t row, int64_t i) {
    if (shape->rank == 4) return ((b * heads->heads + h) * heads->rows + row) * heads->size + i;
    return ((b * heads->rows + row) * heads->heads + h) * heads->size + i;
}

static double at(const Heads *heads, int64_t b, int64_t h, int64_t row, int64_t i) {
    return heads->tensor->values[place(&heads->tensor->shape, heads, b, h, row, i)];
}

typedef struct Attention {
    ReferenceCall *call;
    Heads q, k, v;
    int64_t batch, past, keys;
} Attention;

/* Row t of the past or of what is new. */
static double with_past(const Attention *attention, const Heads *heads, uint32_t past, int64_t b,
    int64_t h, int64_t t, int64_t i) {
    if (t >= attention->past) return at(heads, b, h, t - attention->past, i);
    return attention->call->inputs[past]
        .values[((b * heads->heads + h) * attention->past + t) * heads->size + i];
}

/* What is added to a score; -infinity where the key is hidden. */
static double bias(const Attention *attention, int64_t b, int64_t h, int64_t s, int64_t t) {
    const ReferenceCall *call = attention->call;
    const Attributes *attributes = call->attributes;
    const ReferenceTensor *mask = &call->inputs[3], *lengths = &call->inputs[6];
    int64_t left = attributes_int(attributes, "left_window_size");
    int64_t right = attributes_int(attributes, "right_window_size");
    int64_t position = s + attention->past;
    double added = 0;
    if (lengths->present) {
        position = s + (int64_t)lengths->values[b] - attention->q.rows;
        if (t >= (int64_t)lengths->values[b]) return -INFINITY;
    }
    if (attributes_int(attributes, "is_causal")) right = 0;
    if (left >= 0 && t < position - left) return -INFINITY;
    if (right >= 0 && t > position + right) return -INFINITY;
    if (!mask->present) return 0;
    if (mask->shape.rank > 0 && t >= mask->shape.dims[mask->shape.rank - 1]) return -INFINITY;
    Shape scores = {4, {attention->batch, attention->q.heads, attention->q.rows,
                           mask->shape.rank ? mask->shape.dims[mask->shape.rank - 1] : 1}};
    int64_t index[SHAPE_RANK_MAX] = {b, h, s, mask->shape.rank ? t : 0};
    added = reference_broadcast(mask, &scores, index);
    if (mask->dtype == DTYPE_BOOL) return added != 0 ? 0 : -INFINITY;
    return added;
}

static void show(Attention *attention, int64_t mode, int64_t row, const double *scores) {
    ReferenceCall *call = attention->call;
    if (call->output_count < 4 || attributes_int(call->attributes, "qk_matmul_output_mode") != mode)
        return;
    memcpy(call->outputs[3].values + row * attention->keys, scores,
        (size_t)attention->keys * sizeof(double));
}

/* Probabilities of the keys for one query; none where every key is hidden. */
static void weigh(const Attention *attention, const double *added, double *scores) {
    double high = -INFINITY, sum = 0, seen = -INFINITY;
    for (int64_t t = 0; t < attention->keys; t++) {
        high = fmax(high, scores[t]);
        seen = fmax(seen, added[t]);
    }
    for (int64_t t = 0; t < attention->keys; t++) sum += exp(scores[t] - high);
    for (int64_t t = 0; t < attention->keys; t++)
        scores[t] = isinf(seen) ? 0 : exp(scores[t] - high) / sum;
}

static void run_query(Attention *attention, int64_t b, int64_t h, int64_t s) {
    ReferenceCall *call = attention->call;
    const Attributes *attributes = call->attributes;
    const Heads *q = &attention->q, *v = &attention->v;
    int64_t kv = h / (q->heads / attention->k.heads), row = (b * q->heads + h) * q->rows + s;
    double scores[KEYS_MAX], added[KEYS_MAX], cap = attributes_float(attributes, "softcap");
    double scale = attributes_has(attributes, "scale") ? attributes_float(attributes, "scale")
                                                       : 1 / sqrt((double)q->size);
    for (int64_t t = 0; t < attention->keys; t++) {
        scores[t] = 0;
        for (int64_t i = 0; i < q->size; i++)
            scores[t] +=
                scale * at(q, b, h, s, i) * with_past(attention, &attention->k, 4, b, kv, t, i);
    }
    show(attention, 0, row, scores);
    for (int64_t t = 0; t < attention->keys && cap > 0; t++)
        scores[t] = cap * tanh(scores[t] / cap);
    show(attention, 1, row, scores);
    for (int64_t t = 0; t < attention->keys; t++)
        scores[t] += added[t] = bias(attention, b, h, s, t);
    show(attention, 2, row, scores);
    weigh(attention, added, scores);
    show(attention, 3, row, scores);
    Heads y = {&call->outputs[0], q->heads, q->rows, v->size};
    for (int64_t i = 0; i < v->size; i++) {
        double sum = 0;
        for (int64_t t = 0; t < attention->keys; t++)
            sum += scores[t] * with_past(attention, v, 5, b, kv, t, i);
        call->outputs[0].values[place(&call->outputs[0].shape, &y, b, h, s, i)] = sum;
    }
}

static void keep(Attention *attention, const Heads *heads, uint32_t past, ReferenceTensor *out) {
    for (int64_t i = 0; i < out->count; i++) {
        int64_t column = i % heads->size, t = i / heads->size % attention->keys;
        int64_t h = i / heads->size / attention->keys;
        out->values[i] =
            with_past(attention, heads, past, h / heads->heads, h % heads->heads, t, column);
    }
}

void reference_multi_head_attention(ReferenceCall *call) {
    Attention attention = {.call = call, .batch = call->inputs[0].shape.dims[0]};
    attention.q = heads_of(call, 0, "q_num_heads");
    attention.k = heads_of(call, 1, "kv_num_heads");
    attention.v = heads_of(call, 2, "kv_num_heads");
    if (call->inputs[4].present) attention.past = call->inputs[4].shape.dims[2];
    attention.keys = attention.past + attention.k.rows;
    for (int64_t b = 0; b < attention.batch; b++)
        for (int64_t h = 0; h < attention.q.heads; h++)
            for (int64_t s = 0; s < attention.q.rows; s++) run_query(&attention, b, h, s);
    if (call->output_count > 1) keep(&attention, &attention.k, 4, &call->outputs[1]);
    if (call->output_count > 2) keep(&attention, &attention.v, 5, &call->outputs[2]);
}

void reference_rotary_embedding(ReferenceCall *call) {
    const Attributes *attributes = call->attributes;
    Heads x = heads_of(call, 0, "num_heads");
    int64_t rotated = attributes_int(attributes, "rotary_embedding_dim");
    int64_t half = (rotated ? rotated : x.size) / 2, batch = call->inputs[0].shape.dims[0];
    bool pairs = attributes_int(attributes, "interleaved") != 0;
    memcpy(call->outputs[0].values, call->inputs[0].values,
        (size_t)call->outputs[0].count * sizeof(double));
    for (int64_t b = 0; b < batch; b++)
        for (int64_t h = 0; h < x.heads; h++)
            for (int64_t row = 0; row < x.rows; row++)
                for (int64_t i = 0; i < half; i++) {
                    int64_t angle = b * x.rows + row;
                    if (call->inputs[3].present) angle = (int64_t)call->inputs[3].values[angle];
                    double c = call->inputs[1].values[angle * half + i];
                    double s = call->inputs[2].values[angle * half + i];
                    int64_t one = pairs ? 2 * i : i, other = pairs ? 2 * i + 1 : half + i;
                    const Shape *shape = &call->inputs[0].shape;
                    double u = at(&x, b, h, row, one), w = at(&x, b, h, row, other);
                    call->outputs[0].values[place(shape, &x, b, h, row, one)] = c * u - s * w;
                    call->outputs[0].values[place(shape, &x, b, h, row, other)] = s * u + c * w;
                }
}

/* One token of one head: the state is decayed, corrected and written. */
static void update_state(const ReferenceCall *call, int64_t token, int64_t h, const Heads *k,
    const Heads *v, double *state) {
    const ReferenceTensor *decay = &call->inputs[4], *beta = &call->inputs[5];
    const double *key = k->tensor->values + (token * k->heads + h) * k->size;
    const double *value = v->tensor->values + (token * v->heads + h) * v->size;
    for (int64_t d = 0; decay->present && d < k->size; d++) {
        int64_t columns = decay->shape.dims[2];
        double g = decay->values[token * columns + (columns == k->heads ? h : h * k->size + d)];
        for (int64_t i = 0; i < v->size; i++) state[d * v->size + i] *= exp(g);
    }
    for (int64_t i = 0; i < v->size; i++) {
        double written = value[i];
        if (beta->present) {
            int64_t columns = beta->shape.dims[2];
            for (int64_t d = 0; d < k->size; d++) written -= state[d * v->size + i] * key[d];
            written *= beta->values[token * columns + (columns == 1 ? 0 : h)];
        }
        for (int64_t d = 0; d < k->size; d++) state[d * v->size + i] += key[d] * written;
    }
}

void reference_linear_attention(ReferenceCall *call) {
    Heads q = heads_of(call, 0, "q_num_heads"), k = heads_of(call, 1, "kv_num_heads");
    Heads v = heads_of(call, 2, "kv_num_heads");
    double scale = attributes_float(call->attributes, "scale");
    int64_t group = q.heads / k.heads, state_size = k.size * v.size;
    if (scale == 0) scale = 1 / sqrt((double)k.size);
    for (int64_t b = 0; b < call->inputs[0].shape.dims[0]; b++)
        for (int64_t h = 0; h < k.heads; h++) {
            double *state = call->outputs[1].values + (b * k.heads + h) * state_size;
            for (int64_t i = 0; i < state_size; i++)
                state[i] = call->inputs[3].present
                               ? call->inputs[3].values[(b * k.heads + h) * state_size + i]
                               : 0;
            for (int64_t t = 0; t < q.rows; t++) {
                update_state(call, b * q.rows + t, h, &k, &v, state);
                for (int64_t g = 0; g < group; g++)
                    for (int64_t i = 0; i < v.size; i++) {
                        double sum = 0;
                        for (int64_t d = 0; d < k.size; d++)
                            sum += at(&q, b, h * group + g, t, d) * state[d * v.size + i];
                        call->outputs[0]
                            .values[((b * q.rows + t) * q.heads + h * group + g) * v.size + i] =
                            scale * sum;
                    }
            }
        }
}

/* Element c of a key or value of PagedAttention. */
static double paged_element(
    const ReferenceCall *call, int64_t row, int64_t head, bool value, int64_t c) {
    if (row < 0) {
        const ReferenceTensor *own = &call->inputs[value ? 4 : 3];
        const int64_t heads = own->shape.dims[1], size = own->shape.dims[2];
        return own->values[((-1 - row) * heads + head) * size + c];
    }
    const int64_t *dims = call->inputs[7].shape.dims, rows = dims[0] * dims[1];
    const ReferenceTensor *pages = &call->inputs[7 + row / rows];
    const int64_t part = value && dims[2] == 2;
    return pages->values[((row % rows * dims[2] + part) * dims[3] + head) * dims[4] + c];
}

/* Turns element c of a vector of `size` by row `position` of the table. */
static double paged_turned(
    const ReferenceCall *call, const double *vector, int64_t size, int64_t position, int64_t c) {
    if (!call->inputs[5].present) return vector[c];
    const int64_t half = size / 2;
    const double *cosines = call->inputs[5].values + position * size, *sines = cosines + half;
    if (c < half) return vector[c] * cosines[c] - vector[c + half] * sines[c];
    return vector[c] * cosines[c - half] + vector[c - half] * sines[c - half];
}

enum { PAGED_SIZE_MAX = 256 };

static double paged_score(const ReferenceCall *call, int64_t query, int64_t head, int64_t kv_head,
    int64_t key, const double *bounds) {
    const Shape *q = &call->inputs[0].shape;
    const int64_t size = q->dims[2], row = (int64_t)call->inputs[1].values[key];
    double vector[PAGED_SIZE_MAX], sum = 0;
    for (int64_t c = 0; c < size; c++) vector[c] = paged_element(call, row, kv_head, false, c);
    for (int64_t c = 0; c < size; c++)
        sum += paged_turned(call, vector, size, key - (int64_t)bounds[0], c) *
               paged_turned(call, call->inputs[0].values + (query * q->dims[1] + head) * size, size,
                   (int64_t)bounds[4], c);
    return sum * attributes_float(call->attributes, "scale");
}

static void paged_attend_one(const ReferenceCall *call, int64_t query, int64_t head) {
    const Shape *q = &call->inputs[0].shape, *y = &call->outputs[0].shape;
    const int64_t kv_heads =
        call->inputs[3].present ? call->inputs[3].shape.dims[1] : call->inputs[7].shape.dims[3];
    const int64_t kv_head = head / (q->dims[1] / kv_heads);
    const double *bounds = call->inputs[2].values + query * 5;
    double *out = call->outputs[0].values + (query * y->dims[1] + head) * y->dims[2], sum = 0;
    for (int64_t c = 0; c < y->dims[2]; c++) out[c] = 0;
    for (int64_t key = (int64_t)bounds[1]; key < (int64_t)bounds[2]; key++) {
        const ReferenceTensor *tree = &call->inputs[6];
        const int64_t column = key - (int64_t)bounds[3];
        if (tree->present && column >= 0 && tree->values[query * tree->shape.dims[1] + column] == 0)
            continue;
        const double weight = exp(paged_score(call, query, head, kv_head, key, bounds));
        sum += weight;
        for (int64_t c = 0; c < y->dims[2]; c++)
            out[c] += weight *
                      paged_element(call, (int64_t)call->inputs[1].values[key], kv_head, true, c);
    }
    for (int64_t c = 0; c < y->dims[2] && sum > 0; c++) out[c] /= sum;
    if (call->output_count > 1)
        call->outputs[1].values[query * y->dims[1] + head] = sum > 0 ? log2(sum) : -5e4;
}

void reference_paged_attention(ReferenceCall *call) {
    const Shape *q = &call->inputs[0].shape;
    for (int64_t query = 0; query < q->dims[0]; query++)
        for (int64_t head = 0; head < q->dims[1]; head++) paged_attend_one(call, query, head);
}
