#pragma once
/* Shape inference of an operator's small values: whether conclusions from them hold for all sizes.
 * Caller: infer_operator.c. Threads: one at a time per context. */
#include "compiler/passes/probe.h"

/* Returns whether the values that an operator computes in the worlds may say nothing about other
 * sizes (probe.h: tainted). All inputs have values. */
bool infer_values_are_tainted(const ProbeContext *context, const IrBinding *binding);

/* Reads an integer of a probe's value in one world. False for other element types. */
bool infer_values_read(const Probe *probe, uint32_t world, uint64_t index, int64_t *out);
/* Returns whether a value has integers, each of them the same in all worlds or a sum of sizes, so
 * that numbers that vary are never negative. */
bool infer_values_are_sizes(const ProbeContext *context, const Probe *probe);
