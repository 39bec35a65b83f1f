#include "vm/code/device_strings.h"

#include "kernels/operator/operator_strings.h"
#include "vm/instruction/instruction.h"
#include "vm/objects/object.h"

/* True when a constant has strings in slot 1. A constant without readers counts, since it is placed
 * there, too. */
static bool in_constants(const Executable *executable) {
    for (uint32_t i = 0; i < executable->constant_count; i++) {
        const Constant *constant = &executable->constants[i];
        if (constant->slot == 1 && value_is(&constant->value, OBJECT_TENSOR) &&
            constant->value.tensor->dtype == DTYPE_STRING)
            return true;
    }
    return false;
}

static bool makes_strings(const Primitive *primitive) {
    return operator_strings(primitive->operator_info, primitive->attributes, 0) ==
           OPERATOR_STRINGS_ALWAYS;
}

static bool in_code(const Executable *executable, const Function *function) {
    for (uint32_t pc = 0; pc < function->instruction_count; pc++) {
        const Instruction instruction =
            instruction_read(function_instruction(executable, function, pc));
        if (instruction.opcode == OPCODE_INVOKE_PACKED && !(instruction.flags & INSTRUCTION_HOST) &&
            makes_strings(&executable->primitives[operand_value(instruction.operands[0])]))
            return true;
    }
    return false;
}

bool device_strings_find(const Executable *executable) {
    bool made = false;
    if (in_constants(executable)) return true;
    for (uint32_t i = 0; i < executable->primitive_count; i++)
        made = made || makes_strings(&executable->primitives[i]);
    for (uint32_t i = 0; made && i < executable->function_count; i++)
        if (in_code(executable, &executable->functions[i])) return true;
    return false;
}
