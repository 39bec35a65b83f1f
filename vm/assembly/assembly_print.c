#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/string_tensor.h"
#include "vm/assembly/assembly.h"
#include "vm/assembly/assembly_names.h"
#include "vm/instruction/instruction.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

/* Tensors of up to this many elements are printed as numbers, larger ones as hexadecimal bytes. */
enum { NUMBERS_MAX = 16 };

static bool is_identifier(const char *text) {
    if (!text[0] || (text[0] >= '0' && text[0] <= '9') || text[0] == '.') return false;
    for (; *text; text++) {
        bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
        if (!letter && !(*text >= '0' && *text <= '9') && *text != '_' && *text != '.')
            return false;
    }
    return true;
}

static void print_quoted(const char *text, size_t size, TextBuilder *out) {
    text_append(out, "\"");
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\')
            text_appendf(out, "\\%c", byte);
        else if (byte == '\n')
            text_append(out, "\\n");
        else if (byte < 0x20 || byte == 0x7f)
            text_appendf(out, "\\x%02x", byte);
        else
            text_append_bytes(out, text + i, 1);
    }
    text_append(out, "\"");
}

static void print_name(const char *name, TextBuilder *out) {
    if (is_identifier(name))
        text_append(out, name);
    else
        print_quoted(name, strlen(name), out);
}

static bool is_plain_number(DType dtype, const uint8_t *data, int64_t count) {
    if (dtype == DTYPE_BOOL) {
        for (int64_t i = 0; i < count; i++)
            if (data[i] > 1) return false;
        return true;
    }
    if (dtype_is_integer(dtype)) return dtype_bits(dtype) >= 8;
    for (int64_t i = 0; i < count; i++) {
        double real;
        if (dtype == DTYPE_FLOAT32) {
            float narrow;
            memcpy(&narrow, data + i * 4, 4);
            real = (double)narrow;
        } else if (dtype == DTYPE_FLOAT64) {
            memcpy(&real, data + i * 8, 8);
        } else {
            return false;
        }
        if (!isfinite(real)) return false;
    }
    return true;
}

static void print_element(DType dtype, const uint8_t *data, TextBuilder *out) {
    uint64_t bits = 0;
    uint32_t width = dtype_bits(dtype);
    memcpy(&bits, data, width / 8);
    if (dtype == DTYPE_BOOL) {
        text_append(out, bits ? "true" : "false");
    } else if (dtype == DTYPE_FLOAT32) {
        float narrow;
        memcpy(&narrow, data, sizeof narrow);
        text_appendf(out, "%.9g", (double)narrow);
    } else if (dtype == DTYPE_FLOAT64) {
        double real;
        memcpy(&real, data, sizeof real);
        text_appendf(out, "%.17g", real);
    } else if (dtype_is_signed(dtype)) {
        text_appendf(out, "%" PRIi64, (int64_t)(bits << (64 - width)) >> (64 - width));
    } else {
        text_appendf(out, "%" PRIu64, bits);
    }
}

static void print_hex(const uint8_t *data, uint64_t bytes, TextBuilder *out) {
    char text[2 * 256 + 1];
    text_append(out, "x\"");
    for (uint64_t at = 0; at < bytes; at += 256) {
        size_t size = bytes - at < 256 ? (size_t)(bytes - at) : 256;
        text_hex(data + at, size, text);
        text_append(out, text);
    }
    text_append(out, "\"");
}

static void print_strings(const void *data, int64_t count, bool with_data, TextBuilder *out) {
    text_append(out, " {");
    for (int64_t i = 0; with_data && i < count; i++) {
        StringView text = string_tensor_at(data, count, i);
        if (i > 0) text_append(out, ", ");
        print_quoted(text.text, (size_t)text.size, out);
    }
    text_append(out, with_data ? "}" : "...}");
}

static void print_tensor(const Tensor *tensor, bool with_data, TextBuilder *out) {
    text_append(out, dtype_name(tensor->dtype));
    shape_print(&tensor->shape, out);
    const uint8_t *data = tensor_data(tensor);
    int64_t count = shape_count_unchecked(&tensor->shape);
    if (tensor->dtype == DTYPE_STRING) {
        print_strings(data, count, with_data, out);
        return;
    }
    if (!(count <= NUMBERS_MAX && is_plain_number(tensor->dtype, data, count))) {
        text_append(out, " ");
        if (with_data)
            print_hex(data, tensor_bytes(tensor), out);
        else
            text_append(out, "{...}");
        return;
    }
    text_append(out, " {");
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) text_append(out, ", ");
        print_element(tensor->dtype, data + i * (dtype_bits(tensor->dtype) / 8), out);
    }
    text_append(out, "}");
}

