#pragma once
/* Pointwise work for the tests of compiled groups: every operator with every element type, alone,
 * and random programs of many steps. */
#include "kernels/cuda/planners/cuda_pointwise.h"
#include "tests/support/test_support.h"

enum { GROUP_CASES_MAX = 2048, GROUP_INPUTS = 3, GROUP_ELEMENTS_MAX = 7 * 52 };

typedef struct GroupCase {
    const char *operator_name;
    char attributes[48], inputs[96]; /* as in infer_fixture.h */
} GroupCase;

/* Each operator of pointwise_operators.def with each of its element types, and casts from each to
 * each; the second operand lies in memory in every way by turns. Answers how many. */
uint32_t group_fixture_cases(GroupCase out[GROUP_CASES_MAX]);
/* What the planner makes of it, without addresses; it takes all of them. */
void group_fixture_params(const GroupCase *group, CudaPointwiseParams *out);

/* Kernels group_0, group_1 … of the cases from `first` on, each `step`-th. */
void group_fixture_source(
    const GroupCase *cases, uint32_t count, uint32_t first, uint32_t step, TextBuilder *out);

/* A FusedElementwise call that the cuda device compiles: attributes, and inputs as in
 * tensor_text.h, where dtype is T. */
void group_fixture_random(DType dtype, uint64_t seed, TextBuilder *out_attributes);
extern const char *const group_fixture_inputs;
