#include "compiler/ir/ir_print.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "compiler/ir/ir_walk.h"
#include "kernels/tensor/dtype_scalar.h"

enum { ELEMENTS_PRINTED_MAX = 16 };

typedef struct Printer {
    const IrModule *module;
    uint32_t *numbers; /* by id: 1 + number in order of appearance; 0: not seen */
    uint32_t next_number;
    TextBuilder *out;
} Printer;

static const char *const kind_names[IR_KIND_COUNT] = {
    [IR_OPERATOR] = "operator",
    [IR_CALL] = "call",
    [IR_CALL_CLOSURE] = "call_closure",
    [IR_CLOSURE] = "closure",
    [IR_IF] = "if",
    [IR_MATCH] = "match",
    [IR_CONSTRUCT] = "construct",
    [IR_GET_FIELD] = "get_field",
    [IR_GET_TAG] = "get_tag",
    [IR_LIST_NEW] = "list",
    [IR_LIST_APPEND] = "append",
    [IR_LIST_CONCAT] = "concat",
    [IR_OPTIONAL] = "optional",
    [IR_CALL_PACKED] = "call_packed",
    [IR_INT_OP] = "int_op",
    [IR_READ_SCALAR] = "read_scalar",
    [IR_MAKE_TENSOR] = "make_tensor",
    [IR_SHAPE_OF] = "shape_of",
    [IR_DEVICE_COPY] = "device_copy",
    [IR_YIELD] = "yield",
    [IR_FATAL] = "fatal",
};
static const char *const type_names[IR_TYPE_COUNT] = {
    "unknown", "tensor", "int", "bool", "float", "list", "data", "closure", "optional"};

const char *ir_kind_name(IrKind kind) { return kind_names[kind]; }
const char *ir_type_kind_name(IrTypeKind kind) { return type_names[kind]; }

static void print_dim(const IrModule *module, int64_t dim, TextBuilder *out) {
    if (dim >= 0) {
        text_appendf(out, "%" PRId64, dim);
    } else if (dim == IR_DIM_UNKNOWN) {
        text_append(out, "?");
    } else {
        uint32_t symbol = ir_dim_get_symbol(dim);
        const char *name = symbol < module->symbol_count ? module->symbols[symbol] : "";
        if (*name)
            text_append(out, name);
        else
            text_appendf(out, "?%u", symbol);
    }
}

void ir_print_type(const IrModule *module, const IrType *type, TextBuilder *out) {
    uint32_t containers = 0;
    for (; type && ir_type_is_container(type); type = type->element, containers++)
        text_appendf(out, "%s(", type_names[type->kind]);
    if (type && type->kind == IR_TYPE_TENSOR) {
        text_append(out, type->dtype == DTYPE_NONE ? "tensor" : dtype_name(type->dtype));
        text_append(out, type->rank_known ? "[" : "[...");
        for (uint32_t i = 0; type->rank_known && i < type->rank; i++) {
            if (i > 0) text_append(out, ", ");
            print_dim(module, type->dims[i], out);
        }
        text_append(out, "]");
    } else {
        text_append(out, type_names[type ? type->kind : IR_TYPE_UNKNOWN]);
    }
    while (containers-- > 0) text_append(out, ")");
}

/* Prints a float so that it is read as a float again. */
static void print_float(double value, TextBuilder *out) {
    size_t before = out->size;
    text_appendf(out, "%.17g", value);
    if (out->data && !strpbrk(out->data + before, ".einf")) text_append(out, ".0");
}

static bool print_element(const Tensor *tensor, int64_t index, TextBuilder *out) {
    const void *data = tensor_data(tensor);
    const uint32_t size = dtype_bits(tensor->dtype) / 8;
    int64_t integer;
    if (tensor->dtype == DTYPE_BOOL)
        text_append(out, ((const uint8_t *)data)[index] ? "true" : "false");
    else if (dtype_scalar_read_int(
                 tensor->dtype, (const char *)data + (size_t)index * size, &integer))
        text_appendf(out, "%" PRId64, integer);
    else if (tensor->dtype == DTYPE_FLOAT32)
        text_appendf(out, "%.9g", (double)((const float *)data)[index]);
    else if (tensor->dtype == DTYPE_FLOAT64)
        text_appendf(out, "%.17g", ((const double *)data)[index]);
    else if (tensor->dtype == DTYPE_FLOAT16)
        text_appendf(out, "%.5g", dtype_scalar_from_float16(((const uint16_t *)data)[index]));
    else if (tensor->dtype == DTYPE_BFLOAT16)
        text_appendf(out, "%.4g", dtype_scalar_from_bfloat16(((const uint16_t *)data)[index]));
    else
        return false;
    return true;
}

