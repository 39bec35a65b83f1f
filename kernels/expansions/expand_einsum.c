/* Einsum by plain operators: diagonals are cut out, labels that are not needed any more are summed,
 * and operands are joined one after the other: by a batched matrix product if they share a label
 * that is summed, otherwise by Mul. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/expansions/einsum_equation.h"
#include "kernels/shape_rules/expansion_builder.h"

/* An operand, or the product of some operands: a dimension for each label, each label once. */
typedef struct Factor {
    uint32_t value;
    uint32_t rank;
    uint8_t labels[SHAPE_RANK_MAX];
    Shape shape;
} Factor;

static uint32_t position(const Factor *factor, uint8_t label) {
    for (uint32_t i = 0; i < factor->rank; i++)
        if (factor->labels[i] == label) return i;
    return UINT32_MAX;
}

static bool has(const Factor *factor, uint8_t label) {
    return position(factor, label) != UINT32_MAX;
}

static void drop_label(Factor *factor, uint32_t at) {
    memmove(factor->labels + at, factor->labels + at + 1, factor->rank - at - 1);
    memmove(factor->shape.dims + at, factor->shape.dims + at + 1,
        (factor->rank - at - 1) * sizeof factor->shape.dims[0]);
    factor->rank--;
    factor->shape.dims[factor->rank] = 0;
    factor->shape.rank = factor->rank;
}

/* Dimensions in the order of the permutation. */
static Error *permute(ExpansionBuilder *builder, Factor *factor, const int64_t *perm) {
    const Factor before = *factor;
    TRY(expansion_transpose(builder, factor->value, perm, &factor->value));
    for (uint32_t i = 0; i < factor->rank; i++) {
        factor->labels[i] = before.labels[perm[i]];
        factor->shape.dims[i] = before.shape.dims[perm[i]];
    }
    return NULL;
}

/* Takes the diagonal of two dimensions: joins them at the end, and takes every (n + 1)-th
 * element. */
static Error *cut_diagonal(
    ExpansionBuilder *builder, Factor *factor, uint32_t first, uint32_t second) {
    const int64_t size = factor->shape.dims[first];
    int64_t perm[SHAPE_RANK_MAX], joined, from = 0, at, step;
    uint32_t inputs[5], count = 0;
    if (factor->shape.dims[second] != size)
        FAIL(INVALID, "equation: '%c' is %" PRId64 " and %" PRId64 " in one operand",
            einsum_label_letter(factor->labels[first]), size, factor->shape.dims[second]);
    for (uint32_t i = 0; i < factor->rank; i++)
        if (i != first && i != second) perm[count++] = i;
    perm[count] = first;
    perm[count + 1] = second;
    TRY(permute(builder, factor, perm));
    if (!checked_mul_i64(size, size, &joined)) FAIL(INVALID, "a diagonal of %" PRId64, size);
    drop_label(factor, factor->rank - 1);
    factor->shape.dims[factor->rank - 1] = joined;
    TRY(expansion_reshape(builder, factor->value, &factor->shape, &inputs[0]));
    at = factor->rank - 1;
    step = size + 1;
    TRY(expansion_ints(builder, &from, 1, &inputs[1]));
    TRY(expansion_ints(builder, &joined, 1, &inputs[2]));
    TRY(expansion_ints(builder, &at, 1, &inputs[3]));
    TRY(expansion_ints(builder, &step, 1, &inputs[4]));
    TRY(expansion_call(
        builder, (ExpansionCall){OPERATOR_SLICE, NULL, 5, inputs, 1}, &factor->value));
    factor->shape = expansion_spec(builder, factor->value).shape;
    return NULL;
}

static Error *cut_diagonals(ExpansionBuilder *builder, Factor *factor) {
    for (uint32_t i = 0; i < factor->rank; i++)
        for (uint32_t j = i + 1; j < factor->rank; j++)
            if (factor->labels[i] == factor->labels[j]) {
                TRY(cut_diagonal(builder, factor, i, j));
                return cut_diagonals(builder, factor); /* at most as deep as the rank */
            }
    return NULL;
}

