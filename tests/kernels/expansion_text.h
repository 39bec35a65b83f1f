#pragma once
/* Expansions as text. */
#include "kernels/shape_rules/operator_expansion.h"
#include "tests/kernels/infer_fixture.h"

typedef struct ExpansionRow {
    const char *name, *attributes, *inputs;
    uint32_t output_count;
    /* "MatMul(0 1) Add(2 3) -> 4": operators with the values they take, and the outputs */
    const char *expected;
} ExpansionRow;

void expansion_text_check(const ExpansionRow *rows, size_t count);
