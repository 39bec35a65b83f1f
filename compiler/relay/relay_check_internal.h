#pragma once
/* The parts that the files of the type check share. Threads: one at a time per check. */
#include "compiler/relay/relay_operators.h"
#include "compiler/relay/relay_types.h"

/* A type parameter in scope. */
typedef struct RelayTypeName {
    const char *name;
    RelayType *type;
} RelayTypeName;

/* What a name meant before a variable took it. */
typedef struct RelayShadow {
    RelayLocal *local, *before;
} RelayShadow;

typedef struct RelayCheck {
    RelayProgram *program;
    NameMap *locals; /* RelayLocal in scope, by name */
    RelayShadow *shadows;
    size_t shadow_count, shadow_capacity;
    RelayTypeName *type_names;
    size_t type_name_count, type_name_capacity;
    RelayExpr **waiting; /* calls of operators whose arguments' types are not known yet */
    size_t waiting_count, waiting_capacity;
    RelayScratch *scratch;
} RelayCheck;

/* relay_check_names.c */
MUST_CHECK Error *relay_scope_push(RelayCheck *check, RelayLocal *local);
/* Drops the variables pushed since the count was `to`. */
MUST_CHECK Error *relay_scope_pop(RelayCheck *check, size_t to);
RelayLocal *relay_scope_find(const RelayCheck *check, const char *name);
/* Makes the types of type parameters and puts them into scope. */
MUST_CHECK Error *relay_push_type_names(RelayCheck *check, RelayPlace place, uint32_t count,
    const char *const *names, RelayType ***out_types);
/* NULL text: a new variable. */
MUST_CHECK Error *relay_resolve_type(RelayCheck *check, const RelayTypeText *text, RelayType **out);
/* Resolves the fields of a data type at its first use. */
MUST_CHECK Error *relay_want_data(RelayCheck *check, RelayData *data);

/* Considers the names of all constructors. */
void relay_constructor_nearest(const RelayCheck *check, Nearest *nearest);

/* relay_check.c */
/* Gives the function its type at its first use. */
MUST_CHECK Error *relay_want_global(RelayCheck *check, RelayGlobal *global);

/* relay_check_expr.c */
MUST_CHECK Error *relay_check_expr(RelayCheck *check, RelayExpr *expr);
/* Gives a function its type from what is written. */
MUST_CHECK Error *relay_declare_function(RelayCheck *check, RelayExpr *function);
/* Checks a declared function. */
MUST_CHECK Error *relay_check_function(RelayCheck *check, RelayExpr *function);
/* Unifies what is there with what is wanted. what: "argument 2 of @f". */
MUST_CHECK Error *relay_check_fits(
    RelayCheck *check, RelayPlace place, RelayType *there, RelayType *wanted, const char *what);

/* relay_check_calls.c */
MUST_CHECK Error *relay_check_call(RelayCheck *check, RelayExpr *call);
/* An operator or constructor as a value: becomes a function around a call. */
MUST_CHECK Error *relay_check_name(RelayCheck *check, RelayExpr *expr);
/* Asks the operators that wait. all: a type that is still unknown is an error. */
MUST_CHECK Error *relay_check_waiting(RelayCheck *check, bool all);

/* relay_check_match.c */
MUST_CHECK Error *relay_check_match(RelayCheck *check, RelayExpr *match);
