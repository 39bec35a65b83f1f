#pragma once
/* Shape inference: the outputs of a call from its inputs, by the operator's shape rule.
 *
 * The compiler and the plan table call it before a device plans the call. Inference and expansions
 * are one recursion: a rule may build the expansion of its operator, and an expansion infers each
 * operator that it consists of. A pure function; any thread. */
#include "kernels/operator/plan.h"

/* Checks arity, presence and dtypes of values, then calls the shape rule. Errors: INVALID "MatMul:
 * …". */
MUST_CHECK Error *operator_infer(PlanRequest *request);
