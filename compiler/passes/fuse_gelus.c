/* Fuses activations that are written out as a product with their argument, factors in any order:
 * Gelu as x * 0.5 * (1 + erf(x / sqrt 2)) and its form with tanh, Swish as x * sigmoid(alpha * x),
 * Mish as x * tanh(softplus(x)), HardSwish as x * clip(x + 3, 0, 6) / 6 and x * hard_sigmoid(x). */
#include <math.h>

#include "compiler/passes/fusion.h"

enum { FACTORS_MAX = 4 };

typedef struct Product {
    IrVariable *factors[FACTORS_MAX]; /* factors other than scalar constants */
    uint32_t count;
    double scale;
    double slack; /* how much rounding of the scalars may have changed the scale */
} Product;

static bool is_sole(const Fusion *fusion, const IrVariable *variable) {
    return fusion_uses(fusion, variable) == 1;
}

/* Half a unit in the last place: numbers written with a few digits count as exact elsewhere. */
static double rounding_of(DType dtype) {
    return dtype == DTYPE_FLOAT16 ? 0x1p-11 : dtype == DTYPE_BFLOAT16 ? 0x1p-8 : 0;
}

/* Flattens a tree of products, and of divisions by scalars. inner: below the first product, where
 * the value must have no other user. */
static bool product_add(const Fusion *fusion, const IrBinding *root, IrVariable *variable,
    bool inner, uint32_t depth, Product *product) {
    double scalar;
    if (fusion_scalar(variable, &scalar)) {
        product->scale *= scalar;
        product->slack += rounding_of(variable->type.dtype);
        return true;
    }
    const IrBinding *mul = fusion_maker(root, variable, OPERATOR_MUL);
    const IrBinding *div = fusion_maker(root, variable, OPERATOR_DIV);
    bool open = depth < FACTORS_MAX && (!inner || is_sole(fusion, variable));
    if (mul && open)
        return product_add(fusion, root, fusion_operand(mul, 0), true, depth + 1, product) &&
               product_add(fusion, root, fusion_operand(mul, 1), true, depth + 1, product);
    if (div && open && fusion_scalar(fusion_operand(div, 1), &scalar) && scalar != 0) {
        product->scale /= scalar;
        product->slack += rounding_of(variable->type.dtype);
        return product_add(fusion, root, fusion_operand(div, 0), true, depth + 1, product);
    }
    if (product->count == FACTORS_MAX) return false;
    product->factors[product->count++] = variable;
    return true;
}

static bool has_scale(const Product *product, double wanted) {
    return fabs(product->scale - wanted) < (1e-4 + product->slack) * wanted;
}

/* x for "scale * x" without further factors, otherwise NULL. */
static IrVariable *scaled(
    const Fusion *fusion, const IrBinding *root, IrVariable *variable, double scale) {
    Product product = {.scale = 1};
    if (!product_add(fusion, root, variable, true, 0, &product) || product.count != 1) return NULL;
    return has_scale(&product, scale) ? product.factors[0] : NULL;
}

/* y for "1 + y". */
static IrVariable *one_plus(const IrBinding *root, const IrVariable *sum) {
    const IrBinding *add = fusion_maker(root, sum, OPERATOR_ADD);
    for (uint32_t i = 0; add && i < 2; i++)
        if (fusion_scalar_is(fusion_operand(add, i), 1)) return fusion_operand(add, 1 - i);
    return NULL;
}

/* x for x^3. */
static IrVariable *cube_input(const Fusion *fusion, const IrBinding *root, IrVariable *cube) {
    const IrBinding *pow = fusion_maker(root, cube, OPERATOR_POW);
    if (pow) return fusion_scalar_is(fusion_operand(pow, 1), 3) ? fusion_operand(pow, 0) : NULL;
    Product product = {.scale = 1};
    if (!product_add(fusion, root, cube, true, 0, &product) || product.count != 3) return NULL;
    bool same = product.factors[0] == product.factors[1] &&
                product.factors[0] == product.factors[2] && has_scale(&product, 1);
    return same ? product.factors[0] : NULL;
}

