#pragma once
/* Arguments of movement and reduction operators that come as values or attributes, resolved and
 * checked once for shape rules and kernels. Called when they plan. All read request->values of
 * value inputs. Pure: no state. */
#include "kernels/operator/plan.h"

/* Reads int32 or int64 values of input `index`, rank 0 or 1, at most count_max. Absent: count 0. */
MUST_CHECK Error *arguments_ints(const PlanRequest *request, uint32_t index, uint32_t count_max,
    int64_t *out, uint32_t *out_count);
/* Reads one integer of any integer (or, for OneHot's depth, float) type, rank 0 or one element. */
MUST_CHECK Error *arguments_int(const PlanRequest *request, uint32_t index, int64_t *out);
/* Reads numbers of any float type of input `index`, rank 0 or 1, at most count_max. Absent: count
 * 0. */
MUST_CHECK Error *arguments_floats(const PlanRequest *request, uint32_t index, uint32_t count_max,
    double *out, uint32_t *out_count);
/* The attribute `axes`, or without that attribute all dimensions of input 0 in order; each at most
 * once. */
MUST_CHECK Error *arguments_named_axes(
    const PlanRequest *request, uint32_t out_axes[SHAPE_RANK_MAX], uint32_t *out_count);

/* Finds a text attribute in a list of words that ends with NULL. out_index: may be NULL. Errors:
 * INVALID the list does not have the text. */
MUST_CHECK Error *arguments_word(
    const Attributes *attributes, const char *name, const char *const *words, uint32_t *out_index);

/* Concat: the axis, and the shape that all parts have except along the axis. */
MUST_CHECK Error *arguments_join(
    const PlanRequest *request, uint32_t *out_axis, const Shape **out_first);

/* Slice, per dimension of the input: output element i is input element start + i * step. */
typedef struct SliceArguments {
    int64_t start[SHAPE_RANK_MAX];
    int64_t step[SHAPE_RANK_MAX];
    int64_t count[SHAPE_RANK_MAX];
} SliceArguments;
MUST_CHECK Error *arguments_slice(const PlanRequest *request, SliceArguments *out);

typedef enum PadMode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } PadMode;
/* Pad, per dimension; negative amounts crop. */
typedef struct PadArguments {
    PadMode mode;
    int64_t begin[SHAPE_RANK_MAX];
    int64_t end[SHAPE_RANK_MAX];
} PadArguments;
/* Reads a Pad or CenterCropPad request. */
MUST_CHECK Error *arguments_pad(const PlanRequest *request, PadArguments *out);

/* Reduce*: which dimensions are reduced. None: noop_with_empty_axes, each element is reduced by
 * itself. */
typedef struct ReduceArguments {
    bool reduced[SHAPE_RANK_MAX];
    bool keep_dims;
} ReduceArguments;
MUST_CHECK Error *arguments_reduce(const PlanRequest *request, ReduceArguments *out);

/* MeanVarianceNormalization: the attribute `axes`, by default 0, 2 and 3. */
MUST_CHECK Error *arguments_axes(const PlanRequest *request, bool out_reduced[SHAPE_RANK_MAX]);

/* Split: the size of each output along the axis. */
MUST_CHECK Error *arguments_split(
    const PlanRequest *request, uint32_t *out_axis, int64_t out_sizes[PLAN_OUTPUTS_MAX]);

/* SplitBounds: the number of pieces of the dimension, each of length `step` but a shorter last one;
 * step 0: input 1 lists the lengths. */
MUST_CHECK Error *arguments_split_pieces(
    const PlanRequest *request, int64_t *out_dim, int64_t *out_step, int64_t *out_count);

/* Range: start and step as double (float types) or int64 (integers), and the number of elements. */
typedef struct RangeArguments {
    double start, step;
    int64_t start_int, step_int;
    int64_t count;
} RangeArguments;
MUST_CHECK Error *arguments_range(const PlanRequest *request, RangeArguments *out);

/* TreeScores: how the weights of a score's leaves become one number. */
typedef enum TreeAggregate { TREE_SUM, TREE_AVERAGE, TREE_MIN, TREE_MAX } TreeAggregate;
MUST_CHECK Error *arguments_tree_aggregate(const PlanRequest *request, TreeAggregate *out);

/* Trilu: of `rows` rows of `width` elements, in matrices of `height` rows, row r of a matrix keeps
 * its columns from r + k on (upper) or those up to r + k. */
typedef struct TriluArguments {
    uint64_t rows; /* of all matrices together */
    int64_t height, width, k;
    bool upper;
} TriluArguments;
MUST_CHECK Error *arguments_trilu(const PlanRequest *request, TriluArguments *out);

/* The result of a Shape or Size request: dimensions start … end of the input, or the number of its
 * elements. */
typedef struct ShapeNumbers {
    uint32_t count;
    int64_t numbers[SHAPE_RANK_MAX];
} ShapeNumbers;
void arguments_shape_numbers(const PlanRequest *request, ShapeNumbers *out);

/* Transpose: perm, or the dimensions reversed. */
MUST_CHECK Error *arguments_perm(const PlanRequest *request, uint32_t out_perm[SHAPE_RANK_MAX]);
/* The attribute `axis` within the rank of input 0. */
MUST_CHECK Error *arguments_axis(const PlanRequest *request, uint32_t *out_axis);