/* Adds up over the labels that are not needed. */
static Error *add_up(ExpansionBuilder *builder, Factor *factor, const bool *needed) {
    int64_t axes[SHAPE_RANK_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < factor->rank; i++)
        if (!needed[factor->labels[i]]) axes[count++] = i;
    if (count == 0) return NULL;
    TRY(expansion_reduce(
        builder, OPERATOR_REDUCE_SUM, factor->value, axes, count, false, &factor->value));
    while (count-- > 0) drop_label(factor, (uint32_t)axes[count]);
    return NULL;
}

/* Drops a factor's dimension of 1 that is longer in the other factor, since the product
 * broadcasts. */
static Error *drop_ones(ExpansionBuilder *builder, Factor *factor, const Factor *other) {
    for (uint32_t i = factor->rank; i-- > 0;) {
        const uint32_t there = position(other, factor->labels[i]);
        if (there == UINT32_MAX || factor->shape.dims[i] == other->shape.dims[there]) continue;
        if (factor->shape.dims[i] == 1)
            drop_label(factor, i);
        else if (other->shape.dims[there] != 1)
            FAIL(INVALID, "equation: '%c' is %" PRId64 " and %" PRId64,
                einsum_label_letter(factor->labels[i]), factor->shape.dims[i],
                other->shape.dims[there]);
    }
    return expansion_reshape(builder, factor->value, &factor->shape, &factor->value);
}

/* The part that a label has in the product of two factors. */
typedef enum Part { PART_SHARED, PART_OWN, PART_SUMMED, PART_COUNT } Part;

static Part part_of(const Factor *other, const bool *needed, uint8_t label) {
    if (!has(other, label)) return PART_OWN;
    return needed[label] ? PART_SHARED : PART_SUMMED;
}

/* Reshapes a factor to three dimensions, shared × a × b. Shared and summed labels are sorted by
 * number, so that both factors have the same order. sizes: of each part. */
static Error *group(ExpansionBuilder *builder, Factor *factor, const Factor *other,
    const bool *needed, Part a, Part b, int64_t sizes[PART_COUNT]) {
    const Part order[3] = {PART_SHARED, a, b};
    int64_t perm[SHAPE_RANK_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        sizes[order[i]] = 1;
        for (uint8_t label = 0; label < EINSUM_LABELS_MAX; label++) {
            const uint32_t at = position(factor, label);
            if (at == UINT32_MAX || part_of(other, needed, label) != order[i]) continue;
            perm[count++] = at;
            sizes[order[i]] *= factor->shape.dims[at]; /* a part of a tensor's count */
        }
    }
    return permute(builder, factor, perm);
}

static Error *push_label(Factor *factor, uint8_t label, int64_t dim) {
    if (factor->rank == SHAPE_RANK_MAX)
        FAIL(UNSUPPORTED, "an intermediate value of more than %d dimensions", SHAPE_RANK_MAX);
    factor->labels[factor->rank] = label;
    factor->shape.dims[factor->rank++] = dim;
    factor->shape.rank = factor->rank;
    return NULL;
}

static Error *push_part(
    Factor *to, const Factor *from, const Factor *other, const bool *needed, Part part) {
    for (uint32_t i = 0; i < from->rank; i++)
        if (part_of(other, needed, from->labels[i]) == part)
            TRY(push_label(to, from->labels[i], from->shape.dims[i]));
    return NULL;
}

/* Sums over labels of this factor that are not needed. Labels that the other factor has, too, are
 * left to the product. */
static Error *add_up_beside(
    ExpansionBuilder *builder, Factor *factor, const Factor *other, const bool *needed) {
    bool kept[EINSUM_LABELS_MAX];
    memcpy(kept, needed, sizeof kept);
    for (uint32_t i = 0; i < other->rank; i++) kept[other->labels[i]] = true;
    return add_up(builder, factor, kept);
}

/* The product of two factors, summed over the labels that both have and that are not needed
 * later. */
