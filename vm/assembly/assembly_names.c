#include "vm/assembly/assembly_names.h"

#include <string.h>

#include "kernels/tensor/dtype.h"
#include "vm/objects/closure.h"

static char letter_of(Opcode opcode, uint32_t operand) {
    return opcode_operand_letter(
        head_make(opcode, 0, INSTRUCTION_OPERANDS_MAX, REGISTER_NONE), operand, 0);
}

static const char *name_of(char letter, int64_t value) {
    switch (letter) {
    case 'q':
        return value >= 0 && value < INT_OP_COUNT ? int_op_name((IntOpKind)value) : NULL;
    case 'd':
    case 'h':
        if (value == DTYPE_NONE) return "none";
        return value > 0 && value <= UINT32_MAX && dtype_is_known((uint32_t)value)
                   ? dtype_name((DType)value)
                   : NULL;
    case 'w':
        if (value == CLOSURE_FIRST) return "first";
        return value == CLOSURE_LAST ? "last" : NULL;
    default:
        return NULL;
    }
}

const char *assembly_immediate_name(Opcode opcode, uint32_t operand, int64_t value) {
    return name_of(letter_of(opcode, operand), value);
}

bool assembly_find_immediate(
    Opcode opcode, uint32_t operand, const char *word, int64_t *out_value) {
    const char letter = letter_of(opcode, operand);
    /* every named immediate is a small number */
    for (int64_t value = 0; value < 64; value++) {
        const char *name = name_of(letter, value);
        if (!name || strcmp(name, word) != 0) continue;
        *out_value = value;
        return true;
    }
    return false;
}
