#pragma once
/* Random programs of everything the IR can say, whose results must not depend on the passes. */
#include "compiler/ir/ir.h"

/* main(x: float32[2, 3], y: float32[n, 3], k: int64[]) with one to three results of [2, 3]; y has
 * two rows. */
MUST_CHECK Error *random_module_create(uint64_t seed, IrModule **out);