static void print_constant_value(const Value *value, bool with_data, TextBuilder *out) {
    switch ((ValueTag)value->tag) {
    case VALUE_NIL:
        text_append(out, "nil");
        return;
    case VALUE_BOOL:
        text_append(out, value->boolean ? "bool true" : "bool false");
        return;
    case VALUE_INT:
        text_appendf(out, "int %" PRIi64, value->integer);
        return;
    case VALUE_DTYPE:
        text_appendf(out, "dtype %s", dtype_name(value->dtype));
        return;
    case VALUE_FLOAT:
        if (isfinite(value->real)) {
            text_appendf(out, "float %a", value->real);
        } else {
            uint64_t bits;
            memcpy(&bits, &value->real, sizeof bits);
            text_appendf(out, "float bits 0x%016" PRIx64, bits);
        }
        return;
    case VALUE_OBJECT:
        break;
    }
    if (value->kind == OBJECT_TENSOR) {
        print_tensor(value->tensor, with_data, out);
    } else if (value->kind == OBJECT_SHAPE) {
        text_append(out, "shape ");
        shape_object_print(value->shape, out);
    } else {
        text_append(out, "string ");
        print_quoted(value->string->text, value->string->size, out);
    }
}

static void print_port(const Port *port, TextBuilder *out) {
    print_name(port->name, out);
    text_append(out, ": ");
    if (port_is_optional(port)) text_append(out, "optional ");
    if (port_is_list(port)) text_append(out, "list ");
    text_appendf(out, "%s[", port->dtype == DTYPE_NONE ? "any" : dtype_name(port->dtype));
    if (!port->rank_known) text_append(out, "*");
    for (uint32_t i = 0; i < port->shape.rank; i++) {
        if (i > 0) text_append(out, ", ");
        if (port->symbols[i]) print_name(port->symbols[i], out);
        if (port->symbols[i] && port->shape.dims[i] >= 0) text_append(out, "=");
        if (port->shape.dims[i] >= 0)
            text_appendf(out, "%" PRIi64, port->shape.dims[i]);
        else if (!port->symbols[i])
            text_append(out, "?");
    }
    text_appendf(out, "] slot %u", port->slot);
}

static void print_ports(const Port *ports, uint32_t count, TextBuilder *out) {
    text_append(out, "(");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) text_append(out, ", ");
        print_port(&ports[i], out);
    }
    text_append(out, ")");
}

static void print_header(const Function *function, TextBuilder *out) {
    text_append(out, function->kind == FUNCTION_PACKED ? "packed " : "function ");
    print_name(function->name, out);
    if (function->parameters)
        print_ports(function->parameters, function->parameter_count, out);
    else
        text_appendf(out, "(%u)", function->parameter_count);
    if (function->results) {
        text_append(out, " -> ");
        print_ports(function->results, function->result_count, out);
    }
    if (function->flags & FUNCTION_EXPORTED) text_append(out, " exported");
    if (function->flags & FUNCTION_NULLS) text_append(out, " nulls");
    if (function->kind == FUNCTION_BYTECODE)
        text_appendf(out, " registers %u", function->register_count);
}

static void print_operand(const Executable *executable, const Instruction *instruction, uint32_t pc,
    uint32_t index, TextBuilder *out) {
    uint64_t operand = instruction->operands[index];
    int64_t value = operand_value(operand);
    char letter = opcode_operand_letter(instruction->head, index, instruction->output_count);
    switch (operand_kind(operand)) {
    case OPERAND_REGISTER:
        text_appendf(out, "r%" PRIi64 "%s", value, operand_is_last_use(operand) ? "!" : "");
        return;
    case OPERAND_CONSTANT:
        text_appendf(out, "@%" PRIi64, value);
        return;
    case OPERAND_ABSENT:
        text_append(out, "_");
        return;
    case OPERAND_FUNCTION:
        text_append(out, "&");
        print_name(executable->functions[value].name, out);
        return;
    case OPERAND_IMMEDIATE:
        break;
    }
    const char *name = assembly_immediate_name(instruction->opcode, index, value);
    if (letter == 'p')
        text_appendf(out, "%%%" PRIi64, value);
    else if (letter == 'j')
        text_appendf(out, "L%" PRIi64, (int64_t)pc + value);
    else if (name)
        text_append(out, name);
    else
        text_appendf(out, "%" PRIi64, value);
}

