#include "compiler/ir/ir.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "compiler/ir/ir_internal.h"
#include "vm/objects/string_object.h"

enum { WARNING_SIZE = 1024 };

Error *ir_module_create(IrModule **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(IrModule), &memory));
    OWN(IrModule, module) = memory;
    TRY(name_map_create(&module->symbol_names));
    *out = TAKE(module);
    return NULL;
}

void ir_module_release(IrModule *module) {
    if (!module) return;
    for (size_t i = 0; i < module->constant_count; i++) {
        Tensor *tensor = ir_variable_tensor(module->constants[i]);
        if (tensor) tensor_release(tensor);
    }
    for (size_t i = 0; i < module->attribute_count; i++) attributes_release(module->attributes[i]);
    text_builder_deinit(&module->warnings);
    memory_free(module->functions);
    memory_free(module->symbols);
    name_map_release(module->symbol_names);
    memory_free(module->constants);
    memory_free(module->constructors);
    memory_free(module->attributes);
    arena_deinit(&module->arena);
    memory_free(module);
}

Error *ir_module_warn(IrModule *module, const char *format, ...) {
    char line[WARNING_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *at = line; *at; at++)
        if (*at == '\n') *at = ' ';
    text_appendf(&module->warnings, "%s\n", line);
    return text_builder_check(&module->warnings);
}

IrType ir_type_tensor(DType dtype) { return (IrType){.kind = IR_TYPE_TENSOR, .dtype = dtype}; }

IrType ir_type_shaped(DType dtype, uint32_t rank, const int64_t *dims) {
    IrType type = {.kind = IR_TYPE_TENSOR, .dtype = dtype, .rank_known = true, .rank = rank};
    for (uint32_t i = 0; i < rank && i < SHAPE_RANK_MAX; i++) type.dims[i] = dims[i];
    return type;
}

const IrPackedInfo *ir_packed_info(IrPackedCall call) {
    static const IrPackedInfo infos[] = {
#define PACKED_CALL(id, name, arity, result) {name, arity, IR_PACKED_RESULT_##result},
#include "compiler/ir/packed_calls.def"
#undef PACKED_CALL
    };
    return &infos[call];
}

IrType ir_type_scalar(IrTypeKind kind) { return (IrType){.kind = kind}; }

Error *ir_type_container(IrModule *module, IrTypeKind kind, const IrType *element, IrType *out) {
    void *copy = NULL;
    if (element) TRY(arena_copy(&module->arena, element, 1, sizeof *element, &copy));
    *out = (IrType){.kind = kind, .element = copy};
    return NULL;
}

bool ir_type_equal(const IrType *a, const IrType *b) {
    /* lists of lists are as deep as the program's text: bounded by IR_NESTING_MAX where made */
    while (a->kind == b->kind && ir_type_is_container(a) && a->element && b->element) {
        a = a->element;
        b = b->element;
    }
    if (a->kind != b->kind || a->dtype != b->dtype || a->rank_known != b->rank_known) return false;
    if (ir_type_is_container(a)) return a->element == b->element;
    if (a->kind != IR_TYPE_TENSOR || !a->rank_known) return true;
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) == 0;
}

bool ir_type_is_static(const IrType *type) {
    if (type->kind != IR_TYPE_TENSOR || !type->rank_known) return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] < 0) return false;
    }
    return true;
}

Error *ir_module_text(IrModule *module, const char *text, const char **out) {
    if (!text) {
        *out = NULL;
        return NULL;
    }
    void *copy;
    TRY(arena_copy(&module->arena, text, strlen(text) + 1, 1, &copy));
    *out = copy;
    return NULL;
}

Error *ir_module_symbol(IrModule *module, const char *name, uint32_t *out_symbol) {
    const uint32_t *known = *name ? name_map_find(module->symbol_names, name) : NULL;
    if (known) {
        *out_symbol = *known;
        return NULL;
    }
    if (module->symbol_count >= IR_SYMBOLS_MAX)
        FAIL(EXHAUSTED, "more than %d symbols of dimensions", IR_SYMBOLS_MAX);
    void *array = module->symbols;
    TRY(memory_grow(
        &array, module->symbol_count, &module->symbol_capacity, sizeof *module->symbols));
    module->symbols = array;
    const char *copy;
    TRY(ir_module_text(module, name, &copy));
    const uint32_t symbol = (uint32_t)module->symbol_count;
    if (*name) {
        void *number;
        TRY(arena_copy(&module->arena, &symbol, 1, sizeof symbol, &number));
        TRY(name_map_set(module->symbol_names, name, number));
    }
    module->symbols[module->symbol_count++] = copy;
    *out_symbol = symbol;
    return NULL;
}

