#include "tests/vm/relax/relax_case_runner.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "kernels/tensor/tensor.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/container/executable_file.h"
#include "tests/vm/program_runner.h"
#include "vm/code/executable_builder.h"
#include "vm/objects/adt.h"
#include "vm/objects/object.h"
#include "vm/objects/packed.h"
#include "vm/objects/scalar.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

enum { REGISTERS = 2048, OPERANDS_MAX = 256, FUNCTIONS_MAX = 128, PACK_MAX = 6 };

typedef struct Building {
    ExecutableBuilder *builder;
    uint32_t next_register; /* register 0 stays nil */
    struct {
        const char *name;
        uint32_t index;
    } functions[FUNCTIONS_MAX];
    uint32_t function_count;
    struct {
        const char *name;
        uint32_t index;
    } registers[REGISTERS];
    uint32_t register_count;
    uint32_t pack[PACK_MAX]; /* functions of bytecode that give a tuple of their arguments */
    uint8_t slot;            /* of constant tensors */
} Building;

static json_object *get(json_object *object, const char *key) {
    json_object *value = NULL;
    (void)json_object_object_get_ex(object, key, &value);
    return value;
}

static json_object *at(json_object *array, size_t index) {
    return json_object_array_get_idx(array, index);
}

static Shape shape_of(json_object *dims) {
    Shape shape = {.rank = (uint32_t)json_object_array_length(dims)};
    assert_true(shape.rank <= SHAPE_RANK_MAX);
    for (uint32_t i = 0; i < shape.rank; i++) shape.dims[i] = json_object_get_int64(at(dims, i));
    return shape;
}

static Value tensor_of(json_object *spec) {
    DType dtype = dtype_find(json_object_get_string(at(spec, 0)));
    Shape shape = shape_of(at(spec, 1));
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    json_object *data = at(spec, 2);
    uint32_t size = dtype_bits(dtype) / 8;
    for (size_t i = 0; i < json_object_array_length(data); i++) {
        json_object *item = at(data, i);
        Value value = dtype_is_float(dtype) ? value_float(json_object_get_double(item))
                                            : value_int(json_object_get_int64(item));
        if (dtype == DTYPE_BOOL) value = value_bool(json_object_get_int64(item) != 0);
        assert_ok(scalar_write(&value, dtype, (uint8_t *)tensor_data(tensor) + i * size));
    }
    return value_object(OBJECT_TENSOR, tensor);
}

static uint32_t function_of(Building *building, const char *name) {
    for (uint32_t i = 0; i < building->function_count; i++)
        if (strcmp(building->functions[i].name, name) == 0) return building->functions[i].index;
    fail_msg("function %s is not declared", name);
    return 0;
}

static void declare(Building *building, const char *name) {
    for (uint32_t i = 0; i < building->function_count; i++)
        if (strcmp(building->functions[i].name, name) == 0) return;
    assert_true(building->function_count < FUNCTIONS_MAX);
    uint32_t index;
    assert_ok(
        executable_builder_add_function(building->builder, name, FUNCTION_PACKED, 0, 0, &index));
    building->functions[building->function_count].name = name;
    building->functions[building->function_count++].index = index;
}

static uint64_t constant_of(Building *building, Value owned_value) {
    uint32_t index;
    assert_ok(
        executable_builder_add_constant(building->builder, owned_value, building->slot, &index));
    return operand_make(OPERAND_CONSTANT, index);
}

static uint32_t emit_call(
    Building *building, const char *name, const uint64_t *operands, uint32_t count) {
    uint64_t all[1 + OPERANDS_MAX];
    assert_true(count <= OPERANDS_MAX && building->next_register < REGISTERS);
    all[0] = operand_make(OPERAND_FUNCTION, function_of(building, name));
    memcpy(all + 1, operands, count * sizeof *operands);
    uint32_t destination = building->next_register++;
    assert_ok(executable_builder_add_instruction(
        building->builder, OPCODE_CALL, 0, destination, all, 1 + count));
    return destination;
}

