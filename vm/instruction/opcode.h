#pragma once
/* The bits of instruction words: one head word and 64-bit operands (docs/isa.md). Used by the
 * compiler's emitter, the assembler, the verifier and the interpreter. Pure: constant tables.
 *
 *   head     63            32 31          16 15     8 7      0
 *           | destination    | operand count | flags  | opcode |
 *   operand  63  62     56 55                                 0
 *           |last| kind   | value, sign-extended from bit 55   | */
#include <stdbool.h>
#include <stdint.h>

typedef enum Opcode {
#define OPCODE(number, name, mnemonic, destination, operands, flags, slot, handler, effect)        \
    OPCODE_##name = number,
#include "vm/instruction/opcodes.def"
#undef OPCODE
} Opcode;

enum {
    OPCODE_TABLE_SIZE = 256,
    INSTRUCTION_OPERANDS_MAX = 4096,
    OPCODE_COUNT = 0
#define OPCODE(number, name, mnemonic, destination, operands, flags, slot, handler, effect) +1
#include "vm/instruction/opcodes.def"
#undef OPCODE
};
#define REGISTER_NONE UINT32_MAX

typedef enum InstructionFlags {
    INSTRUCTION_ALLOC = 1,  /* InvokePacked: outs are destination registers */
    INSTRUCTION_HOST = 2,   /* InvokePacked, ListConcat: runs in slot 0 */
    INSTRUCTION_NO_DST = 4, /* Call, Invoke, InvokeClosure: the result is dropped */
    INSTRUCTION_SCALAR = 8, /* If: the values are ints or bools; a tensor fails (Relax) */
} InstructionFlags;

typedef enum OperandKind { /* Relax's codes, and ABSENT for optional inputs */
    OPERAND_REGISTER = 0,
    OPERAND_IMMEDIATE = 1,
    OPERAND_CONSTANT = 2,
    OPERAND_FUNCTION = 3,
    OPERAND_ABSENT = 4,
} OperandKind;

#define OPERAND_LAST_USE (UINT64_C(1) << 63)
#define OPERAND_VALUE_MAX ((INT64_C(1) << 55) - 1)
#define OPERAND_VALUE_MIN (-(INT64_C(1) << 55))

static inline uint64_t operand_make(OperandKind kind, int64_t value) {
    return (uint64_t)kind << 56 | ((uint64_t)value & UINT64_C(0x00ffffffffffffff));
}
static inline OperandKind operand_kind(uint64_t operand) {
    return (OperandKind)(operand >> 56 & 0x7f);
}
static inline int64_t operand_value(uint64_t operand) { return (int64_t)(operand << 8) >> 8; }
static inline bool operand_is_last_use(uint64_t operand) { return operand >> 63; }

static inline uint64_t head_make(
    Opcode opcode, uint32_t flags, uint32_t operand_count, uint32_t destination) {
    return (uint64_t)destination << 32 | (uint64_t)(operand_count & 0xffff) << 16 |
           (uint64_t)(flags & 0xff) << 8 | (uint64_t)opcode;
}
static inline uint8_t head_opcode(uint64_t head) { return (uint8_t)head; }
static inline uint32_t head_flags(uint64_t head) { return head >> 8 & 0xff; }
static inline uint32_t head_operand_count(uint64_t head) { return head >> 16 & 0xffff; }
static inline uint32_t head_destination(uint64_t head) { return (uint32_t)(head >> 32); }

typedef enum IntOpKind { /* IntOp's first operand; stored, never reused */
    INT_OP_ADD = 0,
    INT_OP_SUB = 1,
    INT_OP_MUL = 2,
    INT_OP_DIV = 3, /* truncates; x/0 and INT64_MIN/-1 fail */
    INT_OP_MOD = 4,
    INT_OP_MIN = 5,
    INT_OP_MAX = 6,
    INT_OP_EQ = 7,
    INT_OP_LT = 8,
    INT_OP_LE = 9,
    INT_OP_COUNT
} IntOpKind;
const char *int_op_name(IntOpKind kind);

/* The slot of the tensor that an instruction produces. */
typedef enum TensorSlot {
    TENSOR_NOWHERE = 0, /* the instruction produces no tensor */
    TENSOR_HOST,        /* in slot 0 */
    TENSOR_ANY,         /* unknown: out of an object or a packed function */
    TENSOR_FIRST,       /* in the slot of operand 0; in slot 1 if operand 0 is absent */
    TENSOR_NAMED,       /* in the slot of the operand with letter 's' */
    TENSOR_RUNS,        /* in the slot that the instruction runs in (HOST) */
    TENSOR_CALLEE,      /* in the slot of the result of the function in operand 0 */
    TENSOR_CLOSURE,     /* in an object, which may call the function in operand 0 with any
                         * arguments */
    TENSOR_OUTPUTS,     /* in the operator's outputs, which are operands */
} TensorSlot;

typedef struct OpcodeInfo {
    const char *mnemonic; /* NULL: no such opcode */
    const char *operands; /* signature, see opcodes.def */
    const char *effect;
    uint32_t flags; /* OpcodeFlags */
    TensorSlot slot;
} OpcodeInfo;

typedef enum OpcodeFlags {
    OPCODE_FLAG_WRITES = 1,
    OPCODE_FLAG_MAYBE = 2,
    OPCODE_FLAG_END = 4,
    OPCODE_FLAG_JUMP = 8,
    OPCODE_FLAG_CALL = 16,
    OPCODE_FLAG_KERNEL = 32,
} OpcodeFlags;

extern const OpcodeInfo opcode_infos[OPCODE_TABLE_SIZE];
/* The signature letter of operand i of an instruction with that head ('\0': one operand too many),
 * with '*' and 'c' resolved. output_count: value of the 'c' operand, 0 if the signature has
 * none. */
char opcode_operand_letter(uint64_t head, uint32_t index, uint32_t output_count);

/* The meaning of a signature letter (operand_letters.def). */
typedef struct OperandLetter {
    const char *meaning; /* NULL: no such letter */
    uint32_t kinds;      /* bit 1 << OperandKind for each kind that is allowed */
} OperandLetter;

enum { OPERAND_LETTERS_SIZE = 128 };
extern const OperandLetter operand_letters[OPERAND_LETTERS_SIZE];
