#include "vm/code/verifier.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "base/name_map.h"
#include "kernels/operator/plan.h"
#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/code/device_strings.h"
#include "vm/instruction/instruction.h"
#include "vm/code/liveness.h"

enum { ALIGNMENT_MAX = 4096, REGISTERS_UNNAMED_MAX = 256 };

/* One instruction being checked. */
typedef struct Check {
    const Executable *executable;
    const Function *function;
    uint32_t pc;
    Instruction instruction;
    uint32_t *written; /* per register: pc + 1 of the last instruction that wrote it as an output */
} Check;

static Error *check_range(int64_t value, int64_t low, int64_t high, const char *what) {
    if (value < low || value > high)
        FAIL(CORRUPT, "%s %" PRIi64 " is not in %" PRIi64 "...%" PRIi64, what, value, low, high);
    return NULL;
}

static Error *check_register(const Check *check, uint64_t operand) {
    int64_t index = operand_value(operand);
    if (index < 0 || index >= check->function->register_count)
        FAIL(CORRUPT, "register r%" PRIi64 " of %u", index, check->function->register_count);
    return NULL;
}

static Error *check_constant(const Check *check, uint64_t operand, bool object) {
    int64_t index = operand_value(operand);
    if (index < 0 || index >= check->executable->constant_count)
        FAIL(CORRUPT, "constant %" PRIi64 " of %u", index, check->executable->constant_count);
    if (object && check->executable->constants[index].value.tag != VALUE_OBJECT)
        FAIL(CORRUPT, "constant %" PRIi64 " is not an object", index);
    return NULL;
}

static Error *check_immediate(const Check *check, int64_t value, char letter) {
    if (letter == 'p')
        return check_range(value, 0, (int64_t)check->executable->primitive_count - 1, "primitive");
    if (letter == 'j' &&
        (value < -(int64_t)check->pc ||
            value >= (int64_t)check->function->instruction_count - (int64_t)check->pc))
        FAIL(CORRUPT, "jump to %" PRIi64 " of %u", (int64_t)check->pc + value,
            check->function->instruction_count);
    return NULL;
}

static Error *check_operand(const Check *check, uint32_t index) {
    const Instruction *instruction = &check->instruction;
    uint64_t operand = instruction->operands[index];
    char letter = opcode_operand_letter(instruction->head, index, instruction->output_count);
    OperandKind kind = operand_kind(operand);
    if (kind > OPERAND_ABSENT || !(operand_letters[(uint8_t)letter].kinds >> kind & 1))
        FAIL(CORRUPT, "operand %u is of the wrong kind", index);
    bool written = index >= instruction_first_written(instruction);
    if (operand_is_last_use(operand) && (kind != OPERAND_REGISTER || written))
        FAIL(CORRUPT, "operand %u cannot be a last use", index);
    switch (kind) {
    case OPERAND_REGISTER:
        return check_register(check, operand);
    case OPERAND_IMMEDIATE:
        return check_immediate(check, operand_value(operand), letter);
    case OPERAND_CONSTANT:
        return check_constant(check, operand, strchr("tTn", letter));
    case OPERAND_FUNCTION:
        return check_range(
            operand_value(operand), 0, (int64_t)check->executable->function_count - 1, "function");
    case OPERAND_ABSENT:
        return check_range(operand_value(operand), 0, 0, "absent operand's value");
    }
    return NULL;
}

/* Operand count against the signature: fixed letters, then any number of the starred one. */
static Error *check_count(const Instruction *instruction) {
    const char *signature = opcode_infos[instruction->opcode].operands;
    const char *star = strchr(signature, '*');
    uint32_t fixed = star ? (uint32_t)(star - signature) - 1 : (uint32_t)strlen(signature);
    if (instruction->operand_count < fixed || (!star && instruction->operand_count > fixed))
        FAIL(CORRUPT, "%u operands where %u are due", instruction->operand_count, fixed);
    if (instruction->operand_count > INSTRUCTION_OPERANDS_MAX)
        FAIL(CORRUPT, "%u operands; there may be %d", instruction->operand_count,
            INSTRUCTION_OPERANDS_MAX);
    return NULL;
}

static Error *check_head(const Check *check) {
    const Instruction *instruction = &check->instruction;
    const OpcodeInfo *info = &opcode_infos[instruction->opcode];
    uint32_t allowed = 0;
    if (info->flags & OPCODE_FLAG_MAYBE) allowed |= INSTRUCTION_NO_DST;
    if (info->flags & OPCODE_FLAG_KERNEL) allowed |= INSTRUCTION_HOST;
    if (instruction->opcode == OPCODE_INVOKE_PACKED) allowed |= INSTRUCTION_ALLOC;
    if (instruction->opcode == OPCODE_IF) allowed |= INSTRUCTION_SCALAR;
    if (instruction->flags & ~allowed) FAIL(CORRUPT, "flags %#x", instruction->flags);
    uint32_t destination = head_destination(instruction->head);
    if (!instruction_has_destination(instruction)) {
        if (destination != REGISTER_NONE)
            FAIL(CORRUPT, "a destination, r%u, that is not written", destination);
    } else if (destination >= check->function->register_count) {
        FAIL(CORRUPT, "register r%u of %u", destination, check->function->register_count);
    }
    return NULL;
}

