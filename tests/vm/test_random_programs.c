#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"
#include "vm/objects/closure.h"
#include "vm/code/executable_builder.h"
#include "vm/instruction/instruction.h"

/* Programs made from opcodes.def by their signatures: accepted by the verifier, exact through
 * assembly and back, run to an end or an error; with flipped bits refused or accepted, never more.
 */

enum {
    REGISTERS = 6,
    CONSTANTS = 4,
    INSTRUCTIONS_MAX = 30,
    RUN_INSTRUCTIONS = 2000,
    TRIES_MAX = 100
};

static uint32_t pick(uint64_t *random, uint32_t count) {
    return (uint32_t)(test_random(random) % count);
}

static uint64_t random_register(uint64_t *random) {
    return operand_make(OPERAND_REGISTER, pick(random, REGISTERS));
}

/* An immediate that its letter allows; small numbers where any will do. */
static int64_t random_immediate(uint64_t *random, char letter) {
    switch (letter) {
    case 'd':
    case 'h':
        return pick(random, 2) ? DTYPE_FLOAT32 : DTYPE_INT64;
    case 'q':
        return pick(random, INT_OP_COUNT);
    case 'a':
        return 64;
    case 'g':
        return pick(random, 3);
    default:
        return pick(random, 2);
    }
}

static uint64_t random_operand(uint64_t *random, char letter, uint32_t pc, uint32_t count) {
    switch (letter) {
    case 'v':
    case 'V':
        if (pick(random, 3) == 0)
            return operand_make(OPERAND_IMMEDIATE, (int64_t)pick(random, 5) - 1);
        if (pick(random, 4) == 0) return operand_make(OPERAND_CONSTANT, pick(random, CONSTANTS));
        return random_register(random);
    case 't':
    case 'T':
    case 'n':
        return pick(random, 2) ? operand_make(OPERAND_CONSTANT, 1) : random_register(random);
    case 'k':
        return operand_make(OPERAND_CONSTANT, pick(random, 4));
    case 'm':
        return operand_make(OPERAND_CONSTANT, 2);
    case 'f':
    case 'u':
    case 'l':
        return operand_make(OPERAND_FUNCTION, 0);
    case 'p':
        return operand_make(OPERAND_IMMEDIATE, 0);
    case 'c':
        return operand_make(OPERAND_IMMEDIATE, 1);
    case 'j':
        return operand_make(OPERAND_IMMEDIATE, (int64_t)pick(random, count) - (int64_t)pc);
    case 'r':
    case 'o':
        return random_register(random);
    default:
        return operand_make(OPERAND_IMMEDIATE, random_immediate(random, letter));
    }
}

static Error *add_instruction(
    ExecutableBuilder *builder, uint64_t *random, uint32_t pc, uint32_t count) {
    Opcode opcode = (Opcode)pick(random, OPCODE_COUNT);
    if (pc + 1 == count) opcode = OPCODE_RET;
    const OpcodeInfo *info = &opcode_infos[opcode];
    const char *star = strchr(info->operands, '*');
    uint32_t operand_count = (uint32_t)strlen(info->operands), flags = 0;
    if (star) operand_count = (uint32_t)(star - info->operands) - 1 + pick(random, 3);
    bool is_call = info->operands[0] == 'f' || info->operands[0] == 'u';
    if (is_call) operand_count = 2; /* the function takes one argument */
    if (info->operands[0] == 'l') operand_count = 2 + pick(random, 2);
    if (opcode == OPCODE_INVOKE_PACKED) {
        operand_count = 2 + 2 + 1; /* Add */
        if (pick(random, 2)) flags |= INSTRUCTION_ALLOC;
    }
    bool writes = info->flags & OPCODE_FLAG_WRITES;
    if (info->flags & OPCODE_FLAG_MAYBE) {
        writes = pick(random, 2);
        if (!writes) flags |= INSTRUCTION_NO_DST;
    }
    uint64_t operands[16], head = head_make(opcode, flags, operand_count, 0);
    for (uint32_t i = 0; i < operand_count; i++) {
        uint32_t outputs = opcode == OPCODE_INVOKE_PACKED;
        operands[i] = random_operand(random, opcode_operand_letter(head, i, outputs), pc, count);
    }
    if (opcode == OPCODE_INVOKE_PACKED)
        for (uint32_t i = 2; i < 4; i++) operands[i] = operand_make(OPERAND_CONSTANT, 1);
    return executable_builder_add_instruction(builder, opcode, flags,
        writes ? pick(random, REGISTERS) : REGISTER_NONE, operands, operand_count);
}