Error *ir_variable_create(
    IrModule *module, const char *name, const IrType *type, IrVariable **out) {
    if (module->variable_count >= IR_VARIABLES_MAX)
        FAIL(EXHAUSTED, "the program has more than %d variables", IR_VARIABLES_MAX);
    void *block;
    TRY(arena_alloc(&module->arena, 1, sizeof(IrVariable), &block));
    IrVariable *variable = block;
    TRY(ir_module_text(module, name, &variable->name));
    variable->id = module->variable_count++;
    variable->slot = IR_SLOT_NONE;
    if (type) variable->type = *type;
    *out = variable;
    return NULL;
}

Error *ir_block_create(IrFunction *function, IrBinding *parent, uint32_t depth, IrBlock **out) {
    if (depth > IR_NESTING_MAX)
        FAIL(EXHAUSTED, "function %s: blocks nested more than %d deep", function->name,
            IR_NESTING_MAX);
    void *block;
    TRY(arena_alloc(&function->module->arena, 1, sizeof(IrBlock), &block));
    *out = block;
    **out = (IrBlock){.function = function, .parent = parent, .depth = depth};
    return NULL;
}

Error *ir_block_add_parameter(
    IrBlock *block, const char *name, const IrType *type, IrVariable **out) {
    IrModule *module = block->function->module;
    if (block->parameter_count >= IR_OPERANDS_MAX)
        FAIL(EXHAUSTED, "function %s has more than %d parameters", block->function->name,
            IR_OPERANDS_MAX);
    IrVariable *variable;
    TRY(ir_variable_create(module, name, type, &variable));
    /* the array doubles at each power of two, so adding n costs O(n) arena bytes */
    uint32_t count = block->parameter_count;
    if ((count & (count - 1)) == 0) {
        void *array;
        TRY(arena_alloc(
            &module->arena, count ? 2 * (size_t)count : 1, sizeof(IrVariable *), &array));
        if (count) memcpy(array, block->parameters, count * sizeof(IrVariable *));
        block->parameters = array;
    }
    variable->block = block;
    variable->index = count;
    block->parameters[block->parameter_count++] = variable;
    *out = variable;
    return NULL;
}

Error *ir_block_set_results(IrBlock *block, uint32_t count, IrVariable *const *results) {
    void *copy;
    TRY(arena_copy(&block->function->module->arena, results, count, sizeof *results, &copy));
    block->results = copy;
    block->result_count = count;
    return NULL;
}

Error *ir_function_create(
    IrModule *module, const char *name, bool exported, const IrBlock *outer, IrFunction **out) {
    if (module->function_count >= IR_FUNCTIONS_MAX)
        FAIL(EXHAUSTED, "the program has more than %d functions", IR_FUNCTIONS_MAX);
    void *array = module->functions;
    TRY(memory_grow(
        &array, module->function_count, &module->function_capacity, sizeof *module->functions));
    module->functions = array;
    void *block;
    TRY(arena_alloc(&module->arena, 1, sizeof(IrFunction), &block));
    IrFunction *function = block;
    function->module = module;
    function->index = (uint32_t)module->function_count;
    function->exported = exported;
    function->outer = outer;
    TRY(ir_module_text(module, name ? name : "function", &function->name));
    TRY(ir_block_create(function, NULL, outer ? outer->depth + 1 : 0, &function->body));
    module->functions[module->function_count++] = function;
    *out = function;
    return NULL;
}

Error *ir_function_add_parameter(
    IrFunction *function, const char *name, const IrType *type, IrVariable **out) {
    return ir_block_add_parameter(function->body, name, type, out);
}

Error *ir_function_declare_results(IrFunction *function, uint32_t count, const IrType *types) {
    if (count > IR_OPERANDS_MAX)
        FAIL(EXHAUSTED, "function %s has more than %d results", function->name, IR_OPERANDS_MAX);
    void *copy;
    TRY(arena_alloc(&function->module->arena, count, sizeof *types, &copy));
    if (types && copy) memcpy(copy, types, count * sizeof *types);
    function->result_types = copy;
    function->result_count = count;
    return NULL;
}

