/* Einsum, the losses of classifiers, CausalConvWithState. */
#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

/* ---- Einsum: every combination of all labels ---- */

enum { TERM_MAX = 16, LABELS_MAX = 12 };

/* A term with the dimensions of its ellipsis as '0' (the last), '1' … */
typedef struct Term {
    char labels[TERM_MAX];
    uint32_t count;
} Term;

static const char *read_term(const char *text, uint32_t ellipsis, Term *out) {
    out->count = 0;
    for (; *text && *text != ',' && *text != '-'; text++) {
        if (*text == ' ') continue;
        if (*text != '.') {
            out->labels[out->count++] = *text;
            continue;
        }
        for (uint32_t d = ellipsis; d-- > 0;) out->labels[out->count++] = (char)('0' + d);
        text += 2;
    }
    return text;
}

static uint32_t letters_of(const char *text) {
    uint32_t count = 0;
    for (; *text && *text != ',' && *text != '-'; text++) count += *text != ' ' && *text != '.';
    return count;
}

typedef struct Labels {
    char names[LABELS_MAX];
    int64_t sizes[LABELS_MAX];
    uint32_t uses[LABELS_MAX], count;
} Labels;

static uint32_t label_index(Labels *labels, char name) {
    for (uint32_t i = 0; i < labels->count; i++)
        if (labels->names[i] == name) return i;
    labels->names[labels->count] = name;
    labels->sizes[labels->count] = 1;
    return labels->count++;
}

/* In implicit form: the ellipsis, then what is used once, sorted. */
static void imply(const Labels *labels, Term *out) {
    out->count = 0;
    for (char name = '9'; name >= '0'; name--)
        for (uint32_t i = 0; i < labels->count; i++)
            if (labels->names[i] == name) out->labels[out->count++] = name;
    for (char name = 'A'; name <= 'z'; name++)
        for (uint32_t i = 0; i < labels->count; i++)
            if (labels->names[i] == name && labels->uses[i] == 1) out->labels[out->count++] = name;
}

static double element(
    Labels *labels, const Term *term, const ReferenceTensor *tensor, const int64_t *index) {
    int64_t at[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i < term->count; i++)
        at[i] = tensor->shape.dims[i] == 1 ? 0 : index[label_index(labels, term->labels[i])];
    return tensor->values[reference_flat(&tensor->shape, at)];
}

void reference_einsum(ReferenceCall *call) {
    const char *text = attributes_text(call->attributes, "equation");
    Term terms[REFERENCE_INPUTS_MAX], result;
    Labels labels = {.count = 0};
    uint32_t widest = 0;
    for (uint32_t i = 0; i < call->input_count; i++) {
        uint32_t ellipsis = call->inputs[i].shape.rank - letters_of(text);
        if (ellipsis > widest) widest = ellipsis;
        text = read_term(text, ellipsis, &terms[i]);
        if (*text == ',') text++;
        for (uint32_t d = 0; d < terms[i].count; d++) {
            uint32_t label = label_index(&labels, terms[i].labels[d]);
            labels.uses[label]++;
            if (call->inputs[i].shape.dims[d] != 1)
                labels.sizes[label] = call->inputs[i].shape.dims[d];
        }
    }
    if (*text)
        (void)read_term(text + 2, widest, &result);
    else
        imply(&labels, &result);
    int64_t index[LABELS_MAX] = {0}, at[SHAPE_RANK_MAX], total = 1;
    ReferenceTensor *out = &call->outputs[0];
    memset(out->values, 0, (size_t)out->count * sizeof(double));
    for (uint32_t i = 0; i < labels.count; i++) total *= labels.sizes[i];
    for (int64_t n = 0; n < total; n++) {
        double product = 1;
        int64_t rest = n;
        for (uint32_t i = 0; i < labels.count; rest /= labels.sizes[i++])
            index[i] = rest % labels.sizes[i];
        for (uint32_t i = 0; i < call->input_count; i++)
            product *= element(&labels, &terms[i], &call->inputs[i], index);
        for (uint32_t i = 0; i < result.count; i++)
            at[i] = index[label_index(&labels, result.labels[i])];
        out->values[reference_flat(&out->shape, at)] += product;
    }
}

