/* The promise itself: every program of tests/programs stopped at every instruction, through the
 * bytes of a checkpoint, into a fresh execution: on cpu, on sim, and from one to the other. A
 * snapshot written while the execution runs on gives the same bytes as one written at rest. */
#include "base/allocator.h"
#include "base/file.h"
#include "compiler/compile.h"
#include "kernels/registry/device_registry.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/container/executable_file.h"
#include "tests/support/test_support.h"
#include "tests/vm/program_runner.h"
#include "vm/objects/value_equal.h"

static Error *to_file(Execution *stopped, ByteWriter *out_file) {
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(stopped, &snapshot));
    return checkpoint_write_memory(snapshot, NULL, out_file);
}

static Error *through_bytes(void *context, Execution *stopped, Residency *target,
    const ExecutionOptions *options, Execution **out) {
    (void)context;
    ByteWriter OWN_BYTES(file) = {0};
    OWN(Container, container) = NULL;
    TRY(to_file(stopped, &file));
    TRY(container_open_memory(CONTAINER_CHECKPOINT, file.data, file.size, &container));
    Error *error =
        checkpoint_read(container, NULL, CHUNK_VERIFY_SHA256, target, options, NULL, out);
    container_release(TAKE(container)); /* before the bytes it reads */
    return error;
}

/* Where programs run; from each to the next one, round. */
static const char *const device_specs[] = {"cpu", "sim:0,lag=20", "sim:1,lacks=*"};
enum { DEVICE_COUNT = sizeof device_specs / sizeof device_specs[0] };

static const struct {
    const char *name;
    uint32_t first, count; /* of the devices */
} ways[] = {
    {"through bytes at every instruction on cpu", 0, 1},
    {"through bytes at every instruction on a sim that lags", 1, 1},
    {"through bytes at every instruction from cpu to sim:0 and back", 0, 2},
    {"through bytes at every instruction on cpu, sim:0, a sim without kernels, round", 0, 3},
};

static void check_function(Residency *const *residencies, const ExecutionOptions *options,
    uint32_t function, const char *name) {
    ProgramRun straight = {.residencies = residencies, .residency_count = 1, .options = options};
    ProgramOutcome expected, got;
    program_run(&straight, function, &expected);
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        ProgramRun run = straight;
        run.residencies = residencies + ways[way].first;
        run.residency_count = ways[way].count;
        run.step = 1;
        run.through = through_bytes;
        program_run(&run, function, &got);
        program_outcomes_compare(name, ways[way].name, &expected, &got);
        program_outcome_deinit(&got);
    }
    program_outcome_deinit(&expected);
}

static void visit_program(const char *path, void *context) {
    Device *const *devices = context;
    Executable *executable = program_load(path);
    Residency *residencies[DEVICE_COUNT];
    ExecutionOptions options = {.yield_limit = 2, .philox_key = 7, .packed = program_registry()};
    assert_ok(executable_identify(executable, NULL));
    for (uint32_t i = 0; i < DEVICE_COUNT; i++)
        assert_ok(residency_create(executable, devices[0], devices[i], NULL, &residencies[i]));
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        /* programs of millions of instructions are stopped once by the vm's own tests */
        if ((function->flags & FUNCTION_EXPORTED) && !strstr(function->name, "_heavy"))
            check_function(residencies, &options, i, function->name);
    }
    packed_registry_release(options.packed);
    for (uint32_t i = 0; i < DEVICE_COUNT; i++) residency_release(residencies[i]);
    executable_release(executable);
}

static void test_programs_survive_bytes_at_every_instruction(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    Device *devices[DEVICE_COUNT];
    for (uint32_t i = 0; i < DEVICE_COUNT; i++)
        assert_ok(device_open(device_specs[i], &devices[i]));
    program_for_each(visit_program, devices);
    for (uint32_t i = 0; i < DEVICE_COUNT; i++) device_close(devices[i]);
}

static Tensor *int_tensor(uint32_t rank, int64_t count, const int64_t *values) {
    Shape shape = {.rank = rank, .dims = {1, count}};
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT64, &shape, &tensor));
    memcpy(tensor_data(tensor), values, (size_t)count * sizeof *values);
    return tensor;
}

