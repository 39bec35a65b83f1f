/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include <inttypes.h>
#include <string.h>

#include "kernels/shape_rules/expansion_builder.h"

typedef enum Reduction { REDUCTION_NONE, REDUCTION_SUM, REDUCTION_MEAN } Reduction;

static Error *read_reduction(const Attributes *attributes, Reduction *out) {
    static const char *const names[] = {"none", "sum", "mean"};
    const char *name = attributes_text(attributes, "reduction");
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (Reduction)i;
            return NULL;
        }
    FAIL(INVALID, "reduction \"%.40s\"", name);
}

/* Input [N, C, d1 …], classes [N, d1 …], weights [C]. */
static Error *check_inputs(const PlanRequest *request) {
    const TensorSpec *input = &request->inputs[0], *classes = &request->inputs[1];
    const Shape *x = &input->shape;
    if (!(DTYPES_FLOAT & DTYPE_BIT(input->dtype)))
        FAIL(INVALID, "input 0 is %s", dtype_name(input->dtype));
    if (classes->dtype != DTYPE_INT32 && classes->dtype != DTYPE_INT64)
        FAIL(INVALID, "classes of element type %s", dtype_name(classes->dtype));
    if (x->rank < 2) FAIL(INVALID, "input 0 has rank %u", x->rank);
    Shape wanted = {.rank = x->rank - 1, .dims = {x->dims[0]}};
    memcpy(wanted.dims + 1, x->dims + 2, (x->rank - 2) * sizeof wanted.dims[0]);
    if (!shape_equal(&wanted, &classes->shape))
        FAIL(INVALID, "classes do not have the shape of input 0 without its classes");
    if (!plan_request_has(request, 2)) return NULL;
    const TensorSpec *weights = &request->inputs[2];
    if (weights->dtype != input->dtype || weights->shape.rank != 1 ||
        weights->shape.dims[0] != x->dims[1])
        FAIL(INVALID, "weights are not %" PRId64 " of %s", x->dims[1], dtype_name(input->dtype));
    return NULL;
}

typedef struct Loss {
    ExpansionBuilder *builder;
    uint32_t classes; /* the target classes, with 0 in place of ignored ones */
    uint32_t kept;    /* true for samples that count; absent: all count */
    uint32_t losses;  /* [N, d1 …] */
    uint32_t weights; /* of each sample; absent: all are 1 */
} Loss;

static Error *add_classes(Loss *loss) {
    ExpansionBuilder *builder = loss->builder;
    const Attributes *attributes = builder->request->attributes;
    const DType dtype = builder->request->inputs[1].dtype;
    uint32_t ignored, first;
    loss->classes = 1;
    loss->kept = EXPANSION_ABSENT;
    if (!attributes_has(attributes, "ignore_index")) return NULL;
    const int64_t index = attributes_int(attributes, "ignore_index");
    if (dtype == DTYPE_INT32 && (index < INT32_MIN || index > INT32_MAX)) return NULL;
    TRY(expansion_ints(builder, &index, 1, &ignored));
    TRY(expansion_cast(builder, ignored, dtype, &ignored));
    TRY(expansion_scalar(builder, dtype, 0, &first));
    TRY(expansion_binary(builder, OPERATOR_EQUAL, 1, ignored, &ignored));
    TRY(expansion_unary(builder, OPERATOR_NOT, ignored, &loss->kept));
    return expansion_where(builder, loss->kept, 1, first, &loss->classes);
}

/* Replaces `value` by 0 where a sample is ignored. */
static Error *add_kept(const Loss *loss, uint32_t value, uint32_t *out) {
    uint32_t zero;
    *out = value;
    if (loss->kept == EXPANSION_ABSENT) return NULL;
    TRY(expansion_scalar(loss->builder, loss->builder->request->inputs[0].dtype, 0, &zero));
    return expansion_where(loss->builder, loss->kept, value, zero, out);
}

/* -input[n, classes[n, ..], ..] */
static Error *add_losses(Loss *loss, uint32_t input) {
    ExpansionBuilder *builder = loss->builder;
    const Shape samples = expansion_spec(builder, loss->classes).shape;
    Shape column = expansion_spec(builder, input).shape;
    uint32_t inputs[2] = {input};
    column.dims[1] = 1;
    TRY(expansion_reshape(builder, loss->classes, &column, &inputs[1]));
    TRY(expansion_call_text(
        builder, OPERATOR_GATHER_ELEMENTS, "{axis=1}", inputs, 2, &loss->losses));
    TRY(expansion_reshape(builder, loss->losses, &samples, &loss->losses));
    return expansion_unary(builder, OPERATOR_NEG, loss->losses, &loss->losses);
}

static Error *add_weights(Loss *loss) {
    ExpansionBuilder *builder = loss->builder;
    uint32_t one;
    loss->weights = EXPANSION_ABSENT;
    if (expansion_input(builder, 2) != EXPANSION_ABSENT) {
        TRY(expansion_binary(builder, OPERATOR_GATHER, 2, loss->classes, &loss->weights));
        TRY(add_kept(loss, loss->weights, &loss->weights));
        return expansion_binary(builder, OPERATOR_MUL, loss->losses, loss->weights, &loss->losses);
    }
    if (loss->kept == EXPANSION_ABSENT) return NULL;
    TRY(expansion_scalar(builder, builder->request->inputs[0].dtype, 1, &one));
    return add_kept(loss, one, &loss->weights);
}

static Error *reduce_all(
    ExpansionBuilder *builder, OperatorId operator_id, uint32_t value, uint32_t *out) {
    static const int64_t axes[SHAPE_RANK_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint32_t rank = expansion_spec(builder, value).shape.rank;
    return expansion_reduce(builder, operator_id, value, axes, rank, false, out);
}

/* The loss of log-probabilities. */
static Error *add_loss(ExpansionBuilder *builder, uint32_t input) {
    Loss loss = {.builder = builder};
    Reduction reduction;
    uint32_t value, total;
    TRY(read_reduction(builder->request->attributes, &reduction));
    TRY(add_classes(&loss));
    TRY(add_losses(&loss, input));
    TRY(add_weights(&loss));
    TRY(add_kept(&loss, loss.losses, &value));
    if (reduction == REDUCTION_SUM)
        TRY(reduce_all(builder, OPERATOR_REDUCE_SUM, value, &value));
    else if (reduction == REDUCTION_MEAN && loss.weights == EXPANSION_ABSENT)
        TRY(reduce_all(builder, OPERATOR_REDUCE_MEAN, value, &value));
    else if (reduction == REDUCTION_MEAN) {
        TRY(reduce_all(builder, OPERATOR_REDUCE_SUM, value, &value));
        TRY(reduce_all(builder, OPERATOR_REDUCE_SUM, loss.weights, &total));
        TRY(expansion_binary(builder, OPERATOR_DIV, value, total, &value));
    }
    expansion_set_output(builder, 0, value);
    return NULL;
}

Error *expand_negative_log_likelihood_loss(ExpansionBuilder *builder) {
    TRY(check_inputs(builder->request));
    return add_loss(builder, 0);
}

Error *expand_softmax_cross_entropy_loss(ExpansionBuilder *builder) {
    static const uint32_t input = 0;
    uint32_t value;
    TRY(check_inputs(builder->request));
    TRY(expansion_call_text(builder, OPERATOR_LOG_SOFTMAX, "{axis=1}", &input, 1, &value));
    expansion_set_output(builder, 1, value);
    return add_loss(builder, value);
}
