#pragma once
/* The steps that expansions of fused products share. Called by the files expand_*.c when a device
 * plans. Pure: no state. */
#include "kernels/shape_rules/expansion_builder.h"

/* Adds the inputs `bias` and `residual`, if the request has them, then its activation. */
MUST_CHECK Error *expand_fused_epilogue(
    ExpansionBuilder *builder, uint32_t bias, uint32_t residual, uint32_t *inout_value);
