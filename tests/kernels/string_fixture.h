#pragma once
/* Operators of strings run on the portable cpu device. Strings are texts with '|' between elements:
 * "a|b||c" are four. */
#include "kernels/tensor/string_tensor.h"
#include "tests/support/test_support.h"

enum { STRING_CALL_INPUTS_MAX = 4 };

typedef struct StringCall {
    const char *operator_name;
    const char *attributes; /* NULL: defaults */
    uint32_t input_count, output_count;
    Tensor *inputs[STRING_CALL_INPUTS_MAX];
    Tensor *outputs[STRING_CALL_INPUTS_MAX]; /* made by string_call_run */
} StringCall;

Tensor *string_fixture_tensor(const char *texts, uint32_t rank, const int64_t *dims);
/* Inputs stay the call's; outputs of an earlier run go. Threads beyond one change nothing. */
MUST_CHECK Error *string_call_run(StringCall *call);
void string_call_deinit(StringCall *call);
/* "[2] a|b" */
void string_fixture_expect(const Tensor *tensor, const char *expected);
