#include "serialize/relax/relax_text.h"

#include <inttypes.h>

enum { MNEMONIC_WIDTH = 6, NAME_WIDTH = 16, ARGUMENTS_WIDTH = 12 };

static void append_text(TextBuilder *out, RelaxText text) {
    text_append_bytes(out, text.data, text.size);
}

/* Spaces up to a width of bytes, counted from `start`. */
static void pad(TextBuilder *out, size_t start, size_t width) {
    while (!out->failed && out->size < start + width) text_append(out, " ");
}

static void append_register(TextBuilder *out, int64_t reg) {
    if (reg == RELAX_REGISTER_VOID)
        text_append(out, "%void");
    else if (reg == RELAX_REGISTER_VM)
        text_append(out, "%vm");
    else
        text_appendf(out, "%%%" PRIi64, reg);
}

static void append_argument(TextBuilder *out, const RelaxFile *file, int64_t word) {
    int64_t value = relax_argument_value(word);
    switch (relax_argument_kind(word)) {
    case RELAX_ARGUMENT_REGISTER:
        append_register(out, value);
        return;
    case RELAX_ARGUMENT_IMMEDIATE:
        text_appendf(out, "i%" PRIi64, value);
        return;
    case RELAX_ARGUMENT_CONSTANT:
        text_appendf(out, "c[%" PRIi64 "]", value);
        return;
    case RELAX_ARGUMENT_FUNCTION:
        text_append(out, "f[");
        append_text(out, file->functions[value].name);
        text_append(out, "]");
        return;
    }
}

static void append_call(TextBuilder *out, const RelaxFile *file, const RelaxInstruction *call) {
    text_append(out, "call  ");
    size_t start = out->size;
    append_text(out, file->functions[call->function].name);
    pad(out, start, NAME_WIDTH);
    text_append(out, " in: ");
    start = out->size;
    for (uint64_t i = 0; i < call->count; i++) {
        if (i > 0) text_append(out, ", ");
        append_argument(out, file, relax_word(call->arguments, i));
    }
    pad(out, start, ARGUMENTS_WIDTH);
    text_append(out, " dst: ");
    append_register(out, call->reg);
    text_append(out, "\n");
}

static void append_instruction(TextBuilder *out, const RelaxFile *file, uint64_t index) {
    RelaxInstruction instruction = relax_file_instruction(file, index);
    text_append(out, "  ");
    switch (instruction.opcode) {
    case RELAX_CALL:
        append_call(out, file, &instruction);
        return;
    case RELAX_RET:
        text_append(out, "ret   ");
        append_register(out, instruction.reg);
        text_append(out, "\n");
        return;
    case RELAX_GOTO:
        text_appendf(out, "goto  %" PRIi64 "\n", instruction.jump);
        return;
    case RELAX_IF:
        text_append(out, "If    ");
        append_register(out, instruction.reg);
        text_appendf(out, ", %" PRIi64 "\n", instruction.jump);
        return;
    }
}

Error *relax_text_print(const RelaxFile *file, TextBuilder *out) {
    for (uint64_t i = 0; i < file->function_count; i++) {
        const RelaxGlobal *function = &file->functions[i];
        text_append(out, "@");
        append_text(out, function->name);
        if (function->kind == RELAX_PACKED) {
            text_append(out, " packed_func;\n\n");
            continue;
        }
        if (function->kind == RELAX_NATIVE) {
            text_appendf(out, " num_inputs=%" PRIi64 " vm_tir_func;\n\n", function->argument_count);
            continue;
        }
        text_append(out, ":\n");
        for (int64_t at = function->start; at < function->end; at++)
            append_instruction(out, file, (uint64_t)at);
        text_append(out, "\n");
    }
    return text_builder_check(out);
}

static void append_python_argument(TextBuilder *out, const RelaxFile *file, int64_t word) {
    int64_t value = relax_argument_value(word);
    switch (relax_argument_kind(word)) {
    case RELAX_ARGUMENT_REGISTER:
        if (value == RELAX_REGISTER_VM)
            text_append(out, "ib.r(vm)");
        else
            text_appendf(out, "ib.r(%" PRIi64 ")", value);
        return;
    case RELAX_ARGUMENT_IMMEDIATE:
        text_appendf(out, "ib.imm(%" PRIi64 ")", value);
        return;
    case RELAX_ARGUMENT_CONSTANT:
        text_appendf(out, "ib.c(%" PRIi64 ")", value);
        return;
    case RELAX_ARGUMENT_FUNCTION:
        text_append(out, "ib.f(\"");
        append_text(out, file->functions[value].name);
        text_append(out, "\")");
        return;
    }
}

static void append_python_call(
    TextBuilder *out, const RelaxFile *file, const RelaxInstruction *call) {
    text_append(out, "    ib.emit_call(\"");
    append_text(out, file->functions[call->function].name);
    text_append(out, "\", args=[");
    for (uint64_t i = 0; i < call->count; i++) {
        if (i > 0) text_append(out, ", ");
        append_python_argument(out, file, relax_word(call->arguments, i));
    }
    text_append(out, "]");
    if (call->reg != RELAX_REGISTER_VOID) text_appendf(out, ", dst=ib.r(%" PRIi64 ")", call->reg);
    text_append(out, ")\n");
}

