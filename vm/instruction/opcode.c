#include "vm/instruction/opcode.h"

#include <stddef.h>
#include <string.h>

enum {
    WRITES = OPCODE_FLAG_WRITES,
    MAYBE = OPCODE_FLAG_MAYBE,
    NONE = 0,
    PLAIN = 0,
    END = OPCODE_FLAG_END,
    JUMP = OPCODE_FLAG_JUMP,
    CALL = OPCODE_FLAG_CALL,
    KERNEL = OPCODE_FLAG_KERNEL,
    REGISTER = 1u << OPERAND_REGISTER,
    IMMEDIATE = 1u << OPERAND_IMMEDIATE,
    CONSTANT = 1u << OPERAND_CONSTANT,
    FUNCTION = 1u << OPERAND_FUNCTION,
    ABSENT = 1u << OPERAND_ABSENT,
};

const OpcodeInfo opcode_infos[OPCODE_TABLE_SIZE] = {
#define OPCODE(number, name, mnemonic, destination, operands, flags, slot, handler, effect)        \
    [number] = {                                                                                   \
        mnemonic, operands, effect, (uint32_t)(destination) | (uint32_t)(flags), TENSOR_##slot},
#include "vm/instruction/opcodes.def"
#undef OPCODE
};

const OperandLetter operand_letters[OPERAND_LETTERS_SIZE] = {
#define OPERAND_LETTER(letter, kinds, meaning) [letter] = {meaning, kinds},
#include "vm/instruction/operand_letters.def"
#undef OPERAND_LETTER
};

const char *int_op_name(IntOpKind kind) {
    static const char *const names[INT_OP_COUNT] = {
        "add", "sub", "mul", "div", "mod", "min", "max", "eq", "lt", "le"};
    return (uint32_t)kind < INT_OP_COUNT ? names[kind] : NULL;
}

/* Signatures are letters; a star repeats the letter before it. A letter after a starred one ('o' in
 * "pcn*o*") begins at the instruction's last output_count operands. */
char opcode_operand_letter(uint64_t head, uint32_t index, uint32_t output_count) {
    const char *signature = opcode_infos[head_opcode(head)].operands;
    uint32_t count = head_operand_count(head);
    if (!signature || index >= count) return '\0';
    const char *star = strchr(signature, '*');
    uint32_t fixed = star ? (uint32_t)(star - signature) - 1 : (uint32_t)strlen(signature);
    if (index < fixed) return signature[index];
    if (!star) return '\0';
    bool has_outputs = star[1] != '\0';
    if (has_outputs && output_count <= count - fixed && index >= count - output_count)
        return star[1];
    return star[-1];
}