Error *ir_function_set_results(IrFunction *function, uint32_t count, IrVariable *const *results,
    const char *const *names, const IrType *types) {
    if (!function->result_types || count != function->result_count || types)
        TRY(ir_function_declare_results(function, count, types));
    void *array;
    TRY(arena_alloc(&function->module->arena, count, sizeof *names, &array));
    const char **copies = array;
    for (uint32_t i = 0; names && i < count; i++)
        TRY(ir_module_text(function->module, names[i], &copies[i]));
    function->result_names = copies;
    return ir_block_set_results(function->body, count, results);
}

IrFunction *ir_module_find_function(const IrModule *module, const char *name) {
    for (size_t i = 0; i < module->function_count; i++) {
        if (strcmp(module->functions[i]->name, name) == 0) return module->functions[i];
    }
    return NULL;
}

Error *ir_constructor_create(IrModule *module, const char *data_type, const char *name,
    uint32_t field_count, IrConstructor **out) {
    void *array = module->constructors;
    TRY(memory_grow(&array, module->constructor_count, &module->constructor_capacity,
        sizeof *module->constructors));
    module->constructors = array;
    void *block;
    TRY(arena_alloc(&module->arena, 1, sizeof(IrConstructor), &block));
    IrConstructor *constructor = block;
    *constructor = (IrConstructor){.field_count = field_count, .tag = -1};
    TRY(ir_module_text(module, data_type, &constructor->data_type));
    TRY(ir_module_text(module, name, &constructor->name));
    module->constructors[module->constructor_count++] = constructor;
    *out = constructor;
    return NULL;
}

static Error *constant_create(IrModule *module, const IrType *type, Value value, IrVariable **out) {
    void *array = module->constants;
    TRY(memory_grow(
        &array, module->constant_count, &module->constant_capacity, sizeof *module->constants));
    module->constants = array;
    void *copy;
    TRY(arena_copy(&module->arena, &value, 1, sizeof value, &copy));
    IrVariable *variable;
    TRY(ir_variable_create(module, NULL, type, &variable));
    variable->constant = copy;
    module->constants[module->constant_count++] = variable;
    *out = variable;
    return NULL;
}

Error *ir_constant_tensor(IrModule *module, Tensor *tensor, IrVariable **out) {
    IrType type = ir_type_shaped(tensor->dtype, tensor->shape.rank, tensor->shape.dims);
    TRY(constant_create(module, &type, value_object(OBJECT_TENSOR, tensor), out));
    tensor_retain(tensor);
    return NULL;
}

Error *ir_constant_int(IrModule *module, int64_t value, IrVariable **out) {
    IrType type = ir_type_scalar(IR_TYPE_INT);
    return constant_create(module, &type, value_int(value), out);
}

Error *ir_constant_bool(IrModule *module, bool value, IrVariable **out) {
    IrType type = ir_type_scalar(IR_TYPE_BOOL);
    return constant_create(module, &type, value_bool(value), out);
}

Error *ir_constant_float(IrModule *module, double value, IrVariable **out) {
    IrType type = ir_type_scalar(IR_TYPE_FLOAT);
    return constant_create(module, &type, value_float(value), out);
}

bool ir_constant_equal(const Value *a, const Value *b) {
    if (a->tag != b->tag || a->kind != b->kind) return false;
    if (value_is(a, OBJECT_STRING))
        return a->string->size == b->string->size &&
               memcmp(a->string->text, b->string->text, a->string->size) == 0;
    if (a->tag == VALUE_BOOL) return a->boolean == b->boolean;
    if (!value_is(a, OBJECT_TENSOR)) return memcmp(&a->integer, &b->integer, 8) == 0;
    const Tensor *left = a->tensor, *right = b->tensor;
    if (left->dtype != right->dtype || !shape_equal(&left->shape, &right->shape)) return false;
    const size_t bytes = (size_t)tensor_bytes(left);
    if (bytes != tensor_bytes(right)) return false;
    return bytes == 0 || memcmp(tensor_data(left), tensor_data(right), bytes) == 0;
}

Tensor *ir_variable_tensor(const IrVariable *variable) {
    return variable->constant && value_is(variable->constant, OBJECT_TENSOR)
               ? variable->constant->tensor
               : NULL;
}

IrFunction *ir_variable_function(const IrVariable *variable) {
    return variable->block ? variable->block->function : NULL;
}