static uint64_t emit_closure(Building *building, uint32_t function) {
    uint32_t destination = building->next_register++;
    uint64_t operands[] = {
        operand_make(OPERAND_FUNCTION, function), operand_make(OPERAND_IMMEDIATE, 1)};
    assert_ok(executable_builder_add_instruction(
        building->builder, OPCODE_ALLOC_CLOSURE, 0, destination, operands, 2));
    return operand_make(OPERAND_REGISTER, destination);
}

/* A tensor in a mutable storage, filled with the elements of a constant. */
static uint64_t emit_buffer(Building *building, json_object *spec) {
    Value constant = tensor_of(spec);
    Shape shape = constant.tensor->shape;
    ShapeObject *object;
    assert_ok(shape_object_create(&shape, &object));
    Value dtype = value_dtype(constant.tensor->dtype);
    uint64_t shape_operand = constant_of(building, value_object(OBJECT_SHAPE, object));
    uint64_t dtype_operand = constant_of(building, dtype);
    uint64_t device = operand_make(OPERAND_IMMEDIATE, building->slot == 0 ? -1 : 0);
    uint64_t storage[] = {operand_make(OPERAND_REGISTER, 0), shape_operand, device, dtype_operand,
        operand_make(OPERAND_REGISTER, 0)};
    uint64_t made =
        operand_make(OPERAND_REGISTER, emit_call(building, "vm.builtin.alloc_storage", storage, 5));
    uint64_t tensor[] = {made, operand_make(OPERAND_IMMEDIATE, 0), shape_operand, dtype_operand};
    uint64_t buffer =
        operand_make(OPERAND_REGISTER, emit_call(building, "vm.builtin.alloc_tensor", tensor, 4));
    uint64_t fill[] = {buffer, constant_of(building, constant)};
    (void)emit_call(building, "test.fill", fill, 2);
    return buffer;
}

static uint64_t operand_of(Building *building, json_object *spec);

static uint64_t emit_tuple(Building *building, json_object *fields) {
    uint64_t operands[OPERANDS_MAX];
    uint32_t count = (uint32_t)json_object_array_length(fields);
    assert_true(count <= OPERANDS_MAX);
    for (uint32_t i = 0; i < count; i++) operands[i] = operand_of(building, at(fields, i));
    return operand_make(
        OPERAND_REGISTER, emit_call(building, "vm.builtin.make_tuple", operands, count));
}

static uint64_t register_of(const Building *building, const char *name) {
    for (uint32_t i = building->register_count; i > 0; i--)
        if (strcmp(building->registers[i - 1].name, name) == 0)
            return operand_make(OPERAND_REGISTER, building->registers[i - 1].index);
    fail_msg("register %s is not written", name);
    return 0;
}

static uint64_t operand_of_object(Building *building, json_object *spec) {
    json_object *value;
    if ((value = get(spec, "f")))
        return constant_of(building, value_float(json_object_get_double(value)));
    if ((value = get(spec, "dtype")))
        return constant_of(building, value_dtype(dtype_find(json_object_get_string(value))));
    if ((value = get(spec, "tensor"))) return constant_of(building, tensor_of(value));
    if ((value = get(spec, "buffer"))) return emit_buffer(building, value);
    if ((value = get(spec, "tuple"))) return emit_tuple(building, value);
    if ((value = get(spec, "ints"))) return emit_tuple(building, value);
    if ((value = get(spec, "register")))
        return register_of(building, json_object_get_string(value));
    if ((value = get(spec, "pack")))
        return emit_closure(building, building->pack[json_object_get_int(value)]);
    if ((value = get(spec, "function")))
        return emit_closure(building, function_of(building, json_object_get_string(value)));
    if ((value = get(spec, "shape"))) {
        Shape shape = shape_of(value);
        ShapeObject *object;
        assert_ok(shape_object_create(&shape, &object));
        return constant_of(building, value_object(OBJECT_SHAPE, object));
    }
    assert_non_null(get(spec, "machine"));
    return operand_make(OPERAND_REGISTER, 0);
}

static uint64_t operand_of(Building *building, json_object *spec) {
    switch (json_object_get_type(spec)) {
    case json_type_null:
        return operand_make(OPERAND_REGISTER, 0);
    case json_type_int:
        return operand_make(OPERAND_IMMEDIATE, json_object_get_int64(spec));
    case json_type_boolean:
        return constant_of(building, value_bool(json_object_get_boolean(spec)));
    case json_type_string:
        return constant_of(building, relax_string(json_object_get_string(spec)));
    case json_type_double:
    case json_type_object:
    case json_type_array:
    default:
        return operand_of_object(building, spec);
    }
}