/* x for 0.044715 * x^3. */
static IrVariable *cubic_term(const Fusion *fusion, const IrBinding *root, IrVariable *term) {
    Product product = {.scale = 1};
    if (!product_add(fusion, root, term, true, 0, &product)) return NULL;
    if (!has_scale(&product, 0.044715)) return NULL;
    if (product.count == 1) return cube_input(fusion, root, product.factors[0]);
    bool same = product.count == 3 && product.factors[0] == product.factors[1] &&
                product.factors[0] == product.factors[2];
    return same ? product.factors[0] : NULL;
}

/* x for tanh's argument 0.79788 * (x + 0.044715 * x^3). */
static IrVariable *tanh_argument(
    const Fusion *fusion, const IrBinding *root, IrVariable *argument) {
    const IrVariable *sum = scaled(fusion, root, argument, 0.7978845608);
    const IrBinding *add = sum ? fusion_maker(root, sum, OPERATOR_ADD) : NULL;
    for (uint32_t i = 0; add && i < 2; i++) {
        IrVariable *x = fusion_operand(add, i);
        if (cubic_term(fusion, root, fusion_operand(add, 1 - i)) == x) return x;
    }
    return NULL;
}

/* The form's name when `sum` is 1 + erf(x / sqrt 2) or 1 + tanh(…) of that x. */
static const char *gelu_form(
    const Fusion *fusion, const IrBinding *root, const IrVariable *x, const IrVariable *sum) {
    IrVariable *inner = one_plus(root, sum);
    const IrBinding *erf = inner ? fusion_maker(root, inner, OPERATOR_ERF) : NULL;
    const IrBinding *tanh = inner ? fusion_maker(root, inner, OPERATOR_TANH) : NULL;
    if (erf && scaled(fusion, root, fusion_operand(erf, 0), 0.7071067812) == x) return "none";
    if (tanh && tanh_argument(fusion, root, fusion_operand(tanh, 0)) == x) return "tanh";
    return NULL;
}

static Error *replace(Fusion *fusion, IrBinding *root, const char *operator_name,
    const char *attribute, double value, IrVariable *x) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    if (attribute) TRY(attributes_set_float(attributes, attribute, value));
    return fusion_replace(fusion, root, operator_name, attributes, 1, &x);
}

static Error *as_gelu(
    Fusion *fusion, IrBinding *root, IrVariable *x, const IrVariable *other, bool *out_fused) {
    const char *form = gelu_form(fusion, root, x, other);
    *out_fused = form != NULL;
    if (!form) return NULL;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "approximate", form));
    return fusion_replace(fusion, root, "Gelu", attributes, 1, &x);
}

/* The operand of the operator `id` that makes the variable for this product alone, or NULL. */
static IrVariable *argument_of(
    const Fusion *fusion, const IrBinding *root, const IrVariable *variable, OperatorId id) {
    const IrBinding *maker = variable ? fusion_sole_maker(fusion, root, variable, id) : NULL;
    return maker ? fusion_operand(maker, 0) : NULL;
}

/* The number a for "sigmoid(a * x)", otherwise 0. */
static double swish_alpha(
    const Fusion *fusion, const IrBinding *root, const IrVariable *x, const IrVariable *sigmoid) {
    IrVariable *argument = argument_of(fusion, root, sigmoid, OPERATOR_SIGMOID);
    Product product = {.scale = 1};
    if (!argument || argument == x) return argument ? 1 : 0;
    if (!product_add(fusion, root, argument, true, 0, &product)) return 0;
    return product.count == 1 && product.factors[0] == x ? product.scale : 0;
}

/* True if `variable` is clip(x + 3, 0, 6), with scale 1/6, or hard_sigmoid(x) with these slopes. */
static bool is_hard_sigmoid(const Fusion *fusion, const IrBinding *root, const IrVariable *x,
    const IrVariable *variable, const Product *product) {
    if (argument_of(fusion, root, variable, OPERATOR_HARD_SIGMOID) == x) {
        const Attributes *attributes = variable->binding->attributes;
        return has_scale(product, 1) && attributes_float(attributes, "beta") == 0.5 &&
               (float)attributes_float(attributes, "alpha") == 1.0f / 6.0f;
    }
    const IrVariable *sum = argument_of(fusion, root, variable, OPERATOR_CLIP);
    const IrBinding *add = sum ? fusion_maker(root, sum, OPERATOR_ADD) : NULL;
    if (!add || !has_scale(product, 1.0 / 6)) return false;
    const IrBinding *clip = variable->binding;
    if (!fusion_scalar_is(fusion_operand(clip, 1), 0)) return false;
    if (!fusion_scalar_is(fusion_operand(clip, 2), 6)) return false;
    for (uint32_t i = 0; i < 2; i++)
        if (fusion_operand(add, i) == x && fusion_scalar_is(fusion_operand(add, 1 - i), 3))
            return true;
    return false;
}