static Error *check_dtype(int64_t value) {
    if (value < 0 || value > UINT32_MAX || !dtype_is_known((uint32_t)value) ||
        dtype_bits((DType)value) == 0)
        FAIL(CORRUPT, "element type %" PRIi64, value);
    return NULL;
}

static Error *check_packed_outputs(const Check *check) {
    const Instruction *instruction = &check->instruction;
    for (uint32_t i = instruction->operand_count - instruction->output_count;
         i < instruction->operand_count; i++) {
        uint64_t index = (uint64_t)operand_value(instruction->operands[i]);
        if (check->written[index] == check->pc + 1)
            FAIL(CORRUPT, "r%" PRIu64 " is two outputs", index);
        check->written[index] = check->pc + 1;
    }
    return NULL;
}

static Error *check_invoke_packed(const Check *check) {
    const Instruction *instruction = &check->instruction;
    const OperatorInfo *info =
        check->executable->primitives[operand_value(instruction->operands[0])].operator_info;
    uint32_t output_count = instruction->output_count;
    uint32_t input_count = instruction->operand_count - 2 - output_count;
    if (input_count < info->inputs_min || input_count > info->inputs_max ||
        input_count > PLAN_INPUTS_MAX)
        FAIL(CORRUPT, "%s with %u inputs", info->name, input_count);
    if (output_count < info->outputs_min || output_count > info->outputs_max ||
        output_count > PLAN_OUTPUTS_MAX)
        FAIL(CORRUPT, "%s with %u outputs", info->name, output_count);
    for (uint32_t i = 0; i < input_count; i++) {
        uint64_t operand = instruction->operands[2 + i];
        OperandKind kind = operand_kind(operand);
        if (kind == OPERAND_ABSENT && i < info->inputs_min)
            FAIL(CORRUPT, "%s without input %u", info->name, i);
        if (kind == OPERAND_CONSTANT &&
            !value_is(&check->executable->constants[operand_value(operand)].value, OBJECT_TENSOR))
            FAIL(CORRUPT, "%s: input %u is a constant that is not a tensor", info->name, i);
    }
    return check_packed_outputs(check);
}

/* Checks calls of VM functions; the argument count of a packed function is known when the function
 * is found. */
static Error *check_call(const Check *check, bool packed_too) {
    const Instruction *instruction = &check->instruction;
    const Function *callee = &check->executable->functions[operand_value(instruction->operands[0])];
    uint32_t count = instruction->operand_count - 1;
    if (callee->kind == FUNCTION_PACKED) {
        if (!packed_too) FAIL(CORRUPT, "%s is a packed function: use Call", callee->name);
        return NULL;
    }
    if (count != callee->parameter_count)
        FAIL(
            CORRUPT, "%s takes %u arguments, not %u", callee->name, callee->parameter_count, count);
    return NULL;
}

static Error *check_closure(const Check *check) {
    const Instruction *instruction = &check->instruction;
    const Function *callee = &check->executable->functions[operand_value(instruction->operands[0])];
    uint32_t bound = instruction->operand_count - 2;
    if (callee->kind == FUNCTION_BYTECODE && bound > callee->parameter_count)
        FAIL(CORRUPT, "%u values bound to %s, which takes %u", bound, callee->name,
            callee->parameter_count);
    return NULL;
}

static Error *check_alignment(int64_t alignment) {
    if (alignment < 1 || alignment > ALIGNMENT_MAX || (alignment & (alignment - 1)))
        FAIL(CORRUPT, "alignment %" PRIi64, alignment);
    return NULL;
}

/* Letters of immediates that stand for a range. */
static const struct {
    char letter;
    int64_t low, high;
    const char *what;
} letter_ranges[] = {
    {'g', 0, ADT_TAG_MAX, "tag"},
    {'s', 0, 1, "slot"},
    {'q', 0, INT_OP_COUNT - 1, "IntOp kind"},
    {'w', CLOSURE_FIRST, CLOSURE_LAST, "side"},
};

/* Checks the rule of a letter for an operand of the right kind. */
static Error *check_letter(const Check *check, uint32_t index) {
    const Instruction *instruction = &check->instruction;
    char letter = opcode_operand_letter(instruction->head, index, instruction->output_count);
    int64_t value = operand_value(instruction->operands[index]);
    if (letter == 'd' || (letter == 'h' && value != DTYPE_NONE)) return check_dtype(value);
    if (letter == 'a') return check_alignment(value);
    if (letter == 'b' && value != 0 && value != 1)
        FAIL(CORRUPT, "%s form %" PRIi64 " is not in 0...1",
            opcode_infos[instruction->opcode].mnemonic, value);
    if (letter == 'm' && !value_is(&check->executable->constants[value].value, OBJECT_STRING))
        FAIL(CORRUPT, "the message is not a string");
    for (size_t i = 0; i < sizeof letter_ranges / sizeof letter_ranges[0]; i++) {
        if (letter_ranges[i].letter == letter)
            return check_range(
                value, letter_ranges[i].low, letter_ranges[i].high, letter_ranges[i].what);
    }
    return NULL;
}

