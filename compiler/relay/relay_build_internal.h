#pragma once
/* What the builders of Relay's operators share. A builder reads a call's attributes, makes bindings
 * and gives results. Threads: one at a time per module.
 *
 * A builder is run several times: to ask for types, and to build. It may depend on what the types
 * say, as long as unknown ranks are refused by relay_rank. */
#include "compiler/ir/constants.h"
#include "compiler/ir/ir_build.h"
#include "compiler/relay/relay_types.h"

enum { RELAY_RESULTS_MAX = 64 };

typedef struct RelayOperatorCall RelayOperatorCall;
typedef Error *RelayBuild(RelayOperatorCall *call);

typedef struct RelayOperator {
    const char *name;
    /* "2", "1-2": how many tensors; "t": one tuple of tensors */
    const char *arguments;
    const char *attributes; /* the names that a call may give, with spaces between */
    RelayBuild *build;
    const char *target; /* an operator of operators.def, for builders that serve several rows */
} RelayOperator;

/* A call that is being built. types has what is known of the inputs: RELAY_TYPE_TENSOR each. */
struct RelayOperatorCall {
    const RelayOperator *row;
    const RelayExpr *expr;
    IrCursor at;
    uint32_t count;
    IrVariable **inputs;
    const RelayType **types;
    bool is_tuple; /* the result is a tuple, even of one */
    uint32_t result_count;
    IrVariable *results[RELAY_RESULTS_MAX];
};

/* The IR's type of a value: dimensions are left to shape inference. */
void relay_ir_type(const RelayType *type, IrType *out);

/* relay_shapes.c: sets the types of a block's bindings by the operators' shape rules.
 * *out_known: false if a rule needs a value that is not constant, or the type of an input.
 * Errors: FAILED what a rule refuses. */
MUST_CHECK Error *relay_shapes_infer(IrBlock *block, bool *out_known);
/* The same from one binding (NULL: none) to the end of its block. */
MUST_CHECK Error *relay_shapes_infer_from(IrBinding *first, bool *out_known);

/* relay_attributes.c: attributes by name; without one, the default. Errors: INVALID its kind. */
const RelayValue *relay_attribute(const RelayOperatorCall *call, const char *name);
MUST_CHECK Error *relay_get_int(
    const RelayOperatorCall *call, const char *name, int64_t otherwise, int64_t *out);
MUST_CHECK Error *relay_get_bool(
    const RelayOperatorCall *call, const char *name, bool otherwise, bool *out);
MUST_CHECK Error *relay_get_float(
    const RelayOperatorCall *call, const char *name, double otherwise, double *out);
MUST_CHECK Error *relay_get_text(
    const RelayOperatorCall *call, const char *name, const char *otherwise, const char **out);
MUST_CHECK Error *relay_get_dtype(
    const RelayOperatorCall *call, const char *name, DType otherwise, DType *out);
/* A list, or a number as a list of one. Absent: *out_count is UINT32_MAX. */
enum { RELAY_INTS_MAX = 64 };
MUST_CHECK Error *relay_get_ints(const RelayOperatorCall *call, const char *name,
    int64_t out[RELAY_INTS_MAX], uint32_t *out_count);
#define RELAY_ABSENT UINT32_MAX
/* An axis of a tensor of that rank, from 0 on. */
MUST_CHECK Error *relay_get_axis(const RelayOperatorCall *call, const char *name, uint32_t rank,
    int64_t otherwise, uint32_t *out);

/* relay_build.c */
/* The rank of an input. Errors: INVALID it is not known. */
MUST_CHECK Error *relay_rank(const RelayOperatorCall *call, uint32_t index, uint32_t *out);
MUST_CHECK Error *relay_dtype(const RelayOperatorCall *call, uint32_t index, DType *out);
/* Gives the only result. */
void relay_give(RelayOperatorCall *call, IrVariable *result);
/* Refuses an out_dtype other than the first input's. */
MUST_CHECK Error *relay_same_dtype(const RelayOperatorCall *call);

#define RELAY_OPERATOR(name, arguments, attributes, builder, target)                               \
    MUST_CHECK Error *relay_build_##builder(RelayOperatorCall *call);
#include "compiler/relay/relay_operator_rows.def"
#undef RELAY_OPERATOR
