/* The optimizers of ai.onnx.preview.training: Adagrad, Adam and Momentum, step by step. */
#include "compiler/frontend/base/onnx_internal.h"

/* One tensor to optimize, with the node's scalars in the tensor's element type. */
typedef struct Update {
    const OnnxNode *node;
    DType dtype;
    IrVariable *rate, *count;
    IrVariable *is_later; /* whether the update count is above 0 */
    IrVariable *value, *gradient;
    IrVariable *moments[2]; /* the values that the optimizer accumulates */
} Update;

typedef Error *UpdateStep(Update *update);

static Error *apply(
    const Update *update, const char *name, IrVariable *a, IrVariable *b, IrVariable **out) {
    return ir_build_simple(onnx_at(update->node), name, NULL, a, b, NULL, out);
}

static Error *scalar(const Update *update, double value, IrVariable **out) {
    return onnx_constant_float0(update->node, value, update->dtype, out);
}

static Error *attribute(
    const Update *update, const char *name, const double *otherwise, double *out) {
    const Onnx__AttributeProto *given = onnx_attribute_find(update->node, name);
    if (!otherwise && (!given || !given->has_f)) FAIL(INVALID, "attribute %s is missing", name);
    *out = given && given->has_f ? (double)given->f : *otherwise;
    return NULL;
}

/* factor * a, or factor * a + b. */
static Error *scaled(
    const Update *update, double factor, IrVariable *a, IrVariable *b, IrVariable **out) {
    IrVariable *constant;
    TRY(scalar(update, factor, &constant));
    TRY(apply(update, "Mul", a, constant, out));
    return b ? apply(update, "Add", *out, b, out) : NULL;
}

/* a if the count is above 0, otherwise b. */
static Error *later(const Update *update, IrVariable *a, IrVariable *b, IrVariable **out) {
    return ir_build_simple(onnx_at(update->node), "Where", NULL, update->is_later, a, b, out);
}

/* The gradient with that of the norm of the value. */
static Error *regularize(Update *update, const double *otherwise) {
    double coefficient;
    TRY(attribute(update, "norm_coefficient", otherwise, &coefficient));
    return scaled(update, coefficient, update->value, update->gradient, &update->gradient);
}

/* value - rate * direction */
static Error *move(Update *update, IrVariable *rate, IrVariable *direction) {
    IrVariable *way;
    TRY(apply(update, "Mul", rate, direction, &way));
    return apply(update, "Sub", update->value, way, &update->value);
}

/* direction / (Sqrt(squares) + epsilon) */
static Error *adapt(
    const Update *update, IrVariable *direction, IrVariable *squares, IrVariable **out) {
    static const double small = 1e-6;
    double epsilon;
    IrVariable *constant, *root;
    TRY(attribute(update, "epsilon", &small, &epsilon));
    TRY(scalar(update, epsilon, &constant));
    TRY(apply(update, "Sqrt", squares, NULL, &root));
    TRY(apply(update, "Add", root, constant, &root));
    return apply(update, "Div", direction, root, out);
}

static Error *step_adagrad(Update *update) {
    static const double none = 0;
    double decay;
    IrVariable *one, *rate, *square, *direction;
    TRY(attribute(update, "decay_factor", &none, &decay));
    TRY(regularize(update, &none));
    TRY(scalar(update, 1, &one));
    TRY(scaled(update, decay, update->count, one, &rate));
    TRY(apply(update, "Div", update->rate, rate, &rate));
    TRY(apply(update, "Mul", update->gradient, update->gradient, &square));
    TRY(apply(update, "Add", update->moments[0], square, &update->moments[0]));
    TRY(adapt(update, update->gradient, update->moments[0], &direction));
    return move(update, rate, direction);
}

static Error *step_momentum(Update *update) {
    double alpha, beta;
    IrVariable *factor, *one, *fresh, *direction;
    const Onnx__AttributeProto *mode = onnx_attribute_find(update->node, "mode");
    const bool nesterov = mode && onnx_text_is(&mode->s, "nesterov");
    if (!nesterov && !(mode && onnx_text_is(&mode->s, "standard")))
        FAIL(INVALID, "mode is neither standard nor nesterov");
    TRY(attribute(update, "alpha", NULL, &alpha));
    TRY(attribute(update, "beta", NULL, &beta));
    TRY(regularize(update, NULL));
    TRY(scalar(update, beta, &factor));
    TRY(scalar(update, 1, &one));
    TRY(later(update, factor, one, &factor));
    TRY(apply(update, "Mul", factor, update->gradient, &fresh));
    TRY(scaled(update, alpha, update->moments[0], fresh, &update->moments[0]));
    direction = update->moments[0];
    if (nesterov) TRY(scaled(update, alpha, direction, update->gradient, &direction));
    return move(update, update->rate, direction);
}

