#include "vm/code/executable_builder.h"

#include <string.h>

#include "base/allocator.h"
#include "base/name_map.h"
#include "vm/code/executable_internal.h"
#include "vm/code/verifier.h"

struct ExecutableBuilder {
    Executable *executable; /* grows; not visible to others before finish */
    size_t function_capacity, constant_capacity, primitive_capacity, code_capacity;
    uint32_t current; /* function whose code is being added, or UINT32_MAX */
    size_t instruction_capacity;
};

Error *executable_builder_create(ExecutableBuilder **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ExecutableBuilder), &memory));
    OWN(ExecutableBuilder, builder) = memory;
    builder->current = UINT32_MAX;
    TRY(memory_alloc(1, sizeof(Executable), &memory));
    builder->executable = memory;
    refcount_init(&builder->executable->refcount);
    builder->executable->native_library = EXECUTABLE_NO_LIBRARY;
    *out = TAKE(builder);
    return NULL;
}

void executable_builder_release(ExecutableBuilder *builder) {
    if (!builder) return;
    executable_release(builder->executable);
    memory_free(builder);
}

static Error *grow(void **inout_array, uint32_t count, uint32_t count_max, size_t *inout_capacity,
    size_t element_size, const char *what) {
    if (count >= count_max) FAIL(EXHAUSTED, "more than %u %s", count_max, what);
    return memory_grow(inout_array, count, inout_capacity, element_size);
}

Error *executable_builder_add_function(ExecutableBuilder *builder, const char *name,
    FunctionKind kind, uint32_t flags, uint32_t parameter_count, uint32_t *out_index) {
    Executable *executable = builder->executable;
    size_t length = strlen(name);
    if (length == 0 || length > FUNCTION_NAME_MAX || !text_is_utf8(name, length))
        FAIL(INVALID, "a function's name must be 1 to %d bytes of UTF-8", FUNCTION_NAME_MAX);
    if (kind != FUNCTION_BYTECODE && kind != FUNCTION_PACKED)
        FAIL(CORRUPT, "function %s: unknown kind %u", name, (unsigned)kind);
    if (flags & ~(uint32_t)(FUNCTION_NULLS | FUNCTION_EXPORTED))
        FAIL(CORRUPT, "function %s: unknown flags %#x", name, flags);
    if (parameter_count > FUNCTION_REGISTERS_MAX)
        FAIL(EXHAUSTED, "function %s: %u parameters", name, parameter_count);
    void *array = executable->functions;
    TRY(grow(&array, executable->function_count, EXECUTABLE_FUNCTIONS_MAX,
        &builder->function_capacity, sizeof(Function), "functions"));
    executable->functions = array;
    Function *function = &executable->functions[executable->function_count];
    *function = (Function){.kind = kind, .flags = flags, .parameter_count = parameter_count};
    TRY(memory_copy_text(name, &function->name));
    *out_index = executable->function_count++;
    return NULL;
}

static void ports_release(Port *ports, uint32_t count) {
    for (uint32_t i = 0; ports && i < count; i++) port_deinit(&ports[i]);
    memory_free(ports);
}

static Error *port_copy(const Port *from, Port *to) {
    to->form = from->form;
    to->dtype = from->dtype;
    to->rank_known = from->rank_known;
    to->slot = from->slot;
    to->shape = from->shape;
    TRY(memory_copy_text(from->name ? from->name : "", &to->name));
    for (uint32_t i = 0; i < SHAPE_RANK_MAX; i++)
        if (from->symbols[i]) TRY(memory_copy_text(from->symbols[i], &to->symbols[i]));
    return NULL;
}

static Error *port_check(const Port *port) {
    if (port->name && !text_is_utf8(port->name, strlen(port->name)))
        FAIL(CORRUPT, "a port's name is not UTF-8");
    if ((uint32_t)port->form > PORT_OPTIONAL_LIST)
        FAIL(CORRUPT, "port %s: form %u", port->name, (unsigned)port->form);
    if (port->slot > 1) FAIL(CORRUPT, "port %s: slot %u", port->name, port->slot);
    if (port->shape.rank > SHAPE_RANK_MAX)
        FAIL(CORRUPT, "port %s: rank %u", port->name, port->shape.rank);
    for (uint32_t i = 0; i < port->shape.rank; i++)
        if (port->shape.dims[i] < -1)
            FAIL(CORRUPT, "port %s: dimension %lld", port->name, (long long)port->shape.dims[i]);
    if (port->dtype != DTYPE_NONE && !dtype_is_known((uint32_t)port->dtype))
        FAIL(CORRUPT, "port %s: element type %u", port->name, (unsigned)port->dtype);
    return NULL;
}

/* Names of ports must be unique, since arrays are passed by name. */
static Error *ports_check_names(const Port *ports, uint32_t count) {
    OWN(NameMap, names) = NULL;
    TRY(name_map_create(&names));
    for (uint32_t i = 0; i < count; i++) {
        const char *name = ports[i].name;
        if (!name || !name[0]) continue;
        if (name_map_find(names, name)) FAIL(INVALID, "two ports are named %s", name);
        TRY(name_map_set(names, name, names));
    }
    return NULL;
}