static void declare_in(Building *building, json_object *spec) {
    if (json_object_is_type(spec, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(spec); i++)
            declare_in(building, at(spec, i));
    } else if (json_object_is_type(spec, json_type_object)) {
        json_object *function = get(spec, "function"), *tuple = get(spec, "tuple");
        if (function) declare(building, json_object_get_string(function));
        if (tuple) declare_in(building, tuple);
    }
}

/* packN(x0, ...): the tuple of its N arguments. */
static void add_packs(Building *building) {
    for (uint32_t n = 0; n < PACK_MAX; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "pack%u", n);
        assert_ok(executable_builder_add_function(
            building->builder, name, FUNCTION_BYTECODE, FUNCTION_NULLS, n, &building->pack[n]));
        assert_ok(executable_builder_begin_code(building->builder, building->pack[n], n + 1));
        uint64_t operands[PACK_MAX + 1] = {operand_make(OPERAND_IMMEDIATE, 0)};
        for (uint32_t i = 0; i < n; i++) operands[1 + i] = operand_make(OPERAND_REGISTER, i);
        assert_ok(executable_builder_add_instruction(
            building->builder, OPCODE_ALLOC_ADT, 0, n, operands, n + 1));
        uint64_t result = operand_make(OPERAND_REGISTER, n);
        assert_ok(executable_builder_add_instruction(
            building->builder, OPCODE_RET, 0, REGISTER_NONE, &result, 1));
    }
}

static void add_step(Building *building, json_object *step) {
    uint64_t operands[OPERANDS_MAX];
    json_object *arguments = at(step, 2);
    uint32_t count = (uint32_t)json_object_array_length(arguments);
    assert_true(count <= OPERANDS_MAX);
    for (uint32_t i = 0; i < count; i++) operands[i] = operand_of(building, at(arguments, i));
    uint32_t to = emit_call(building, json_object_get_string(at(step, 1)), operands, count);
    if (!at(step, 0)) return;
    building->registers[building->register_count].name = json_object_get_string(at(step, 0));
    building->registers[building->register_count++].index = to;
}

/* registers: how many main has; 0: only counts them, and gives no executable. */
static Executable *build_with(json_object *test, uint8_t slot, uint32_t *inout_registers) {
    Building building = {.next_register = 1, .slot = slot};
    assert_ok(executable_builder_create(&building.builder));
    static const char *const always[] = {"vm.builtin.alloc_storage", "vm.builtin.alloc_tensor",
        "vm.builtin.make_tuple", "test.fill"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) declare(&building, always[i]);
    json_object *steps = get(test, "steps"), *give = get(test, "give");
    for (size_t i = 0; i < json_object_array_length(steps); i++) {
        declare(&building, json_object_get_string(at(at(steps, i), 1)));
        declare_in(&building, at(at(steps, i), 2));
    }
    add_packs(&building);
    uint32_t function;
    assert_ok(executable_builder_add_function(building.builder, "main", FUNCTION_BYTECODE,
        FUNCTION_NULLS | FUNCTION_EXPORTED, 0, &function));
    assert_ok(executable_builder_begin_code(
        building.builder, function, *inout_registers ? *inout_registers : REGISTERS));
    for (size_t i = 0; i < json_object_array_length(steps); i++) add_step(&building, at(steps, i));
    uint64_t operands[OPERANDS_MAX];
    uint32_t count = (uint32_t)json_object_array_length(give);
    for (uint32_t i = 0; i < count; i++)
        operands[i] = register_of(&building, json_object_get_string(at(give, i)));
    uint64_t result = operand_make(
        OPERAND_REGISTER, emit_call(&building, "vm.builtin.make_tuple", operands, count));
    assert_ok(executable_builder_add_instruction(
        building.builder, OPCODE_RET, 0, REGISTER_NONE, &result, 1));
    Executable *executable = NULL;
    if (*inout_registers) assert_ok(executable_builder_finish(building.builder, &executable));
    executable_builder_release(building.builder);
    *inout_registers = building.next_register;
    return executable;
}

