#pragma once
/* Calls as nobody means them: a row of cases.def with other element types, shapes, values and
 * attributes, and with inputs missing. */
#include "tests/conformance/conformance.h"

/* One such call, the same for one seed, on the device and on cpu. inout_seed moves on. out_done:
 * it gave a result, not an Error. Errors: the two ended differently, or as a bug does. */
MUST_CHECK Error *conformance_random_call(const ConformanceDevice *on, const ConformanceCase *row,
    DType dtype, uint64_t *inout_seed, bool *out_done);
