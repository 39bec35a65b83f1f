#pragma once
/* One InvokePacked while it executes: inputs gathered, plan found, outputs being made. Shared by
 * the files invoke_*.c. Lives on the C stack of one instruction, never longer, on the thread of the
 * execution. */
#include "vm/execution/instructions.h"

#define INPUT_NONE UINT32_MAX

typedef struct Invocation {
    Execution *execution;
    const DecodedInstruction *instruction;
    Value *registers;
    const OperatorInfo *info;
    const Plan *plan; /* borrowed from the site's cache */
    const InlineCache *cache;
    MemoryPool *pool;
    uint8_t slot; /* the slot that the call runs in */
    uint32_t input_count, output_count;
    uint64_t workspace;
    CallInput inputs[PLAN_INPUTS_MAX];
    uint64_t input_addresses[PLAN_INPUTS_MAX];
    uint64_t output_addresses[PLAN_OUTPUTS_MAX];
    Shape shapes[PLAN_OUTPUTS_MAX];    /* of the outputs, measured if they depend on the data */
    uint64_t bytes[PLAN_OUTPUTS_MAX];  /* of outputs whose elements have no fixed size */
    Tensor *outputs[PLAN_OUTPUTS_MAX]; /* owned (ALLOC form) or borrowed; NULL: written in place */
    uint32_t reused[PLAN_OUTPUTS_MAX]; /* input that the output is written over, or INPUT_NONE */
} Invocation;

/* Allocates the workspace, and measures shapes that depend on the data. *out_step STEP_STOP: memory
 * is needed, and nothing is held. */
MUST_CHECK Error *invocation_prepare(Invocation *invocation, Step *out_step);
/* Launches the kernel and frees the workspace. whole: the kernel overwrites none of its inputs, so
 * a started kernel may be abandoned. Errors: ABANDONED the kernel was abandoned; the instruction
 * has had no effect. */
MUST_CHECK Error *invocation_launch(Invocation *invocation, bool whole);
/* Frees everything that invocation_prepare allocated. */
void invocation_drop(Invocation *invocation);
/* Updates counters and applies check_finite. */
MUST_CHECK Error *invocation_complete(Invocation *invocation);
/* Takes the inputs of last use out of their registers and stores the outputs in their registers. */
void invocation_store_outputs(Invocation *invocation);
/* invoke_append.c: whether the call is an Append whose result may grow in place later, and the
 * execution of such a call. */
bool invocation_is_append(const Invocation *invocation);
MUST_CHECK Error *invocation_run_append(Invocation *invocation, Step *out_step);
/* invoke_destinations.c: the form without ALLOC. */
MUST_CHECK Error *invocation_run_destinations(Invocation *invocation, Step *out_step);

static inline const DecodedOperand *invocation_output_operand(
    const Invocation *invocation, uint32_t index) {
    return &invocation->instruction->operands[2 + invocation->input_count + index];
}
