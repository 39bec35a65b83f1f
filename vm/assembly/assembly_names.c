#include "vm/assembly/assembly_names.h"

#include <string.h>

#include "kernels/tensor/dtype.h"
#include "vm/objects/closure.h"

typedef enum NameKind { NAME_NONE, NAME_INT_OP, NAME_DTYPE, NAME_SIDE } NameKind;

static const struct {
    Opcode opcode;
    uint32_t operand;
    NameKind kind;
} named_immediates[] = {
    {OPCODE_INT_OP, 0, NAME_INT_OP},
    {OPCODE_ALLOC_TENSOR, 2, NAME_DTYPE},
    {OPCODE_ALLOC_TENSOR_REG, 2, NAME_DTYPE},
    {OPCODE_ALLOC_STORAGE, 3, NAME_DTYPE},
    {OPCODE_MAKE_TENSOR0, 1, NAME_DTYPE},
    {OPCODE_ALLOC_CLOSURE, 1, NAME_SIDE},
};

static NameKind kind_of(Opcode opcode, uint32_t operand) {
    for (uint32_t i = 0; i < sizeof named_immediates / sizeof named_immediates[0]; i++)
        if (named_immediates[i].opcode == opcode && named_immediates[i].operand == operand)
            return named_immediates[i].kind;
    return NAME_NONE;
}

const char *assembly_immediate_name(Opcode opcode, uint32_t operand, int64_t value) {
    switch (kind_of(opcode, operand)) {
    case NAME_NONE:
        return NULL;
    case NAME_INT_OP:
        return value >= 0 && value < INT_OP_COUNT ? int_op_name((IntOpKind)value) : NULL;
    case NAME_DTYPE:
        if (value == DTYPE_NONE) return "none";
        return value > 0 && value <= UINT32_MAX && dtype_is_known((uint32_t)value)
                   ? dtype_name((DType)value)
                   : NULL;
    case NAME_SIDE:
        if (value == CLOSURE_FIRST) return "first";
        return value == CLOSURE_LAST ? "last" : NULL;
    }
    return NULL;
}

bool assembly_find_immediate(
    Opcode opcode, uint32_t operand, const char *word, int64_t *out_value) {
    if (kind_of(opcode, operand) == NAME_NONE) return false;
    /* every named immediate is a small number */
    for (int64_t value = 0; value < 64; value++) {
        const char *name = assembly_immediate_name(opcode, operand, value);
        if (!name || strcmp(name, word) != 0) continue;
        *out_value = value;
        return true;
    }
    return false;
}
