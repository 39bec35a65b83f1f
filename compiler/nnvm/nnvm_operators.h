#pragma once
/* The operators of NNVM and MXNet by name. Caller: nnvm_import.c. Pure: a constant table. */
#include "compiler/nnvm/nnvm_build_internal.h"

/* Errors: UNSUPPORTED no such operator. */
MUST_CHECK Error *nnvm_operator_find(const char *name, const NnvmOperator **out);
/* The letter of an input: 'd', 'w', 'l', or 0 beyond the last. */
char nnvm_operator_input(const NnvmOperator *row, uint32_t index);
/* Checks the number of inputs and the names of the attributes. Names that begin with "__" and the
 * names of NNVM's own bookkeeping are accepted everywhere. */
MUST_CHECK Error *nnvm_operator_check(const NnvmOperator *row, const NnvmNode *node);
