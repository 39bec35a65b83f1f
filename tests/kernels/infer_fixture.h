#pragma once
/* Shape rules as text in, text out. */
#include "kernels/operator/plan.h"
#include "tests/support/test_support.h"

enum { INFER_INPUTS_MAX = 16 };

/* A request made from words: "float32[2,3] int64[2]=1,2 -" (the last absent). */
typedef struct InferFixture {
    PlanRequest request;
    Attributes *attributes;
    TensorSpec specs[INFER_INPUTS_MAX];
    const void *values[INFER_INPUTS_MAX];
    uint64_t memory[INFER_INPUTS_MAX][16];
} InferFixture;

/* attributes: "{axis=1}" or NULL. Nothing is inferred. */
void infer_fixture_init(InferFixture *fixture, const char *operator_name, const char *attributes,
    const char *inputs, uint32_t output_count);
void infer_fixture_deinit(InferFixture *fixture);

typedef struct InferRow {
    const char *operator_name;
    const char *attributes; /* NULL: {} */
    const char *inputs;
    /* "float32[2, 3] int64[2]": as many outputs as words; or "! text": fails INVALID with a message
     * that contains text; "? text": fails UNSUPPORTED. */
    const char *expected;
} InferRow;

/* Checks each row; names the first that differs. */
void infer_fixture_check(const InferRow *rows, size_t count);
