#pragma once
/* The keys of encoders and mappers, sorted at import, so that Lookup finds them by halving. Called
 * for the call SortKeys of compositions. Threads: one at a time per import. */
#include "compiler/frontend/base/onnx_internal.h"

/* keys: a constant vector of floats, integers or texts. out_sorted: its different elements in
 * ascending order, NaN last; out_order: where each stands first in `keys` (int64). Before
 * version 4 of ai.onnx.ml a NaN equals no key, and is left out. Errors:
 * UNSUPPORTED keys that are not constant, of another element type. */
MUST_CHECK Error *onnx_sort_keys(
    const OnnxNode *node, IrVariable *keys, IrVariable **out_sorted, IrVariable **out_order);