static Error *ports_copy(const Port *ports, uint32_t count, Port **out) {
    void *memory;
    TRY(ports_check_names(ports, count));
    TRY(memory_alloc(count, sizeof(Port), &memory));
    Port *copy = memory;
    for (uint32_t i = 0; i < count; i++) {
        Error *error = port_check(&ports[i]);
        if (!error) error = port_copy(&ports[i], &copy[i]);
        if (error) {
            ports_release(copy, count);
            return error;
        }
    }
    *out = copy;
    return NULL;
}

Error *executable_builder_set_parameters(
    ExecutableBuilder *builder, uint32_t function, const Port *ports, uint32_t count) {
    Function *to = &builder->executable->functions[function];
    if (count != to->parameter_count)
        FAIL(CORRUPT, "function %s: %u ports for %u parameters", to->name, count,
            to->parameter_count);
    Port *copy;
    TRY_WRAP(ports_copy(ports, count, &copy), "function %s", to->name);
    ports_release(to->parameters, to->parameter_count);
    to->parameters = copy;
    return NULL;
}

Error *executable_builder_set_results(
    ExecutableBuilder *builder, uint32_t function, const Port *ports, uint32_t count) {
    Function *to = &builder->executable->functions[function];
    Port *copy;
    TRY_WRAP(ports_copy(ports, count, &copy), "function %s", to->name);
    ports_release(to->results, to->result_count);
    to->results = copy;
    to->result_count = count;
    return NULL;
}

static Error *add_constant(
    ExecutableBuilder *builder, Value value, uint8_t slot, uint32_t *out_index) {
    Executable *executable = builder->executable;
    bool storable =
        value.tag != VALUE_NIL && (value.tag != VALUE_OBJECT || value.kind == OBJECT_TENSOR ||
                                      value.kind == OBJECT_SHAPE || value.kind == OBJECT_STRING);
    if (!storable) FAIL(CORRUPT, "a constant of a kind that cannot be one");
    if (slot > 1) FAIL(CORRUPT, "a constant in slot %u", slot);
    void *array = executable->constants;
    TRY(grow(&array, executable->constant_count, EXECUTABLE_CONSTANTS_MAX,
        &builder->constant_capacity, sizeof(Constant), "constants"));
    executable->constants = array;
    if (value_is(&value, OBJECT_TENSOR)) {
        Storage *storage = value.tensor->storage;
        if (storage->constant_index != STORAGE_NOT_CONSTANT)
            FAIL(INTERNAL, "a constant's storage is constant %u already", storage->constant_index);
        storage->sealed = true;
        storage->constant_index = executable->constant_count;
    }
    *out_index = executable->constant_count;
    executable->constants[executable->constant_count++] = (Constant){value, slot};
    return NULL;
}

Error *executable_builder_add_constant(
    ExecutableBuilder *builder, Value owned_value, uint8_t slot, uint32_t *out_index) {
    Error *error = add_constant(builder, owned_value, slot, out_index);
    if (error) value_release(&owned_value);
    return error;
}

Error *executable_builder_set_native_library(
    ExecutableBuilder *builder, uint32_t constant, const Digest *sha256) {
    const Executable *executable = builder->executable;
    const Constant *library =
        constant < executable->constant_count ? &executable->constants[constant] : NULL;
    if (!library || !value_is(&library->value, OBJECT_TENSOR) || library->slot != 0 ||
        library->value.tensor->dtype != DTYPE_UINT8 || library->value.tensor->shape.rank != 1)
        FAIL(CORRUPT, "constant %u is not the bytes of a native library", constant);
    if (sha256) builder->executable->native_digest = *sha256;
    builder->executable->native_digest_stored = sha256 != NULL;
    builder->executable->native_library = constant;
    return NULL;
}

Error *executable_builder_add_primitive(ExecutableBuilder *builder, const char *operator_name,
    uint32_t version, Attributes *attributes, uint32_t *out_index) {
    Executable *executable = builder->executable;
    const OperatorInfo *info = operator_find(operator_name);
    if (!info) FAIL(UNSUPPORTED, "there is no operator %s", operator_name);
    if (info->version != version)
        FAIL(UNSUPPORTED, "operator %s: version %u is wanted, this is version %u", operator_name,
            version, info->version);
    TRY_WRAP(attributes_check(attributes, info), "operator %s", operator_name);
    void *array = executable->primitives;
    TRY(grow(&array, executable->primitive_count, EXECUTABLE_PRIMITIVES_MAX,
        &builder->primitive_capacity, sizeof(Primitive), "primitives"));
    executable->primitives = array;
    *out_index = executable->primitive_count;
    executable->primitives[executable->primitive_count++] =
        (Primitive){info, attributes_retain(attributes)};
    return NULL;
}