static void print_instruction(const Executable *executable, const Function *function, uint32_t pc,
    bool for_people, TextBuilder *out) {
    Instruction instruction = instruction_read(function_instruction(executable, function, pc));
    text_append(out, opcode_infos[instruction.opcode].mnemonic);
    if (instruction.flags & INSTRUCTION_HOST) text_append(out, ".host");
    if (instruction.flags & INSTRUCTION_SCALAR) text_append(out, ".scalar");
    uint32_t input_end = instruction.operand_count - instruction.output_count;
    const char *separator = " ";
    for (uint32_t i = 0; i < input_end; i++) {
        if (opcode_operand_letter(instruction.head, i, instruction.output_count) == 'c') continue;
        text_append(out, separator);
        separator = ", ";
        if (for_people && instruction.opcode == OPCODE_INVOKE_PACKED && i == 0) {
            text_append(out,
                executable->primitives[operand_value(instruction.operands[0])].operator_info->name);
            separator = " ";
            continue;
        }
        print_operand(executable, &instruction, pc, i, out);
    }
    separator = instruction.flags & INSTRUCTION_ALLOC ? " -> " : " => ";
    if (instruction.opcode == OPCODE_INVOKE_PACKED && instruction.output_count == 0)
        text_append(out, separator);
    for (uint32_t i = input_end; i < instruction.operand_count; i++) {
        text_append(out, separator);
        separator = ", ";
        print_operand(executable, &instruction, pc, i, out);
    }
    if (instruction_has_destination(&instruction))
        text_appendf(out, " -> r%u", head_destination(instruction.head));
}

static Error *print_code(const Executable *executable, const Function *function, TextBuilder *out) {
    void *memory;
    TRY(memory_alloc(function->instruction_count, 1, &memory));
    uint8_t *labelled = memory;
    for (uint32_t pc = 0; pc < function->instruction_count; pc++) {
        Instruction instruction = instruction_read(function_instruction(executable, function, pc));
        for (uint32_t i = 0; i < instruction.operand_count; i++)
            if (opcode_operand_letter(instruction.head, i, instruction.output_count) == 'j')
                labelled[pc + operand_value(instruction.operands[i])] = 1;
    }
    for (uint32_t pc = 0; pc < function->instruction_count; pc++) {
        if (labelled[pc]) text_appendf(out, "L%u:\n", pc);
        text_append(out, "    ");
        print_instruction(executable, function, pc, false, out);
        text_append(out, "\n");
    }
    memory_free(labelled);
    return NULL;
}

Error *assembly_print(const Executable *executable, bool with_data, TextBuilder *out) {
    for (uint32_t i = 0; i < executable->constant_count; i++) {
        text_appendf(out, "constant @%u slot %u = ", i, executable->constants[i].slot);
        print_constant_value(&executable->constants[i].value, with_data, out);
        text_append(out, "\n");
    }
    if (executable->native_library != EXECUTABLE_NO_LIBRARY)
        text_appendf(out, "library @%u\n", executable->native_library);
    for (uint32_t i = 0; i < executable->primitive_count; i++) {
        const Primitive *primitive = &executable->primitives[i];
        text_appendf(out, "primitive %%%u = %s.%u ", i, primitive->operator_info->name,
            primitive->operator_info->version);
        attributes_print(primitive->attributes, out);
        text_append(out, "\n");
    }
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        print_header(function, out);
        if (function->kind == FUNCTION_BYTECODE) {
            text_append(out, " {\n");
            TRY(print_code(executable, function, out));
            text_append(out, "}");
        }
        text_append(out, "\n");
    }
    return text_builder_check(out);
}

void assembly_print_instruction(
    const Executable *executable, uint32_t function, uint32_t pc, TextBuilder *out) {
    print_instruction(executable, &executable->functions[function], pc, true, out);
}
