#pragma once
/* The interpreter's private form of a function: operands decoded, constants resolved to their place
 * in the residency, jumps resolved to targets. Never stored; pcs are the portable ones. Called by
 * execution.c and its neighbours; owned by the residency, so any thread may ask. */
#include "vm/residency/inline_cache.h"
#include "vm/instruction/opcode.h"
#include "vm/residency/residency_state.h"

typedef struct DecodedOperand {
    union {
        const Value *constant;      /* a constant's or immediate's value; NULL for registers */
        const PackedWeight *weight; /* when packed */
    };
    uint32_t index; /* register, function or primitive; a jump's target pc */
    bool last_use;
    bool packed; /* a constant of which the residency has only the packed form */
    bool absent;
} DecodedOperand;

typedef struct DecodedInstruction {
    const void *label; /* the address of the opcode's handler; NULL without computed goto */
    const DecodedOperand *operands;
    union {
        uint32_t destination;
        int32_t jump_otherwise; /* If: the distance where the values differ */
    };
    union {
        uint32_t site; /* InvokePacked: index of its inline cache in the function */
        int32_t jump;  /* Goto, If: the distance in instructions; for If where the values are equal
                        */
    };
    uint16_t operand_count;
    uint16_t output_count; /* InvokePacked */
    uint8_t opcode;
    uint8_t flags;
    bool last_uses; /* an operand is one */
} DecodedInstruction;
static_assert(sizeof(DecodedInstruction) == 32, "two instructions in a cache line");

typedef struct DecodedFunction {
    DecodedInstruction *instructions;
    DecodedOperand *operands;
    Value *immediates;
    uint32_t instruction_count;
    uint32_t register_count;
    uint32_t site_count;
} DecodedFunction;

typedef struct DecodedCode DecodedCode;
/* Borrows the residency, which owns the result. */
MUST_CHECK Error *decoded_code_create(const Residency *residency, DecodedCode **out);
void decoded_code_release(DecodedCode *code);
/* The decoded function; decoded on the first call. Borrowed. Threads: any. */
MUST_CHECK Error *decoded_code_get(
    DecodedCode *code, uint32_t function, const DecodedFunction **out);
/* Takes one inline cache for each site of a function: those of an earlier execution, with its
 * plans, or new ones. Threads: any. */
MUST_CHECK Error *decoded_code_take_sites(DecodedCode *code, uint32_t function, InlineCache **out);
/* Keeps the caches for the next execution, or frees them if some are kept already. NULL: does
 * nothing. */
void decoded_code_leave_sites(DecodedCode *code, uint32_t function, InlineCache *owned_sites);