Error *executable_builder_begin_code(
    ExecutableBuilder *builder, uint32_t function, uint32_t register_count) {
    Executable *executable = builder->executable;
    if (function >= executable->function_count) FAIL(CORRUPT, "code of function %u", function);
    Function *to = &executable->functions[function];
    if (to->kind != FUNCTION_BYTECODE) FAIL(CORRUPT, "function %s: code of a packed one", to->name);
    if (to->instruction_words) FAIL(CORRUPT, "function %s: code given twice", to->name);
    if (register_count > FUNCTION_REGISTERS_MAX)
        FAIL(EXHAUSTED, "function %s: %u registers", to->name, register_count);
    to->register_count = register_count;
    to->first_word = executable->code_word_count;
    builder->current = function;
    builder->instruction_capacity = 0;
    return NULL;
}

static Error *reserve_code(ExecutableBuilder *builder, uint32_t more) {
    Executable *executable = builder->executable;
    uint64_t needed = (uint64_t)executable->code_word_count + more;
    if (needed > EXECUTABLE_CODE_WORDS_MAX)
        FAIL(EXHAUSTED, "more than %d words of code", EXECUTABLE_CODE_WORDS_MAX);
    if (needed <= builder->code_capacity) return NULL;
    size_t capacity = builder->code_capacity ? builder->code_capacity : 64;
    while (capacity < needed) capacity *= 2;
    void *words = (void *)(uintptr_t)executable->code;
    TRY(memory_resize(&words, capacity, sizeof(uint64_t)));
    executable->code = words;
    builder->code_capacity = capacity;
    return NULL;
}

/* Appends the words of one instruction to the current function. */
static Error *append_instruction(
    ExecutableBuilder *builder, uint64_t head, const uint64_t *operands) {
    Executable *executable = builder->executable;
    Function *function = &executable->functions[builder->current];
    uint32_t operand_count = head_operand_count(head);
    TRY(reserve_code(builder, 1 + operand_count));
    void *array = (void *)(uintptr_t)function->instruction_words;
    TRY(memory_grow(
        &array, function->instruction_count, &builder->instruction_capacity, sizeof(uint32_t)));
    function->instruction_words = array;
    ((uint32_t *)array)[function->instruction_count++] = function->word_count;
    uint64_t *words = (uint64_t *)(uintptr_t)executable->code + executable->code_word_count;
    words[0] = head;
    if (operand_count) memcpy(words + 1, operands, operand_count * sizeof *operands);
    executable->code_word_count += 1 + operand_count;
    function->word_count += 1 + operand_count;
    return NULL;
}

Error *executable_builder_add_instruction(ExecutableBuilder *builder, Opcode opcode, uint32_t flags,
    uint32_t destination, const uint64_t *operands, uint32_t operand_count) {
    if (builder->current == UINT32_MAX) FAIL(INTERNAL, "an instruction outside a function");
    if (operand_count > INSTRUCTION_OPERANDS_MAX)
        FAIL(EXHAUSTED, "an instruction with %u operands", operand_count);
    return append_instruction(
        builder, head_make(opcode, flags, operand_count, destination), operands);
}

uint32_t executable_builder_pc(const ExecutableBuilder *builder) {
    return builder->executable->functions[builder->current].instruction_count;
}

Error *executable_builder_patch_operand(
    ExecutableBuilder *builder, uint32_t pc, uint32_t operand_index, uint64_t operand) {
    const Executable *executable = builder->executable;
    const Function *function = &executable->functions[builder->current];
    if (pc >= function->instruction_count) FAIL(INTERNAL, "no instruction %u to patch", pc);
    uint64_t *words = (uint64_t *)(uintptr_t)function_instruction(executable, function, pc);
    if (operand_index >= head_operand_count(words[0])) FAIL(INTERNAL, "no operand to patch");
    words[1 + operand_index] = operand;
    return NULL;
}

Error *executable_builder_set_code(ExecutableBuilder *builder, uint32_t function,
    uint32_t register_count, const uint64_t *words, uint32_t word_count) {
    TRY(executable_builder_begin_code(builder, function, register_count));
    for (uint32_t at = 0; at < word_count;) {
        uint32_t operand_count = head_operand_count(words[at]);
        if (operand_count > INSTRUCTION_OPERANDS_MAX || operand_count > word_count - at - 1)
            FAIL(CORRUPT, "function %s, word %u: %u operands, %u words are left",
                builder->executable->functions[function].name, at, operand_count,
                word_count - at - 1);
        TRY(append_instruction(builder, words[at], words + at + 1));
        at += 1 + operand_count;
    }
    return NULL;
}

Error *executable_builder_set_source(ExecutableBuilder *builder, const void *source, size_t size) {
    void *memory;
    TRY(memory_alloc(size ? size : 1, 1, &memory));
    if (size) memcpy(memory, source, size);
    memory_free(builder->executable->source);
    builder->executable->source = memory;
    builder->executable->source_size = size;
    return NULL;
}

Error *executable_builder_finish(ExecutableBuilder *builder, Executable **out) {
    for (uint32_t i = 0; i < builder->executable->function_count; i++) {
        const Function *function = &builder->executable->functions[i];
        if (function->kind == FUNCTION_BYTECODE && !function->instruction_words)
            FAIL(CORRUPT, "function %s has no code", function->name);
    }
    TRY(verifier_check(builder->executable));
    *out = TAKE(builder->executable);
    return NULL;
}