/* factor ^ count, taken from 1 */
static Error *grown(const Update *update, double factor, IrVariable **out) {
    IrVariable *base, *one, *power;
    TRY(scalar(update, factor, &base));
    TRY(scalar(update, 1, &one));
    TRY(apply(update, "Pow", base, update->count, &power));
    return apply(update, "Sub", one, power, out);
}

/* rate * Sqrt(1 - beta ^ count) / (1 - alpha ^ count); the rate itself at count 0. */
static Error *adjust(const Update *update, double alpha, double beta, IrVariable **out) {
    IrVariable *first, *second;
    TRY(grown(update, beta, &second));
    TRY(grown(update, alpha, &first));
    TRY(apply(update, "Sqrt", second, NULL, &second));
    TRY(apply(update, "Mul", update->rate, second, &second));
    TRY(apply(update, "Div", second, first, &second));
    return later(update, second, update->rate, out);
}

static Error *step_adam(Update *update) {
    static const double none = 0, first = 0.9, second = 0.999;
    double alpha, beta, post;
    IrVariable *fresh, *rate, *direction;
    TRY(attribute(update, "alpha", &first, &alpha));
    TRY(attribute(update, "beta", &second, &beta));
    TRY(attribute(update, "norm_coefficient_post", &none, &post));
    TRY(regularize(update, &none));
    TRY(scaled(update, 1 - alpha, update->gradient, NULL, &fresh));
    TRY(scaled(update, alpha, update->moments[0], fresh, &update->moments[0]));
    TRY(apply(update, "Mul", update->gradient, update->gradient, &fresh));
    TRY(scaled(update, 1 - beta, fresh, NULL, &fresh));
    TRY(scaled(update, beta, update->moments[1], fresh, &update->moments[1]));
    TRY(adapt(update, update->moments[0], update->moments[1], &direction));
    TRY(adjust(update, alpha, beta, &rate));
    TRY(move(update, rate, direction));
    return scaled(update, 1 - post, update->value, NULL, &update->value);
}

/* The learning rate and the update count in the type of a tensor. */
static Error *start(const OnnxNode *node, IrVariable *value, Update *out) {
    IrVariable *zero;
    *out = (Update){.node = node, .value = value, .dtype = onnx_float_type(value)};
    TRY(apply(out, "CastLike", node->inputs[0], value, &out->rate));
    TRY(apply(out, "CastLike", node->inputs[1], value, &out->count));
    TRY(scalar(out, 0, &zero));
    return apply(out, "Greater", out->count, zero, &out->is_later);
}

/* Inputs: R, T, then the values of all tensors, the gradients, and each kind of moments. The
 * outputs are the same without gradients. */
static Error *optimize(
    const OnnxNode *node, uint32_t moments, UpdateStep *step, const char *const *attributes) {
    const uint32_t kinds = 2 + moments, given = node->input_count;
    if (given < 2 + kinds || (given - 2) % kinds != 0)
        FAIL(INVALID, "%u inputs, not two and %u for each tensor", given, kinds);
    const uint32_t count = (given - 2) / kinds;
    TRY(onnx_attribute_check(node, attributes));
    for (uint32_t i = 0; i < given; i++)
        if (!node->inputs[i]) FAIL(INVALID, "input %u is missing", i);
    for (uint32_t i = 0; i < count; i++) {
        Update update;
        TRY(start(node, node->inputs[2 + i], &update));
        update.gradient = node->inputs[2 + count + i];
        for (uint32_t m = 0; m < moments; m++)
            update.moments[m] = node->inputs[2 + (2 + m) * count + i];
        TRY(step(&update));
        if (i < node->output_count) TRY(onnx_node_set_output(node, i, update.value));
        for (uint32_t m = 0; m < moments; m++)
            if ((1 + m) * count + i < node->output_count)
                TRY(onnx_node_set_output(node, (1 + m) * count + i, update.moments[m]));
    }
    return NULL;
}

Error *onnx_convert_adagrad(const OnnxNode *node) {
    static const char *const attributes[] = {"decay_factor", "epsilon", "norm_coefficient", NULL};
    return optimize(node, 1, step_adagrad, attributes);
}

Error *onnx_convert_momentum(const OnnxNode *node) {
    static const char *const attributes[] = {"alpha", "beta", "mode", "norm_coefficient", NULL};
    return optimize(node, 1, step_momentum, attributes);
}

Error *onnx_convert_adam(const OnnxNode *node) {
    static const char *const attributes[] = {
        "alpha", "beta", "epsilon", "norm_coefficient", "norm_coefficient_post", NULL};
    return optimize(node, 2, step_adam, attributes);
}