/* The product of x and another factor. */
static Error *as_product(Fusion *fusion, IrBinding *root, const Product *product, IrVariable *x,
    const IrVariable *other, bool *out_fused) {
    *out_fused = true;
    if (is_hard_sigmoid(fusion, root, x, other, product))
        return replace(fusion, root, "HardSwish", NULL, 0, x);
    IrVariable *tanh = argument_of(fusion, root, other, OPERATOR_TANH);
    if (has_scale(product, 1) && argument_of(fusion, root, tanh, OPERATOR_SOFTPLUS) == x)
        return replace(fusion, root, "Mish", NULL, 0, x);
    const double alpha = has_scale(product, 1) ? swish_alpha(fusion, root, x, other) : 0;
    if (alpha != 0) return replace(fusion, root, "Swish", "alpha", alpha, x);
    *out_fused = false;
    return NULL;
}

enum { SHAPE_DEPTH_MAX = 9 };

static bool keeps_elements(OperatorId id) {
    return id == OPERATOR_MUL || id == OPERATOR_DIV || id == OPERATOR_ADD || id == OPERATOR_POW ||
           id == OPERATOR_ERF || id == OPERATOR_TANH || id == OPERATOR_SIGMOID ||
           id == OPERATOR_SOFTPLUS || id == OPERATOR_CLIP || id == OPERATOR_HARD_SIGMOID;
}

/* True if the variable is computed element by element from x and from constants of one element that
 * raise no rank: it has x's shape, whatever that is. */
static bool is_shaped_like(
    const IrBinding *root, const IrVariable *variable, const IrVariable *x, uint32_t depth) {
    double scalar;
    if (variable == x) return true;
    if (fusion_scalar(variable, &scalar))
        return ir_variable_tensor(variable)->shape.rank <= (x->type.rank_known ? x->type.rank : 0);
    const IrBinding *maker = variable ? variable->binding : NULL;
    if (!maker || depth == SHAPE_DEPTH_MAX || maker->kind != IR_OPERATOR) return false;
    if (maker->block != root->block || !keeps_elements(maker->operator_info->id)) return false;
    for (uint32_t i = 0; i < maker->operand_count; i++)
        if (!is_shaped_like(root, fusion_operand(maker, i), x, depth + 1)) return false;
    return true;
}

static bool has_shape_of(const IrBinding *root, const IrVariable *x) {
    const IrType *type = &root->results[0]->type;
    if (type->kind != IR_TYPE_TENSOR || x->type.kind != IR_TYPE_TENSOR) return false;
    return fusion_same_shape(&x->type, type) ||
           (x->type.dtype == type->dtype && is_shaped_like(root, root->results[0], x, 0));
}

static Error *rule(Fusion *fusion, IrBinding *root) {
    const OperatorId id = root->operator_info->id;
    if (id != OPERATOR_MUL && id != OPERATOR_DIV) return NULL;
    Product product = {.scale = 1};
    if (!product_add(fusion, root, root->results[0], false, 0, &product)) return NULL;
    if (product.count != 2) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        IrVariable *x = product.factors[i];
        bool fused = false;
        if (!fusion_takes(x->type.dtype) || !has_shape_of(root, x)) continue;
        if (has_scale(&product, 0.5))
            TRY(as_gelu(fusion, root, x, product.factors[1 - i], &fused));
        else
            TRY(as_product(fusion, root, &product, x, product.factors[1 - i], &fused));
        if (fused) return NULL;
    }
    return NULL;
}

Error *fuse_gelus_pass(PassContext *context) { return fusion_run(context, rule); }
