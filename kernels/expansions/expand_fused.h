#pragma once
/* What fused products share when they are written as plain operators. */
#include "kernels/shape_rules/expansion_builder.h"

/* Adds inputs `bias` and `residual`, where the request has them, then its activation. */
MUST_CHECK Error *expand_fused_epilogue(
    ExpansionBuilder *builder, uint32_t bias, uint32_t residual, uint32_t *inout_value);
