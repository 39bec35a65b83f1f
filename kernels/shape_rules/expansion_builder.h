#pragma once
/* Builds expansions: constants and nodes are added in order, each inferred at once, so that the
 * next step may read its shape. Called by the files of kernels/expansions/. Pure: a builder belongs
 * to its caller.
 *
 * Values are numbers (operator_expansion.h); EXPANSION_ABSENT may stand for an optional operand.
 * Results go to *out, which may be the same variable as an operand. */
#include "kernels/shape_rules/operator_expansion.h"

typedef struct ExpansionBuilder {
    const PlanRequest *request; /* the expanded request; its outputs must not be read */
    Expansion *expansion;
} ExpansionBuilder;

/* Numbers the inputs. */
MUST_CHECK Error *expansion_builder_start(ExpansionBuilder *builder);

/* The request's input, or EXPANSION_ABSENT. */
uint32_t expansion_input(const ExpansionBuilder *builder, uint32_t index);
bool expansion_wants(const ExpansionBuilder *builder, uint32_t output);
/* The spec of a value that is present. */
TensorSpec expansion_spec(const ExpansionBuilder *builder, uint32_t value);
/* Sets the value of the call's output; does nothing if the output is not wanted. */
void expansion_set_output(ExpansionBuilder *builder, uint32_t output, uint32_t value);

/* Adds a constant of rank 0. Errors: UNSUPPORTED an element type without scalars. */
MUST_CHECK Error *expansion_scalar(
    ExpansionBuilder *builder, DType dtype, double value, uint32_t *out);
/* Adds an int64 vector, which plain operators may read by value. */
MUST_CHECK Error *expansion_ints(
    ExpansionBuilder *builder, const int64_t *values, uint32_t count, uint32_t *out);

typedef struct ExpansionCall {
    OperatorId operator_id;
    Attributes *owned_attributes; /* consumed; NULL: the defaults */
    uint32_t input_count;
    const uint32_t *inputs;
    uint32_t output_count; /* 0: one */
} ExpansionCall;

/* Adds a node; its outputs are consecutive values from *out on. Errors: those of the operator's
 * rule; UNSUPPORTED a shape that depends on data. */
MUST_CHECK Error *expansion_call(ExpansionBuilder *builder, ExpansionCall call, uint32_t *out);
/* The same with attributes as text: "{axis=1}". */
MUST_CHECK Error *expansion_call_text(ExpansionBuilder *builder, OperatorId operator_id,
    const char *attributes, const uint32_t *inputs, uint32_t input_count, uint32_t *out);
MUST_CHECK Error *expansion_unary(
    ExpansionBuilder *builder, OperatorId operator_id, uint32_t value, uint32_t *out);
MUST_CHECK Error *expansion_binary(
    ExpansionBuilder *builder, OperatorId operator_id, uint32_t a, uint32_t b, uint32_t *out);
/* a if condition else b. */
MUST_CHECK Error *expansion_where(
    ExpansionBuilder *builder, uint32_t condition, uint32_t a, uint32_t b, uint32_t *out);
/* Add no node if the value has that element type, shape or order already. */
MUST_CHECK Error *expansion_cast(
    ExpansionBuilder *builder, uint32_t value, DType dtype, uint32_t *out);
MUST_CHECK Error *expansion_reshape(
    ExpansionBuilder *builder, uint32_t value, const Shape *shape, uint32_t *out);
MUST_CHECK Error *expansion_transpose(
    ExpansionBuilder *builder, uint32_t value, const int64_t *perm, uint32_t *out);
/* Exchanges the last two dimensions. Errors: INVALID below rank 2. */
MUST_CHECK Error *expansion_swap(ExpansionBuilder *builder, uint32_t *inout_value);
/* An image [N, spatial…, C] as [N, C, spatial…], and back. */
MUST_CHECK Error *expansion_channels_first(ExpansionBuilder *builder, uint32_t *inout_value);
MUST_CHECK Error *expansion_channels_last(ExpansionBuilder *builder, uint32_t *inout_value);
/* Takes elements begin … end - 1 of an axis. */
MUST_CHECK Error *expansion_slice(ExpansionBuilder *builder, uint32_t value, uint32_t axis,
    int64_t begin, int64_t end, uint32_t *out);
/* Concatenates two values. */
MUST_CHECK Error *expansion_concat(
    ExpansionBuilder *builder, uint32_t a, uint32_t b, uint32_t axis, uint32_t *out);
/* A reduction of one kind over these axes. */
MUST_CHECK Error *expansion_reduce(ExpansionBuilder *builder, OperatorId operator_id,
    uint32_t value, const int64_t *axes, uint32_t axis_count, bool keep_dims, uint32_t *out);

/* Expanders, named in expansions.def. */
#define EXPANSION(id, function) MUST_CHECK Error *expand_##function(ExpansionBuilder *builder);
#include "kernels/shape_rules/expansions.def"
#undef EXPANSION