/* ---- losses ---- */

/* scores [N, C, …] as [outer, classes, inner] */
static void nll(ReferenceCall *call, const double *log_probabilities) {
    const Attributes *attributes = call->attributes;
    const Shape *x = &call->inputs[0].shape;
    const ReferenceTensor *classes = &call->inputs[1], *weights = &call->inputs[2];
    int64_t inner = x->rank > 2 ? shape_product(x, 2, x->rank) : 1;
    const char *reduction = attributes_text(attributes, "reduction");
    double sum = 0, total = 0;
    for (int64_t i = 0; i < classes->count; i++) {
        int64_t class_of_i = (int64_t)classes->values[i];
        bool ignored = attributes_has(attributes, "ignore_index") &&
                       attributes_int(attributes, "ignore_index") == class_of_i;
        double weight = ignored ? 0 : weights->present ? weights->values[class_of_i] : 1, loss = 0;
        if (!ignored)
            loss = -weight *
                   log_probabilities[(i / inner * x->dims[1] + class_of_i) * inner + i % inner];
        if (strcmp(reduction, "none") == 0) call->outputs[0].values[i] = loss;
        sum += loss;
        total += weight;
    }
    if (strcmp(reduction, "sum") == 0) call->outputs[0].values[0] = sum;
    if (strcmp(reduction, "mean") == 0) call->outputs[0].values[0] = sum / total;
}

void reference_negative_log_likelihood(ReferenceCall *call) { nll(call, call->inputs[0].values); }

void reference_cross_entropy(ReferenceCall *call) {
    const Shape *x = &call->inputs[0].shape;
    int64_t inner = x->rank > 2 ? shape_product(x, 2, x->rank) : 1, classes = x->dims[1];
    double *scores = call->inputs[0].values;
    for (int64_t n = 0; n < x->dims[0] * inner; n++) {
        double *from = scores + n / inner * classes * inner + n % inner, sum = 0;
        for (int64_t c = 0; c < classes; c++) sum += exp(from[c * inner]);
        for (int64_t c = 0; c < classes; c++) from[c * inner] -= log(sum);
    }
    if (call->output_count > 1)
        memcpy(call->outputs[1].values, scores, (size_t)call->inputs[0].count * sizeof(double));
    nll(call, scores);
}

/* ---- CausalConvWithState ---- */

void reference_causal_conv(ReferenceCall *call) {
    const Shape *x = &call->inputs[0].shape;
    const ReferenceTensor *bias = &call->inputs[2], *past = &call->inputs[3];
    int64_t channels = x->dims[1], length = x->dims[2], kernel = call->inputs[1].shape.dims[2];
    bool silu = strcmp(attributes_text(call->attributes, "activation"), "none") != 0;
    for (int64_t row = 0; row < x->dims[0] * channels; row++) {
        double all[128] = {0};
        for (int64_t i = 0; past->present && i < kernel - 1; i++)
            all[i] = past->values[row * (kernel - 1) + i];
        for (int64_t i = 0; i < length; i++)
            all[kernel - 1 + i] = call->inputs[0].values[row * length + i];
        for (int64_t i = 0; i < length; i++) {
            double sum = bias->present ? bias->values[row % channels] : 0;
            for (int64_t j = 0; j < kernel; j++)
                sum += all[i + j] * call->inputs[1].values[row % channels * kernel + j];
            call->outputs[0].values[row * length + i] = silu ? sum / (1 + exp(-sum)) : sum;
        }
        for (int64_t i = 0; i < kernel - 1; i++)
            call->outputs[1].values[row * (kernel - 1) + i] = all[length + i];
    }
}