static void append_python_instruction(TextBuilder *out, const RelaxFile *file, uint64_t index) {
    RelaxInstruction instruction = relax_file_instruction(file, index);
    switch (instruction.opcode) {
    case RELAX_CALL:
        append_python_call(out, file, &instruction);
        return;
    case RELAX_RET:
        text_appendf(out, "    ib.emit_ret(ib.r(%" PRIi64 "))\n", instruction.reg);
        return;
    case RELAX_GOTO:
        text_appendf(out, "    ib.emit_goto(%" PRIi64 ")\n", instruction.jump);
        return;
    case RELAX_IF:
        text_appendf(out, "    ib.emit_if(ib.r(%" PRIi64 "), %" PRIi64 ")\n", instruction.reg,
            instruction.jump);
        return;
    }
}

Error *relax_text_print_python(const RelaxFile *file, TextBuilder *out) {
    text_append(out, "ib = rx.Builder()\n");
    for (uint64_t i = 0; i < file->function_count; i++) {
        const RelaxGlobal *function = &file->functions[i];
        if (function->kind != RELAX_BYTECODE) continue;
        text_append(out, "with ib.function(\"");
        append_text(out, function->name);
        text_appendf(out, "\", num_inputs=%" PRIi64 "):\n", function->argument_count);
        for (int64_t at = function->start; at < function->end; at++)
            append_python_instruction(out, file, (uint64_t)at);
    }
    return text_builder_check(out);
}

/* The names of DLPack's element type codes. */
static const char *const dtype_names[] = {"int", "uint", "float", "handle", "bfloat", NULL, "bool",
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
    "float4_e2m1fn"};
enum {
    DTYPE_NAMES = sizeof dtype_names / sizeof *dtype_names,
    DTYPE_HANDLE = 3,
    DTYPE_BOOL_CODE = 6,
    DTYPE_FIRST_WHOLE_NAME = 7, /* from here on the name contains the bits */
};

static void append_dtype(TextBuilder *out, RelaxDType dtype) {
    if (dtype.code == DTYPE_HANDLE && dtype.bits == 0 && dtype.lanes == 0) return; /* void */
    if (dtype.code >= DTYPE_NAMES || !dtype_names[dtype.code])
        text_appendf(out, "dtype%u_", dtype.code);
    else
        text_append(out, dtype_names[dtype.code]);
    if (dtype.code == DTYPE_HANDLE) return;
    bool is_bool = dtype.code == DTYPE_BOOL_CODE && dtype.bits == 8;
    if (dtype.code < DTYPE_FIRST_WHOLE_NAME && !is_bool) text_appendf(out, "%u", dtype.bits);
    int lanes = (int16_t)dtype.lanes;
    if (lanes > 1) text_appendf(out, "x%d", lanes);
    if (lanes < -1) text_appendf(out, "xvscalex%d", -lanes);
}

/* Takes the last two bytes back, which TVM writes over. */
static void take_back(TextBuilder *out) {
    if (out->failed || out->size < 2) return;
    out->size -= 2;
    out->data[out->size] = 0;
}

/* TVM overwrites the last two bytes of "[" or "shapetuple[" when there are no dimensions. */
static void append_dims(TextBuilder *out, const char *prefix, const uint8_t *dims, uint64_t rank) {
    text_append(out, prefix);
    for (uint64_t i = 0; i < rank; i++) text_appendf(out, "%" PRIi64 ", ", relax_word(dims, i));
    take_back(out);
    text_append(out, "], ");
}

static void append_constant(TextBuilder *out, const RelaxConstant *constant) {
    switch (constant->kind) {
    case RELAX_TENSOR:
        if (constant->tensor.rank == 0)
            text_append(out, "scalar, ");
        else
            append_dims(out, "[", constant->tensor.shape, constant->tensor.rank);
        return;
    case RELAX_SHAPE:
        append_dims(out, "shapetuple[", constant->shape.dims, constant->shape.rank);
        return;
    case RELAX_STRING:
        text_append(out, "\"");
        append_text(out, constant->string);
        text_append(out, "\", ");
        return;
    case RELAX_INT:
        text_appendf(out, "%" PRIi64 ", ", constant->integer);
        return;
    case RELAX_FLOAT:
        text_appendf(out, "%g, ", constant->real);
        return;
    case RELAX_DTYPE:
        append_dtype(out, constant->dtype);
        text_append(out, ", ");
        return;
    case RELAX_CONSTANT_KIND_COUNT:
        return;
    }
}

Error *relax_text_print_stats(const RelaxFile *file, TextBuilder *out) {
    text_appendf(out, "Relax VM executable statistics:\n  Constant pool (# %" PRIu64 "): [",
        file->constant_count);
    for (uint64_t i = 0; i < file->constant_count; i++) append_constant(out, &file->constants[i]);
    if (file->constant_count) take_back(out);
    text_appendf(out, "]\n  Globals (#%" PRIu64 "): [", file->function_count);
    for (uint64_t i = 0; i < file->function_count; i++) {
        append_text(out, file->functions[i].name);
        text_append(out, ", ");
    }
    if (file->function_count) take_back(out);
    text_append(out, "]\n");
    return text_builder_check(out);
}
