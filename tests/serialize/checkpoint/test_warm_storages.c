#include "serialize/checkpoint/warm_storages.h"

#include "serialize/checkpoint/checkpoint.h"
#include "tests/serialize/serialize_fixtures.h"
#include "tests/vm/vm_fixture.h"
#include "vm/execution/snapshot.h"
#include "vm/objects/value_equal.h"

/* Big values that stay, one that is changed in place, one that grows at its end, one in a storage
 * of the program's own. */
static const char program[] =
    "primitive %neg = Neg\nprimitive %abs = Abs\nprimitive %add = Add\n"
    "primitive %append = Append {axis=0}\n"
    "constant @s = shape [300000]\n"
    "function f(a: float32[n], b: float32[m]) -> (y: any) exported last_uses {\n"
    "    InvokePacked %neg r0 -> r2\n"
    "    InvokePacked %abs r0 -> r3\n"
    "    InvokePacked %append r1, r1 -> r4\n"
    "    AllocTensorReg _, 0, float32, @s -> r5\n"
    "    InvokePacked %neg r0 => r5\n"
    "    InvokePacked %neg r3 -> r3\n"
    "    InvokePacked %append r4, r1 -> r4\n"
    "    InvokePacked %neg r3 -> r3\n"
    "    InvokePacked %append r4, r1 -> r4\n"
    "    InvokePacked %neg r2 => r5\n"
    "    InvokePacked %add r2, r0 -> r2\n"
    "    AllocADT 0, r0, r2, r3, r4, r5 -> r6\n"
    "    Ret r6\n}\n";
enum { ELEMENTS = 300000, PIECE = 9000, LENGTH = 13 };

typedef struct Rounds {
    VmMachine machine;
    MemoryStore store;
    _Atomic size_t gets;
    Execution *running;
    ByteWriter manifest;
    Container *container; /* of the newest checkpoint */
} Rounds;

static Error *counting_get(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    Rounds *rounds = self;
    rounds->gets++;
    ChunkSource source = memory_store_source(&rounds->store);
    return source.get(source.self, ref, inout_stored);
}

static Value floats(uint32_t count, uint64_t seed) {
    static float values[ELEMENTS];
    fixture_fill_normal(&seed, values, count, 1);
    return value_object(OBJECT_TENSOR, vm_floats(count, values));
}

static void rounds_init(Rounds *rounds, const char *device) {
    *rounds = (Rounds){.machine = vm_machine(program, device)};
    Value arguments[] = {floats(ELEMENTS, 1), floats(PIECE, 2)};
    rounds->running = vm_start(&rounds->machine, "f", arguments, 2, NULL);
    for (int i = 0; i < 2; i++) value_release(&arguments[i]);
}

static void rounds_deinit(Rounds *rounds) {
    execution_release(rounds->running);
    container_release(rounds->container);
    byte_writer_deinit(&rounds->manifest);
    memory_store_deinit(&rounds->store);
    vm_machine_deinit(&rounds->machine);
}

static void write_checkpoint(Rounds *rounds, Execution *execution, ByteWriter *out_manifest) {
    OWN(Snapshot, snapshot) = NULL;
    Digest identity;
    assert_ok(snapshot_take(execution, &snapshot));
    assert_ok(checkpoint_write(
        snapshot, NULL, memory_store_sink(&rounds->store), out_manifest, &identity));
}

/* A few instructions further, the checkpoint there. */
static void rounds_step(Rounds *rounds, uint64_t instructions) {
    assert_int_equal(vm_run(rounds->running, instructions), RUN_SUSPENDED);
    container_release(rounds->container);
    byte_writer_deinit(&rounds->manifest);
    rounds->manifest = (ByteWriter){0};
    write_checkpoint(rounds, rounds->running, &rounds->manifest);
    assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, rounds->manifest.data,
        rounds->manifest.size, (ChunkSource){counting_get, rounds}, &rounds->container));
}

static WarmStorages *make_warm(const Rounds *rounds, uint64_t limit_bytes) {
    WarmStorages *warm;
    assert_ok(warm_storages_create(rounds->machine.residency->devices, limit_bytes, &warm));
    return warm;
}

static Execution *restore(const Rounds *rounds, WarmStorages *warm) {
    static const ExecutionOptions options = {0};
    Execution *execution;
    assert_ok(checkpoint_read(rounds->container, NULL, CHUNK_VERIFY_SHA256,
        rounds->machine.residency, &options, warm, &execution));
    return execution;
}

/* What is restored has the same memory, the same bytes, and goes on to the same end. */
static void check_restored(Rounds *rounds, Execution *warm) {
    ByteWriter OWN_BYTES(manifest) = {0};
    bool equal = false;
    OWN(Execution, cold) = restore(rounds, NULL);
    for (uint8_t slot = 0; slot < SLOT_COUNT; slot++)
        assert_int_equal(memory_pool_used_bytes(execution_get_pool(warm, slot)),
            memory_pool_used_bytes(execution_get_pool(cold, slot)));
    write_checkpoint(rounds, warm, &manifest);
    assert_int_equal(manifest.size, rounds->manifest.size);
    assert_memory_equal(manifest.data, rounds->manifest.data, manifest.size);
    assert_int_equal(vm_run(warm, 0), RUN_FINISHED);
    assert_int_equal(vm_run(cold, 0), RUN_FINISHED);
    assert_ok(value_equal(execution_get_result(warm), execution_get_result(cold), &equal));
    assert_true(equal);
    for (uint8_t slot = 0; slot < SLOT_COUNT; slot++)
        assert_int_equal(memory_pool_used_bytes(execution_get_pool(warm, slot)),
            memory_pool_used_bytes(execution_get_pool(cold, slot)));
}