static Error *join(
    ExpansionBuilder *builder, Factor *left, Factor *right, const bool *needed, Factor *out) {
    int64_t a[PART_COUNT], b[PART_COUNT];
    uint32_t x, y;
    Factor product = {0};
    bool is_summed = false;
    TRY(drop_ones(builder, left, right));
    TRY(drop_ones(builder, right, left));
    TRY(add_up_beside(builder, left, right, needed));
    TRY(add_up_beside(builder, right, left, needed));
    for (uint32_t i = 0; i < left->rank; i++)
        is_summed = is_summed || part_of(right, needed, left->labels[i]) == PART_SUMMED;
    TRY(group(builder, left, right, needed, PART_OWN, PART_SUMMED, a));
    TRY(group(builder, right, left, needed, PART_SUMMED, PART_OWN, b));
    const Shape rows = {.rank = 3, .dims = {a[PART_SHARED], a[PART_OWN], a[PART_SUMMED]}};
    const Shape columns = {.rank = 3, .dims = {b[PART_SHARED], b[PART_SUMMED], b[PART_OWN]}};
    TRY(expansion_reshape(builder, left->value, &rows, &x));
    TRY(expansion_reshape(builder, right->value, &columns, &y));
    TRY(expansion_binary(
        builder, is_summed ? OPERATOR_MATMUL : OPERATOR_MUL, x, y, &product.value));
    TRY(push_part(&product, left, right, needed, PART_SHARED));
    TRY(push_part(&product, left, right, needed, PART_OWN));
    TRY(push_part(&product, right, left, needed, PART_OWN));
    TRY(expansion_reshape(builder, product.value, &product.shape, &product.value));
    *out = product;
    return NULL;
}

/* Labels of the result and of the operands from `next` on. */
static void read_needed(const EinsumEquation *equation, uint32_t next, bool *out) {
    memset(out, 0, EINSUM_LABELS_MAX * sizeof out[0]);
    for (uint32_t i = 0; i < equation->result.rank; i++) out[equation->result.labels[i]] = true;
    for (uint32_t i = next; i < equation->operand_count; i++)
        for (uint32_t j = 0; j < equation->operands[i].rank; j++)
            out[equation->operands[i].labels[j]] = true;
}

static Error *make_factor(
    ExpansionBuilder *builder, const EinsumEquation *equation, uint32_t index, Factor *out) {
    const EinsumTerm *term = &equation->operands[index];
    Factor factor = {.value = index, .rank = term->rank};
    factor.shape = expansion_spec(builder, index).shape;
    memcpy(factor.labels, term->labels, term->rank);
    TRY(cut_diagonals(builder, &factor));
    *out = factor;
    return NULL;
}

static Error *set_result(
    ExpansionBuilder *builder, const EinsumEquation *equation, Factor *factor) {
    int64_t perm[SHAPE_RANK_MAX];
    for (uint32_t i = 0; i < equation->result.rank; i++)
        perm[i] = position(factor, equation->result.labels[i]);
    TRY(permute(builder, factor, perm));
    expansion_set_output(builder, 0, factor->value);
    return NULL;
}

static Error *check_dtypes(const PlanRequest *request) {
    const DType dtype = request->inputs[0].dtype;
    if (!(DTYPES_NUMBER & DTYPE_BIT(dtype))) FAIL(INVALID, "operands of %s", dtype_name(dtype));
    for (uint32_t i = 1; i < request->input_count; i++)
        if (request->inputs[i].dtype != dtype)
            FAIL(INVALID, "input 0 is %s, input %u is %s", dtype_name(dtype), i,
                dtype_name(request->inputs[i].dtype));
    return NULL;
}

Error *expand_einsum(ExpansionBuilder *builder) {
    const PlanRequest *request = builder->request;
    uint32_t ranks[PLAN_INPUTS_MAX];
    bool needed[EINSUM_LABELS_MAX];
    EinsumEquation equation;
    Factor product, factor;
    TRY(check_dtypes(request));
    for (uint32_t i = 0; i < request->input_count; i++) ranks[i] = request->inputs[i].shape.rank;
    TRY(einsum_equation_parse(
        attributes_text(request->attributes, "equation"), ranks, request->input_count, &equation));
    TRY(make_factor(builder, &equation, 0, &product));
    read_needed(&equation, 1, needed);
    TRY(add_up(builder, &product, needed));
    for (uint32_t i = 1; i < equation.operand_count; i++) {
        TRY(make_factor(builder, &equation, i, &factor));
        read_needed(&equation, i + 1, needed);
        TRY(join(builder, &product, &factor, needed, &product));
    }
    return set_result(builder, &equation, &product);
}