static void print_tensor(const IrModule *module, const Tensor *tensor, TextBuilder *out) {
    IrType type = ir_type_shaped(tensor->dtype, tensor->shape.rank, tensor->shape.dims);
    ir_print_type(module, &type, out);
    text_append(out, "{");
    int64_t count = shape_count_unchecked(&tensor->shape);
    bool printed = count <= ELEMENTS_PRINTED_MAX;
    for (int64_t i = 0; printed && i < count; i++) {
        if (i > 0) text_append(out, ", ");
        printed = print_element(tensor, i, out);
    }
    if (!printed)
        text_appendf(
            out, "#%016" PRIx64, digest_xxh3(tensor_data(tensor), (size_t)tensor_bytes(tensor)));
    text_append(out, "}");
}

static void print_constant(const IrModule *module, const Value *value, TextBuilder *out) {
    if (value->tag == VALUE_INT)
        text_appendf(out, "%" PRId64, value->integer);
    else if (value->tag == VALUE_BOOL)
        text_append(out, value->boolean ? "true" : "false");
    else if (value->tag == VALUE_FLOAT)
        print_float(value->real, out);
    else if (value_is(value, OBJECT_TENSOR))
        print_tensor(module, value->tensor, out);
}

static void print_use(Printer *printer, const IrVariable *variable) {
    if (!variable) {
        text_append(printer->out, "_");
    } else if (variable->constant) {
        print_constant(printer->module, variable->constant, printer->out);
        if (variable->slot != IR_SLOT_NONE && value_is(variable->constant, OBJECT_TENSOR))
            text_appendf(printer->out, "@%u", variable->slot);
    } else {
        uint32_t *number = &printer->numbers[variable->id];
        if (*number == 0) *number = ++printer->next_number;
        text_appendf(printer->out, "%%%u", *number - 1);
    }
}

static void print_uses(Printer *printer, IrVariable *const *variables, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) text_append(printer->out, ", ");
        print_use(printer, variables[i]);
    }
}

/* Prints a variable with its slot, and with its type if that is known. */
static void print_definition(Printer *printer, const IrVariable *variable, bool named) {
    print_use(printer, variable);
    if (named && variable->name) text_appendf(printer->out, " \"%s\"", variable->name);
    bool plain = variable->type.kind == IR_TYPE_TENSOR && !variable->type.rank_known &&
                 variable->type.dtype == DTYPE_NONE;
    if (variable->type.kind != IR_TYPE_UNKNOWN && !plain) {
        text_append(printer->out, ": ");
        ir_print_type(printer->module, &variable->type, printer->out);
    }
    if (variable->slot != IR_SLOT_NONE) text_appendf(printer->out, "@%u", variable->slot);
}

static void print_indent(Printer *printer, uint32_t depth) {
    for (uint32_t i = 0; i < depth; i++) text_append(printer->out, "  ");
}

static void print_function_name(Printer *printer, const IrFunction *function) {
    text_appendf(printer->out, "@%s", function->name);
    if (!function->exported) text_appendf(printer->out, ".%u", function->index);
}