static Executable *build(json_object *test, uint8_t slot) {
    uint32_t registers = 0;
    (void)build_with(test, slot, &registers);
    return build_with(test, slot, &registers);
}

/* test.fill(to, from) */
static Error *fill(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)call;
    (void)count;
    (void)context;
    *out_result = value_nil();
    if (tensor_bytes(arguments[0].tensor) == 0) return NULL;
    return device_transfer(tensor_place(arguments[0].tensor), tensor_place(arguments[1].tensor),
        tensor_bytes(arguments[1].tensor));
}

/* Functions that TVM calls and that are not called here. */
static Error *not_called(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)call;
    (void)arguments;
    (void)count;
    (void)context;
    (void)out_result;
    FAIL(FAILED, "a function that is not called");
}

static PackedRegistry *create_registry(void) {
    static const char *const names[] = {"test.rnn_get", "test.rnn_set", "test.kv_append",
        "test.kv_append_mla", "test.kv_ragged", "test.kv_prefill", "test.kv_decode",
        "test.kv_prefill_sliding", "test.kv_decode_sliding", "test.kv_tree_paged", "test.kv_tree",
        "test.kv_mla", "test.kv_merge", "test.kv_rotary", "test.kv_copy", "test.kv_debug",
        "test.kv_compact"};
    PackedRegistry *registry;
    assert_ok(packed_registry_create(&registry));
    assert_ok(packed_registry_add(registry, "test.fill", 2, fill, NULL, NULL));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_ok(packed_registry_add(registry, names[i], -1, not_called, NULL, NULL));
    return registry;
}

static bool close_to(double expected, double got, double tolerance) {
    if (expected == got || (isnan(expected) && isnan(got))) return true;
    return fabs(expected - got) <= tolerance * (1 + fabs(expected));
}

static bool matches(json_object *expected, const Value *got, double tolerance);

static bool matches_tensor(json_object *spec, const Tensor *tensor, double tolerance) {
    Shape shape = shape_of(at(spec, 1));
    if (tensor->dtype != dtype_find(json_object_get_string(at(spec, 0)))) return false;
    if (!shape_equal(&shape, &tensor->shape)) return false;
    uint32_t size = dtype_bits(tensor->dtype) / 8;
    void *data;
    assert_ok(memory_alloc(tensor_bytes(tensor) + 1, 1, &data));
    assert_ok(tensor_copy_to_host(tensor, data));
    bool equal = true;
    json_object *items = at(spec, 2);
    for (size_t i = 0; equal && i < json_object_array_length(items); i++) {
        Value value;
        assert_ok(scalar_read(tensor->dtype, (uint8_t *)data + i * size, &value));
        double number = value.tag == VALUE_FLOAT  ? value.real
                        : value.tag == VALUE_BOOL ? (double)value.boolean
                                                  : (double)value.integer;
        equal = close_to(json_object_get_double(at(items, i)), number, tolerance);
    }
    memory_free(data);
    return equal;
}

static bool matches_object(json_object *expected, const Value *got, double tolerance) {
    json_object *spec;
    if ((spec = get(expected, "f")))
        return got->tag == VALUE_FLOAT &&
               close_to(json_object_get_double(spec), got->real, tolerance);
    if ((spec = get(expected, "dtype")))
        return got->tag == VALUE_DTYPE && got->dtype == dtype_find(json_object_get_string(spec));
    if ((spec = get(expected, "shape"))) {
        Shape shape, expected_shape = shape_of(spec);
        if (!value_is(got, OBJECT_SHAPE)) return false;
        assert_ok(shape_object_get(got->shape, &shape));
        return shape_equal(&expected_shape, &shape);
    }
    if ((spec = get(expected, "tensor")))
        return value_is(got, OBJECT_TENSOR) && matches_tensor(spec, got->tensor, tolerance);
    spec = get(expected, "tuple");
    assert_non_null(spec);
    uint32_t count;
    const Value *fields = value_children(got, &count);
    if (!value_is(got, OBJECT_ADT) || count != json_object_array_length(spec)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!matches(at(spec, i), &fields[i], tolerance)) return false;
    return true;
}

