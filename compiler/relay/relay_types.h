#pragma once
/* Types of Relay's values, with variables that unification fills. Callers: relay_check.c and the
 * files around it. Threads: one at a time per program.
 *
 * Tensor types are gradual: an unknown element type, rank or dimension agrees with any other. What
 * is agreed on by a variable has only what all its types have in common. */
#include "base/text.h"
#include "compiler/relay/text/relay_tree.h"

typedef enum RelayTypeKind {
    RELAY_TYPE_VARIABLE,  /* to be found; instance once it is */
    RELAY_TYPE_PARAMETER, /* a function's or data type's own; equal to itself only */
    RELAY_TYPE_TENSOR,
    RELAY_TYPE_TUPLE,
    RELAY_TYPE_FUNCTION,  /* items: parameters, then the result */
    RELAY_TYPE_DATA,      /* of `data` with items as arguments */
    RELAY_TYPE_REFERENCE, /* items[0]: of the value that it refers to */
} RelayTypeKind;

struct RelayType {
    RelayTypeKind kind;
    const char *name; /* of a parameter */
    RelayType *instance;
    DType dtype; /* DTYPE_NONE: unknown */
    bool rank_known;
    uint32_t rank;
    int64_t dims[SHAPE_RANK_MAX]; /* -1: unknown */
    RelayData *data;
    uint32_t count;
    RelayType **items;
};

MUST_CHECK Error *relay_type_make(RelayProgram *program, RelayTypeKind kind, RelayType **out);
/* Makes a type of items, which are copied. */
MUST_CHECK Error *relay_type_of(RelayProgram *program, RelayTypeKind kind, RelayData *data,
    uint32_t count, RelayType *const *items, RelayType **out);
MUST_CHECK Error *relay_type_tensor(
    RelayProgram *program, DType dtype, uint32_t rank, const int64_t *dims, RelayType **out);

/* The type that a variable stands for, or the type itself. */
RelayType *relay_type_find(RelayType *type);

/* Replaces parameters by types. */
MUST_CHECK Error *relay_type_substitute(RelayProgram *program, RelayType *type, uint32_t count,
    RelayType *const *parameters, RelayType *const *by, RelayType **out);
/* The same with new variables for the parameters. */
MUST_CHECK Error *relay_type_instantiate(RelayProgram *program, RelayType *type, uint32_t count,
    RelayType *const *parameters, RelayType **out);

/* Makes two types equal, as far as they are known. *out_fit: false when they cannot be.
 * Errors: OUT_OF_MEMORY; INVALID types nested too deeply. */
MUST_CHECK Error *relay_type_unify(
    RelayProgram *program, RelayType *a, RelayType *b, bool *out_fit);

/* Writes a type as in a program, shortened where it is long. */
void relay_type_print(const RelayType *type, TextBuilder *out);
