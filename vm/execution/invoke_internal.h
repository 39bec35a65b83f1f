#pragma once
/* One InvokePacked on its way: inputs gathered, plan found, outputs being made. Lives on the C
 * stack of one instruction, never longer. */
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
    uint8_t slot; /* where it runs */
    uint32_t input_count, output_count;
    uint64_t workspace;
    CallInput inputs[PLAN_INPUTS_MAX];
    uint64_t input_addresses[PLAN_INPUTS_MAX];
    uint64_t output_addresses[PLAN_OUTPUTS_MAX];
    Shape shapes[PLAN_OUTPUTS_MAX];    /* of the outputs, measured where only the data decides */
    uint64_t bytes[PLAN_OUTPUTS_MAX];  /* of outputs whose elements have no fixed size */
    Tensor *outputs[PLAN_OUTPUTS_MAX]; /* owned (ALLOC form) or borrowed; NULL: written in place */
    uint32_t reused[PLAN_OUTPUTS_MAX]; /* input that the output is written over, or INPUT_NONE */
} Invocation;

/* Workspace, and the shapes that only the data decides. *out_step STEP_STOP: memory is needed,
 * nothing is held. */
MUST_CHECK Error *invocation_prepare(Invocation *invocation, Step *out_step);
/* Launches; frees the workspace. whole: nothing of what the kernel reads is written over, so that
 * it may be left half done. Errors: ABANDONED it was; nothing has happened then. */
MUST_CHECK Error *invocation_launch(Invocation *invocation, bool whole);
/* Gives up what invocation_prepare took. */
void invocation_drop(Invocation *invocation);
/* Counters, check_finite. */
MUST_CHECK Error *invocation_complete(Invocation *invocation);
/* Takes the inputs of last use out of their registers and puts the outputs into theirs. */
void invocation_store_outputs(Invocation *invocation);
/* invoke_append.c: whether the call is an Append whose result may grow in place later, and that
 * call. */
bool invocation_is_append(const Invocation *invocation);
MUST_CHECK Error *invocation_run_append(Invocation *invocation, Step *out_step);
/* invoke_destinations.c: the form without ALLOC. */
MUST_CHECK Error *invocation_run_destinations(Invocation *invocation, Step *out_step);

static inline const DecodedOperand *invocation_output_operand(
    const Invocation *invocation, uint32_t index) {
    return &invocation->instruction->operands[2 + invocation->input_count + index];
}