/* Checks the rule of the first operand's letter for all other operands. */
static Error *check_callee(const Check *check) {
    switch (opcode_infos[check->instruction.opcode].operands[0]) {
    case 'p':
        return check_invoke_packed(check);
    case 'f':
        return check_call(check, false);
    case 'u':
        return check_call(check, true);
    case 'l':
        return check_closure(check);
    default:
        return NULL;
    }
}

static Error *check_instruction(Check *check, const uint64_t *words) {
    if (!opcode_infos[head_opcode(words[0])].mnemonic)
        FAIL(CORRUPT, "unknown opcode %u", head_opcode(words[0]));
    check->instruction = (Instruction){.operands = words + 1,
        .head = words[0],
        .operand_count = head_operand_count(words[0]),
        .flags = head_flags(words[0]),
        .opcode = (Opcode)head_opcode(words[0])};
    Instruction *instruction = &check->instruction;
    TRY(check_count(instruction));
    if (instruction->opcode == OPCODE_INVOKE_PACKED) {
        if (operand_kind(words[2]) != OPERAND_IMMEDIATE) FAIL(CORRUPT, "no count of outputs");
        TRY(check_range(
            operand_value(words[2]), 0, (int64_t)instruction->operand_count - 2, "outputs"));
        instruction->output_count = (uint32_t)operand_value(words[2]);
    }
    TRY(check_head(check));
    for (uint32_t i = 0; i < instruction->operand_count; i++) TRY(check_operand(check, i));
    for (uint32_t i = 0; i < instruction->operand_count; i++) TRY(check_letter(check, i));
    return check_callee(check);
}

static Error *check_code(Check *check) {
    const Function *function = check->function;
    for (check->pc = 0; check->pc < function->instruction_count; check->pc++) {
        const uint64_t *words = function_instruction(check->executable, function, check->pc);
        const char *mnemonic = opcode_infos[head_opcode(words[0])].mnemonic;
        TRY_WRAP(check_instruction(check, words), "function %s, instruction %u (%s)",
            function->name, check->pc, mnemonic ? mnemonic : "?");
    }
    if (!(opcode_infos[check->instruction.opcode].flags & OPCODE_FLAG_END))
        FAIL(CORRUPT, "function %s runs on behind its last instruction", function->name);
    return NULL;
}

static Error *check_function(const Executable *executable, uint32_t index) {
    const Function *function = &executable->functions[index];
    if (function->kind == FUNCTION_PACKED) return NULL;
    if (function->instruction_count == 0) FAIL(CORRUPT, "function %s has no code", function->name);
    if (function->parameter_count > function->register_count)
        FAIL(CORRUPT, "function %s: %u parameters in %u registers", function->name,
            function->parameter_count, function->register_count);
    /* bounds on names: keeps the cost of an analysis linear in the bytes given */
    if (function->parameter_count > INSTRUCTION_OPERANDS_MAX ||
        function->register_count >
            function->word_count + function->parameter_count + REGISTERS_UNNAMED_MAX)
        FAIL(CORRUPT, "function %s: %u parameters, %u registers, %u words", function->name,
            function->parameter_count, function->register_count, function->word_count);
    void *written;
    TRY(memory_alloc(function->register_count, sizeof(uint32_t), &written));
    Check check = {.executable = executable, .function = function, .written = written};
    Error *error = check_code(&check);
    memory_free(written);
    TRY(error);
    return verifier_check_flow(executable, index);
}

static Error *check_names(const Executable *executable) {
    OWN(NameMap, names) = NULL;
    TRY(name_map_create(&names));
    for (uint32_t i = 0; i < executable->function_count; i++) {
        if (name_map_find(names, executable->functions[i].name))
            FAIL(CORRUPT, "two functions are named %s", executable->functions[i].name);
        TRY(name_map_set(names, executable->functions[i].name, &executable->functions[i]));
    }
    return NULL;
}

static Error *check_constants(const Executable *executable) {
    for (uint32_t i = 0; i < executable->constant_count; i++) {
        const Constant *constant = &executable->constants[i];
        if (constant->slot > 1) FAIL(CORRUPT, "constant %u: slot %u", i, constant->slot);
        if (!value_is(&constant->value, OBJECT_TENSOR)) continue;
        const Tensor *tensor = constant->value.tensor;
        if (!tensor->written || !tensor->storage->sealed)
            FAIL(CORRUPT, "constant %u is not written and sealed", i);
        if (!tensor->storage->device->class_->host_memory)
            FAIL(CORRUPT, "constant %u is not in host memory", i);
    }
    return NULL;
}

Error *verifier_check(Executable *executable) {
    TRY(check_names(executable));
    TRY(check_constants(executable));
    for (uint32_t i = 0; i < executable->function_count; i++) TRY(check_function(executable, i));
    TRY(verifier_check_slots(executable));
    executable->device_strings = device_strings_find(executable);
    return NULL;
}