/* Prints the kind's name and the details between name and operands. */
static void print_details(Printer *printer, const IrBinding *binding) {
    TextBuilder *out = printer->out;
    if (binding->kind == IR_OPERATOR) {
        text_append(out, binding->operator_info->name);
    } else if (binding->kind == IR_INT_OP) {
        text_appendf(out, "int_%s", int_op_name((IntOpKind)binding->integer));
    } else if (binding->kind == IR_CALL_PACKED) {
        text_appendf(out, "call_packed %s", ir_packed_info((IrPackedCall)binding->integer)->name);
    } else {
        text_append(out, kind_names[binding->kind]);
    }
    if (binding->kind == IR_CALL || binding->kind == IR_CLOSURE) {
        text_append(out, binding->flag ? " tail " : " ");
        print_function_name(printer, binding->function);
    } else if (binding->kind == IR_MAKE_TENSOR) {
        text_appendf(out, " %s", dtype_name(binding->dtype));
    } else if (binding->kind == IR_LIST_CONCAT || binding->kind == IR_DEVICE_COPY ||
               (binding->kind == IR_GET_FIELD && binding->operand_count == 1)) {
        text_appendf(out, " %" PRId64 "%s", binding->integer, binding->flag ? " new" : "");
        if (binding->declared) {
            text_append(out, " of ");
            ir_print_type(printer->module, binding->declared, out);
        }
    } else if (binding->kind == IR_CONSTRUCT && binding->constructor) {
        text_appendf(out, " %s.%s", binding->constructor->data_type, binding->constructor->name);
    } else if (binding->kind == IR_FATAL) {
        text_appendf(out, " \"%s\"", binding->text);
    } else if (binding->kind == IR_CALL_CLOSURE && binding->flag) {
        text_append(out, " tail");
    } else if (binding->kind == IR_OPERATOR && binding->flag) {
        text_append(out, " host");
    }
    text_append(out, "(");
    print_uses(printer, binding->operands, binding->operand_count);
    text_append(out, ")");
    if (binding->kind == IR_OPERATOR && *binding->operator_info->attributes) {
        text_append(out, " ");
        attributes_print(binding->attributes, out);
    }
}

static void print_block(Printer *printer, const IrBlock *block, uint32_t depth);

static void print_binding(Printer *printer, const IrBinding *binding, uint32_t depth) {
    TextBuilder *out = printer->out;
    print_indent(printer, depth);
    for (uint32_t i = 0; i < binding->result_count; i++) {
        if (i > 0) text_append(out, ", ");
        print_definition(printer, binding->results[i], false);
    }
    if (binding->result_count > 0) text_append(out, " = ");
    print_details(printer, binding);
    for (uint32_t i = 0; i < binding->block_count; i++) {
        text_append(out, i > 0 && binding->kind == IR_IF ? " else" : "");
        if (binding->kind == IR_MATCH) {
            const IrConstructor *constructor = binding->constructors[i];
            text_appendf(out, " case %s(", constructor ? constructor->name : "_");
            print_uses(
                printer, binding->blocks[i]->parameters, binding->blocks[i]->parameter_count);
            text_append(out, ")");
        }
        text_append(out, " {\n");
        print_block(printer, binding->blocks[i], depth + 1);
        print_indent(printer, depth);
        text_append(out, "}");
    }
    text_append(out, "\n");
}

/* Depth is bounded by IR_NESTING_MAX. */
static void print_block(Printer *printer, const IrBlock *block, uint32_t depth) {
    for (const IrBinding *binding = block->first; binding; binding = binding->next)
        print_binding(printer, binding, depth);
    print_indent(printer, depth);
    text_append(printer->out, "->");
    for (uint32_t i = 0; i < block->result_count; i++) {
        text_append(printer->out, i > 0 ? ", " : " ");
        print_use(printer, block->results[i]);
        const char *const *names = block->parent ? NULL : block->function->result_names;
        if (names && names[i]) text_appendf(printer->out, " \"%s\"", names[i]);
    }
    text_append(printer->out, "\n");
}

static void print_function(Printer *printer, const IrFunction *function) {
    text_append(printer->out, "function ");
    print_function_name(printer, function);
    text_append(printer->out, "(");
    for (uint32_t i = 0; i < function->body->parameter_count; i++) {
        if (i > 0) text_append(printer->out, ", ");
        print_definition(printer, function->body->parameters[i], true);
    }
    text_append(printer->out, ")");
    if (function->outer) {
        text_append(printer->out, " in ");
        print_function_name(printer, function->outer->function);
    }
    text_append(printer->out, " {\n");
    print_block(printer, function->body, 1);
    text_append(printer->out, "}\n");
}

Error *ir_print_module(const IrModule *module, TextBuilder *out) {
    void *numbers;
    TRY(ir_side_table(module, sizeof(uint32_t), &numbers));
    Printer printer = {.module = module, .numbers = numbers, .out = out};
    for (size_t f = 0; f < module->function_count; f++) {
        if (f > 0) text_append(out, "\n");
        print_function(&printer, module->functions[f]);
    }
    memory_free(numbers);
    return text_builder_check(out);
}
