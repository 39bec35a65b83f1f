/* Fuses a written-out Gelu: x * 0.5 * (1 + erf(x / sqrt 2)), and the form with tanh; factors in any
 * order. */
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

static Error *rule(Fusion *fusion, IrBinding *root) {
    if (root->operator_info->id != OPERATOR_MUL) return NULL;
    Product product = {.scale = 1};
    if (!product_add(fusion, root, root->results[0], false, 0, &product)) return NULL;
    if (product.count != 2 || !has_scale(&product, 0.5)) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        IrVariable *x = product.factors[i];
        if (!fusion_takes(x->type.dtype) || !fusion_same_shape(&x->type, &root->results[0]->type))
            continue;
        const char *form = gelu_form(fusion, root, x, product.factors[1 - i]);
        if (!form) continue;
        OWN(Attributes, attributes) = NULL;
        TRY(attributes_create(&attributes));
        TRY(attributes_set_text(attributes, "approximate", form));
        return fusion_replace(fusion, root, "Gelu", attributes, 1, &x);
    }
    return NULL;
}

Error *fuse_gelus_pass(PassContext *context) { return fusion_run(context, rule); }
