#include "tests/serialize/executable_fixtures.h"

#include "kernels/registry/device_registry.h"
#include "serialize/container/executable_file.h"
#include "vm/objects/closure.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

static Device *cpu;
static uint32_t cpu_users;

static uint64_t immediate(int64_t value) { return operand_make(OPERAND_IMMEDIATE, value); }
static uint64_t constant(uint32_t index) { return operand_make(OPERAND_CONSTANT, index); }
static uint64_t in_register(uint32_t index) { return operand_make(OPERAND_REGISTER, index); }
static uint64_t function(uint32_t index) { return operand_make(OPERAND_FUNCTION, index); }

static Value tensor_of(int64_t count, float scale) {
    Shape shape = shape_make(1, &count);
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &tensor));
    uint64_t state = 7;
    fixture_fill_normal(&state, tensor_data(tensor), (size_t)count, scale);
    return value_object(OBJECT_TENSOR, tensor);
}

enum { SMALL, LARGE, SHAPE, TEXT, REAL, TRUTH, TYPE };

static void add_constants(ExecutableBuilder *builder) {
    uint32_t index;
    const int64_t dims[2] = {3, 4};
    Shape shape = shape_make(2, dims);
    ShapeObject *shape_object;
    StringObject *string;
    assert_ok(shape_object_create(&shape, &shape_object));
    assert_ok(string_object_create(NULL, "text", 4, &string));
    const Value values[] = {tensor_of(3, 1), tensor_of(EXAMPLE_LARGE_COUNT, 0.02f),
        value_object(OBJECT_SHAPE, shape_object), value_object(OBJECT_STRING, string),
        value_float(2.5), value_bool(true), value_dtype(DTYPE_BFLOAT16)};
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_ok(executable_builder_add_constant(builder, values[i], i <= LARGE, &index));
        assert_int_equal(index, i);
    }
}

static void add(ExecutableBuilder *builder, Opcode opcode, uint32_t flags, uint32_t destination,
    const uint64_t *operands, uint32_t count) {
    assert_ok(
        executable_builder_add_instruction(builder, opcode, flags, destination, operands, count));
}

static void add_main(ExecutableBuilder *builder, uint32_t helper, uint32_t primitive) {
    const uint64_t sum[] = {
        immediate(primitive), immediate(1), in_register(0), constant(SMALL), in_register(1)};
    const uint64_t list[] = {in_register(0), in_register(1)};
    const uint64_t closure[] = {function(helper), immediate(CLOSURE_FIRST), in_register(0)};
    const uint64_t large[] = {constant(LARGE)}, text[] = {constant(TEXT)};
    const uint64_t tuple[] = {immediate(0), in_register(1), in_register(2), in_register(3),
        in_register(4), in_register(5), immediate(7), constant(REAL), constant(TRUTH)};
    const uint64_t yielded[] = {in_register(1)}, result[] = {in_register(6)};
    add(builder, OPCODE_INVOKE_PACKED, INSTRUCTION_ALLOC, REGISTER_NONE, sum, 5);
    add(builder, OPCODE_LIST_NEW, 0, 2, list, 2);
    add(builder, OPCODE_ALLOC_CLOSURE, 0, 3, closure, 3);
    add(builder, OPCODE_LOAD_CONST, 0, 4, large, 1);
    add(builder, OPCODE_LOAD_CONST, 0, 5, text, 1);
    add(builder, OPCODE_YIELD, 0, REGISTER_NONE, yielded, 1);
    add(builder, OPCODE_ALLOC_ADT, 0, 6, tuple, 9);
    add(builder, OPCODE_RET, 0, REGISTER_NONE, result, 1);
}

Executable *example_executable(void) {
    OWN(ExecutableBuilder, builder) = NULL;
    OWN(Attributes, attributes) = NULL;
    uint32_t main_index, helper, primitive;
    const uint64_t first[] = {in_register(0)};
    char input[] = "x", symbol[] = "N";
    Port port = {.name = input, .dtype = DTYPE_FLOAT32, .rank_known = true, .slot = 1};
    port.shape.rank = 1;
    port.shape.dims[0] = -1;
    port.symbols[0] = symbol;
    assert_ok(executable_builder_create(&builder));
    add_constants(builder);
    assert_ok(executable_builder_add_function(
        builder, "main", FUNCTION_BYTECODE, FUNCTION_EXPORTED, 1, &main_index));
    assert_ok(executable_builder_add_function(builder, "helper", FUNCTION_BYTECODE, 0, 2, &helper));
    assert_ok(executable_builder_set_parameters(builder, main_index, &port, 1));
    assert_ok(attributes_create(&attributes));
    assert_ok(executable_builder_add_primitive(
        builder, "Add", operator_find("Add")->version, attributes, &primitive));
    assert_ok(executable_builder_begin_code(builder, main_index, 7));
    add_main(builder, helper, primitive);
    assert_ok(executable_builder_begin_code(builder, helper, 2));
    add(builder, OPCODE_RET, 0, REGISTER_NONE, first, 1);
    Executable *executable;
    assert_ok(executable_builder_finish(builder, &executable));
    assert_ok(executable_identify(executable, NULL));
    return executable;
}

Residency *example_residency(Executable *executable) {
    Residency *residency;
    if (cpu_users++ == 0) assert_ok(device_open("cpu", &cpu));
    assert_ok(residency_create(executable, cpu, cpu, NULL, &residency));
    return residency;
}

Execution *example_execution(Residency *residency, uint64_t instructions) {
    static const ExecutionOptions options = {.philox_key = 42};
    Execution *execution;
    RunResult result;
    Value input = tensor_of(3, 2);
    assert_ok(execution_create(residency, &options, 0, &input, 1, &execution));
    value_release(&input);
    if (instructions)
        assert_ok(execution_run(execution, (Budget){.instructions = instructions}, &result));
    return execution;
}

void example_close(void) {
    if (--cpu_users > 0) return;
    device_close(cpu);
    cpu = NULL;
}