/* Stopped anywhere, with a set of any earlier moment. */
static void check_everywhere(const char *device) {
    for (uint64_t first = 1; first < LENGTH; first++)
        for (uint64_t more = 1; first + more < LENGTH; more += 3) {
            Rounds rounds;
            rounds_init(&rounds, device);
            OWN(WarmStorages, warm) = make_warm(&rounds, 0);
            rounds_step(&rounds, first);
            assert_ok(warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
            rounds_step(&rounds, more);
            OWN(Execution, execution) = restore(&rounds, warm);
            assert_int_equal(warm_storages_bytes(warm), 0);
            check_restored(&rounds, execution);
            execution_release(TAKE(execution));
            warm_storages_release(TAKE(warm));
            rounds_deinit(&rounds);
        }
}

static void test_warm_storages_give_the_same_execution_everywhere(void **state) {
    (void)state;
    check_everywhere("cpu");
}

static void test_warm_storages_leave_far_memory_to_its_reader(void **state) {
    (void)state;
    check_everywhere("sim:0");
}

/* The inputs and what does not change stay; of what grows the chunks in front are copied. */
static void test_warm_storages_fetch_only_what_is_new(void **state) {
    (void)state;
    Rounds rounds;
    rounds_init(&rounds, "cpu");
    OWN(WarmStorages, warm) = make_warm(&rounds, 0);
    rounds_step(&rounds, 6);
    assert_ok(warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
    const uint64_t held = warm_storages_bytes(warm);
    assert_true(held > 4 * ELEMENTS * sizeof(float));
    rounds.gets = 0;
    size_t before = rounds.store.put_count;
    rounds_step(&rounds, 1); /* a piece is appended */
    assert_ok(warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
    size_t added = rounds.store.put_count - before;
    assert_true(added > 0 && added < 6);
    assert_int_equal(rounds.gets, added);
    assert_ok(warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
    assert_int_equal(rounds.gets, added);
    before = rounds.store.put_count;
    rounds_step(&rounds, 1); /* a value is changed back in place: its bytes were there once */
    OWN(Execution, execution) = restore(&rounds, warm);
    WarmCounts counts = warm_storages_get_counts(warm);
    assert_true(counts.kept > 10 * ELEMENTS && counts.copied > 0);
    assert_true(rounds.gets - added <= 2);
    check_restored(&rounds, execution);
    execution_release(TAKE(execution));
    warm_storages_release(TAKE(warm));
    rounds_deinit(&rounds);
}

/* What has no room in the set is read as ever. */
static void test_warm_storages_hold_no_more_than_they_may(void **state) {
    (void)state;
    Rounds rounds;
    rounds_init(&rounds, "cpu");
    OWN(WarmStorages, warm) = make_warm(&rounds, 3 << 20);
    rounds_step(&rounds, 6);
    assert_ok(warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
    assert_true(warm_storages_bytes(warm) > 0 && warm_storages_bytes(warm) <= 2 * (3 << 20));
    OWN(Execution, execution) = restore(&rounds, warm);
    check_restored(&rounds, execution);
    execution_release(TAKE(execution));
    warm_storages_release(TAKE(warm));
    rounds_deinit(&rounds);
}

/* The limits of the execution are its own: nothing comes in beside them. */
static void test_warm_storages_do_not_widen_an_executions_limits(void **state) {
    (void)state;
    static const ExecutionOptions options = {.memory_limit_bytes = {1 << 20, 1 << 20}};
    Rounds rounds;
    Execution *execution = NULL;
    rounds_init(&rounds, "cpu");
    OWN(WarmStorages, warm) = make_warm(&rounds, 0);
    rounds_step(&rounds, 6);
    assert_ok(warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
    assert_fails(EXHAUSTED, checkpoint_read(rounds.container, NULL, CHUNK_VERIFY_SHA256,
                                rounds.machine.residency, &options, warm, &execution));
    assert_null(execution);
    assert_int_equal(warm_storages_bytes(warm), 0);
    execution = restore(&rounds, warm); /* the set is empty, and works */
    check_restored(&rounds, execution);
    execution_release(execution);
    warm_storages_release(TAKE(warm));
    rounds_deinit(&rounds);
}

static void test_warm_storages_are_empty_after_a_failure(void **state) {
    (void)state;
    Rounds rounds;
    rounds_init(&rounds, "cpu");
    OWN(WarmStorages, warm) = make_warm(&rounds, 0);
    rounds_step(&rounds, 2);
    assert_ok(warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
    size_t before = rounds.store.count;
    rounds_step(&rounds, 2);
    assert_true(rounds.store.count > before);
    memory_store_get(&rounds.store, rounds.store.count - 1)->data[40] ^= 1;
    assert_fails(CORRUPT, warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
    assert_int_equal(warm_storages_bytes(warm), 0);
    memory_store_get(&rounds.store, rounds.store.count - 1)->data[40] ^= 1;
    assert_ok(warm_storages_read(warm, rounds.container, NULL, CHUNK_VERIFY_SHA256));
    OWN(Execution, execution) = restore(&rounds, warm);
    check_restored(&rounds, execution);
    execution_release(TAKE(execution));
    warm_storages_release(TAKE(warm));
    rounds_deinit(&rounds);
}

int test_warm_storages(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_storages_give_the_same_execution_everywhere),
        cmocka_unit_test(test_warm_storages_leave_far_memory_to_its_reader),
        cmocka_unit_test(test_warm_storages_fetch_only_what_is_new),
        cmocka_unit_test(test_warm_storages_hold_no_more_than_they_may),
        cmocka_unit_test(test_warm_storages_do_not_widen_an_executions_limits),
        cmocka_unit_test(test_warm_storages_are_empty_after_a_failure),
    };
    return cmocka_run_group_tests_name("warm_storages", tests, NULL, NULL);
}