/* NULL: an operand would be in the wrong slot, which the signatures do not tell. */
static Executable *try_program(uint64_t *random) {
    ExecutableBuilder *builder;
    uint32_t index, count = 2 + pick(random, INSTRUCTIONS_MAX);
    assert_ok(executable_builder_create(&builder));
    assert_ok(executable_builder_add_function(
        builder, "f", FUNCTION_BYTECODE, FUNCTION_NULLS | FUNCTION_EXPORTED, 1, &index));
    Executable *parts = vm_parse("constant @s = string \"the end\"\nconstant @h = shape [2]\n");
    assert_ok(executable_builder_add_constant(builder, value_int(3), 0, &index));
    assert_ok(executable_builder_add_constant(
        builder, value_object(OBJECT_TENSOR, vm_floats(2, (float[]){1, 2})), 1, &index));
    for (uint32_t i = 0; i < 2; i++)
        assert_ok(executable_builder_add_constant(
            builder, value_copy(parts->constants[i].value), 0, &index));
    executable_release(parts);
    Attributes *attributes;
    assert_ok(attributes_create(&attributes));
    assert_ok(executable_builder_add_primitive(builder, "Add", 14, attributes, &index));
    attributes_release(attributes);
    assert_ok(executable_builder_begin_code(builder, 0, REGISTERS));
    for (uint32_t pc = 0; pc < count; pc++) assert_ok(add_instruction(builder, random, pc, count));
    Executable *executable = NULL;
    Error *error = executable_builder_finish(builder, &executable);
    if (error && !strstr(error_message(error), "not in slot")) assert_ok(error);
    error_free(error);
    executable_builder_release(builder);
    return executable;
}

static Executable *make_program(uint64_t *random) {
    for (uint32_t i = 0; i < TRIES_MAX; i++) {
        Executable *executable = try_program(random);
        if (executable) return executable;
    }
    fail_msg("%d programs in a row have operands in the wrong slot", TRIES_MAX);
    return NULL;
}

static void run(Device *cpu, Device *sim, Executable *executable) {
    Residency *residency;
    Execution *execution;
    assert_ok(residency_create(executable, cpu, sim, NULL, &residency));
    Value argument = value_int(3);
    ExecutionOptions options = {.memory_limit_bytes = {1 << 20, 1 << 20}, .depth_limit = 50};
    assert_ok(execution_create(residency, &options, 0, &argument, 1, &execution));
    RunResult result;
    error_free(execution_run(execution, (Budget){RUN_INSTRUCTIONS}, &result)); /* either is fine */
    execution_release(execution);
    residency_release(residency);
}

static void check_round_trip(const Executable *executable) {
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(assembly_print(executable, true, &text));
    Executable *again = vm_parse(text_builder_get(&text));
    assert_int_equal(executable->code_word_count, again->code_word_count);
    assert_memory_equal(
        executable->code, again->code, executable->code_word_count * sizeof(uint64_t));
    executable_release(again);
}

/* The function's words with one bit flipped, as a reader would bring them. */
static Error *rebuild(const Executable *executable, uint32_t bit, Executable **out) {
    OWN(ExecutableBuilder, builder) = NULL;
    uint32_t index, count = executable->code_word_count;
    TRY(executable_builder_create(&builder));
    TRY(executable_builder_add_function(
        builder, "f", FUNCTION_BYTECODE, FUNCTION_NULLS | FUNCTION_EXPORTED, 1, &index));
    for (uint32_t i = 0; i < executable->constant_count; i++) {
        Value value = value_copy(executable->constants[i].value);
        if (value_is(&value, OBJECT_TENSOR)) {
            value_release(&value);
            value = value_object(OBJECT_TENSOR, vm_floats(2, (float[]){1, 2}));
        }
        TRY(executable_builder_add_constant(builder, value, executable->constants[i].slot, &index));
    }
    TRY(executable_builder_add_primitive(
        builder, "Add", 14, executable->primitives[0].attributes, &index));
    void *memory;
    TRY(memory_alloc(count, sizeof(uint64_t), &memory));
    uint64_t *words = memory;
    memcpy(words, executable->code, count * sizeof *words);
    words[bit / 64] ^= UINT64_C(1) << (bit % 64);
    Error *error = executable_builder_set_code(builder, 0, REGISTERS, words, count);
    memory_free(words);
    TRY(error);
    return executable_builder_finish(builder, out);
}

static void test_random_programs_are_accepted_and_survive_assembly(void **state) {
    (void)state;
    uint64_t random = 11;
    Device *cpu, *sim;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0", &sim));
    for (int i = 0; i < 500; i++) {
        Executable *executable = make_program(&random);
        check_round_trip(executable);
        run(cpu, sim, executable);
        executable_release(executable);
    }
    device_close(sim);
    device_close(cpu);
}

static void test_flipped_bits_are_refused_or_run_without_a_crash(void **state) {
    (void)state;
    uint64_t random = 12;
    uint32_t accepted = 0, refused = 0;
    Device *cpu, *sim;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0", &sim));
    for (int i = 0; i < 60; i++) {
        Executable *executable = make_program(&random);
        for (int flip = 0; flip < 60; flip++) {
            Executable *flipped = NULL;
            Error *error =
                rebuild(executable, pick(&random, executable->code_word_count * 64), &flipped);
            refused += error != NULL;
            error_free(error);
            if (!flipped) continue;
            accepted++;
            run(cpu, sim, flipped);
            check_round_trip(flipped);
            executable_release(flipped);
        }
        executable_release(executable);
    }
    assert_true(accepted > 100 && refused > 100);
    device_close(sim);
    device_close(cpu);
}

int test_random_programs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_are_accepted_and_survive_assembly),
        cmocka_unit_test(test_flipped_bits_are_refused_or_run_without_a_crash),
    };
    return cmocka_run_group_tests_name("random_programs", tests, NULL, NULL);
}
