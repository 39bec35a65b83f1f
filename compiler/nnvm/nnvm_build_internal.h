#pragma once
/* What the builders of NNVM's and MXNet's operators share. A builder reads a node's attributes,
 * makes bindings and gives results. Threads: one at a time per module. */
#include "compiler/ir/constants.h"
#include "compiler/ir/ir_build.h"
#include "compiler/nnvm/nnvm_graph.h"

enum { NNVM_RESULTS_MAX = 64, NNVM_INTS_MAX = 64 };

typedef struct NnvmCall NnvmCall;
typedef Error *NnvmBuild(NnvmCall *call);

typedef struct NnvmOperator {
    const char *name;
    /* One letter an input: d data, w a weight (of the params, where there are any), l a label that
     * only training needs. Behind ?: may be absent. * at the end: the input before, any number. */
    const char *inputs;
    const char *attributes; /* the names that a node may have, with spaces between */
    NnvmBuild *build;
    const char *target; /* what builders that serve several rows read */
} NnvmOperator;

/* A node that is being built. A result of a label is NULL. */
struct NnvmCall {
    const NnvmOperator *row;
    const NnvmNode *node;
    IrCursor at;
    uint32_t count; /* of inputs */
    IrVariable **inputs;
    uint32_t result_count;
    IrVariable *results[NNVM_RESULTS_MAX];
};

/* nnvm_attributes.c: attributes by name, which are texts. name: "kernel|kernel_size" is the first
 * of several that the node has. Without one, the default. Errors: INVALID the attribute and its
 * text. */
const char *nnvm_text(const NnvmCall *call, const char *name, const char *otherwise);
MUST_CHECK Error *nnvm_get_int(
    const NnvmCall *call, const char *name, int64_t otherwise, int64_t *out);
MUST_CHECK Error *nnvm_get_bool(const NnvmCall *call, const char *name, bool otherwise, bool *out);
MUST_CHECK Error *nnvm_get_float(
    const NnvmCall *call, const char *name, double otherwise, double *out);
/* "(1, 2)", "[1, 2]", "1", "((0, 0), (1, 1))" as numbers in a row. Absent or "None": *out_count is
 * NNVM_ABSENT. A None within a list is NNVM_NONE. */
#define NNVM_ABSENT UINT32_MAX
#define NNVM_NONE INT64_MIN
MUST_CHECK Error *nnvm_get_ints(
    const NnvmCall *call, const char *name, int64_t out[NNVM_INTS_MAX], uint32_t *out_count);
/* The same of a text. */
MUST_CHECK Error *nnvm_parse_ints(
    const char *text, int64_t out[NNVM_INTS_MAX], uint32_t *out_count);
/* Refuses an attribute with another text than one that is wanted. */
MUST_CHECK Error *nnvm_only(const NnvmCall *call, const char *name, const char *wanted);

/* nnvm_build.c */
/* The rank of an input. Errors: INVALID it is not known. */
MUST_CHECK Error *nnvm_rank(const NnvmCall *call, uint32_t index, uint32_t *out);
/* The element type of an input; float32 where it is not known. */
DType nnvm_dtype(const NnvmCall *call, uint32_t index);
/* Makes one with the attribute axis. */
MUST_CHECK Error *nnvm_make_along(
    NnvmCall *call, const char *name, int64_t axis, IrVariable *a, IrVariable *b, IrVariable **out);
void nnvm_give(NnvmCall *call, IrVariable *result);
/* Refuses a weight whose dimension is not what an attribute says. */
MUST_CHECK Error *nnvm_check_units(
    const NnvmCall *call, const char *name, uint32_t input, uint32_t dimension);

#define NNVM_OPERATOR(name, inputs, attributes, builder, target)                                   \
    MUST_CHECK Error *nnvm_build_##builder(NnvmCall *call);
#include "compiler/nnvm/nnvm_operator_rows.def"
#undef NNVM_OPERATOR