static Executable *load_generation_model(void) {
    uint8_t *data;
    size_t size;
    Executable *executable;
    const CompileOptions options = {.folder = NULL};
    assert_ok(file_read(
        TEST_SOURCE_ROOT "/tests/models/small/gpt2_gen_tiny.onnx", 1 << 24, &data, &size));
    assert_ok(compile_source("onnx", data, size, &options, &executable));
    memory_unmap(data, size);
    assert_ok(executable_identify(executable, NULL));
    return executable;
}

/* A snapshot taken at every instruction while the execution runs on, written only at the end, gives
 * the bytes of one written at rest; and each of the stops goes on to the same result. */
static void check_generation(Residency *const residencies[2]) {
    enum { STOPS_MAX = 4096 };
    static Snapshot *snapshots[STOPS_MAX];
    static ByteWriter at_rest[STOPS_MAX];
    static const ExecutionOptions options = {0};
    const int64_t prompt[3] = {1, 2, 3}, rounds = 5;
    Value arguments[2] = {value_object(OBJECT_TENSOR, int_tensor(2, 3, prompt)),
        value_object(OBJECT_TENSOR, int_tensor(0, 1, &rounds))};
    Execution *running, *chained;
    RunResult result = {.kind = RUN_SUSPENDED};
    assert_ok(execution_create(residencies[0], &options, 0, arguments, 2, &running));
    assert_ok(execution_create(residencies[0], &options, 0, arguments, 2, &chained));
    size_t stops = 0;
    while (result.kind != RUN_FINISHED) {
        Execution *next;
        assert_true(stops < STOPS_MAX);
        assert_ok(snapshot_take(running, &snapshots[stops]));
        at_rest[stops] = (ByteWriter){0};
        assert_ok(to_file(running, &at_rest[stops]));
        stops++;
        assert_ok(execution_run(running, (Budget){1}, &result));
        RunResult chained_result;
        assert_ok(through_bytes(NULL, chained, residencies[stops % 2], &options, &next));
        execution_release(chained);
        chained = next;
        assert_ok(execution_run(chained, (Budget){1}, &chained_result));
        assert_int_equal(chained_result.kind, result.kind);
    }
    for (size_t i = 0; i < stops; i++) {
        ByteWriter OWN_BYTES(manifest) = {0}, OWN_BYTES(later) = {0};
        OWN(ContainerFile, file) = NULL;
        Digest identity;
        assert_ok(container_file_create(NULL, &later, &file));
        assert_ok(checkpoint_write(
            snapshots[i], NULL, container_file_get_sink(file), &manifest, &identity));
        assert_ok(container_file_finish(file, manifest.data, manifest.size));
        assert_int_equal(later.size, at_rest[i].size);
        assert_memory_equal(later.data, at_rest[i].data, later.size);
        snapshot_release(snapshots[i]);
        byte_writer_deinit(&at_rest[i]);
    }
    bool equal = false;
    assert_ok(value_equal(execution_get_result(running), execution_get_result(chained), &equal));
    assert_true(equal && stops > 100);
    execution_release(running);
    execution_release(chained);
    for (int i = 0; i < 2; i++) value_release(&arguments[i]);
}

static void test_generation_survives_bytes_at_every_instruction(void **state) {
    (void)state;
    Device *cpu, *sim;
    Residency *residencies[2];
    Executable *executable = load_generation_model();
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0", &sim));
    assert_ok(residency_create(executable, cpu, cpu, NULL, &residencies[0]));
    assert_ok(residency_create(executable, cpu, sim, NULL, &residencies[1]));
    check_generation(residencies);
    residency_release(residencies[0]);
    residency_release(residencies[1]);
    executable_release(executable);
    device_close(cpu);
    device_close(sim);
}

int test_checkpoint_chain(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_survive_bytes_at_every_instruction),
        cmocka_unit_test(test_generation_survives_bytes_at_every_instruction),
    };
    return cmocka_run_group_tests_name("checkpoint_chain", tests, NULL, NULL);
}