static bool matches(json_object *expected, const Value *got, double tolerance) {
    switch (json_object_get_type(expected)) {
    case json_type_null:
        return got->tag == VALUE_NIL;
    case json_type_int:
        return got->tag == VALUE_INT && got->integer == json_object_get_int64(expected);
    case json_type_boolean:
        return got->tag == VALUE_BOOL && got->boolean == json_object_get_boolean(expected);
    case json_type_string:
        return value_is(got, OBJECT_STRING) &&
               strcmp(got->string->text, json_object_get_string(expected)) == 0;
    case json_type_double:
    case json_type_object:
    case json_type_array:
    default:
        return matches_object(expected, got, tolerance);
    }
}

static void check(json_object *test, const char *way, const ProgramOutcome *outcome) {
    const char *name = json_object_get_string(get(test, "name"));
    if (get(test, "fails")) {
        if (!outcome->failed) fail_msg("%s %s: works, and fails in TVM", name, way);
        return;
    }
    if (outcome->failed) fail_msg("%s %s: %s", name, way, outcome->message);
    double tolerance = json_object_get_double(get(test, "tolerance"));
    json_object *expected = get(test, "expect");
    uint32_t count;
    const Value *fields = value_children(&outcome->result, &count);
    assert_int_equal(count, json_object_array_length(expected));
    for (uint32_t i = 0; i < count; i++) {
        if (matches(at(expected, i), &fields[i], tolerance)) continue;
        TextBuilder OWN_TEXT(text) = {0};
        value_print(&fields[i], &text);
        fail_msg("%s %s: result %u is %s, not %s", name, way, i, text_builder_get(&text),
            json_object_to_json_string(at(expected, i)));
    }
}

static Error *through_bytes(void *context, Execution *stopped, Residency *target,
    const ExecutionOptions *options, Execution **out) {
    (void)context;
    OWN(Snapshot, snapshot) = NULL;
    ByteWriter OWN_BYTES(file) = {0};
    OWN(Container, container) = NULL;
    TRY(snapshot_take(stopped, &snapshot));
    TRY(checkpoint_write_memory(snapshot, NULL, &file));
    TRY(container_open_memory(CONTAINER_CHECKPOINT, file.data, file.size, &container));
    Error *error =
        checkpoint_read(container, NULL, CHUNK_VERIFY_SHA256, target, options, NULL, out);
    container_release(TAKE(container)); /* before the bytes it reads */
    return error;
}

static void run_case(json_object *test, Device *cpu, Device *device, uint8_t slot) {
    Executable *executable = build(test, slot);
    assert_ok(executable_identify(executable, NULL));
    Residency *residency;
    assert_ok(residency_create(executable, cpu, device, NULL, &residency));
    PackedRegistry *registry = create_registry();
    ExecutionOptions options = {.packed = registry};
    uint32_t function;
    assert_ok(executable_find_function(executable, "main", &function));
    ProgramRun run = {.residencies = &residency, .residency_count = 1, .options = &options};
    ProgramOutcome straight, stopped;
    program_run(&run, function, &straight);
    check(test, slot ? "straight on a device" : "straight", &straight);
    run.step = 1;
    run.through = through_bytes;
    program_run(&run, function, &stopped);
    check(test, "through bytes at every instruction", &stopped);
    assert_string_equal(straight.message, stopped.message);
    program_outcome_deinit(&straight);
    program_outcome_deinit(&stopped);
    packed_registry_release(registry);
    residency_release(residency);
    executable_release(executable);
}

void relax_cases_run(const char *name) {
    char path[1024];
    (void)snprintf(path, sizeof path, TEST_SOURCE_ROOT "/tests/relax/builtins/%s.json", name);
    json_object *cases = json_object_from_file(path);
    if (!cases) fail_msg("%s: %s", path, json_util_get_last_err());
    Device *cpu, *sim;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0", &sim));
    assert_true(json_object_array_length(cases) > 0);
    for (size_t i = 0; i < json_object_array_length(cases); i++) {
        run_case(at(cases, i), cpu, cpu, 0);
        run_case(at(cases, i), cpu, sim, 1);
    }
    device_close(sim);
    device_close(cpu);
    (void)json_object_put(cases);
}
