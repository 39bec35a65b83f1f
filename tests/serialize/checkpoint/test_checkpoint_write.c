#include "serialize/checkpoint/checkpoint_storage.h"
#include "serialize/checkpoint/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/serialize/checkpoint_fixtures.h"
#include "tests/serialize/section_mutation.h"
#include "tests/vm/vm_fixture.h"

/* The weights (1.2 MB) are named, not written; live tensors are, at no more than their size. */
static void test_checkpoint_write_holds_no_constants(void **state) {
    (void)state;
    for (uint64_t instructions = 0; instructions < 8; instructions++) {
        CheckpointExample example;
        checkpoint_example_init(&example, instructions);
        assert_int_equal(container_bulk_count(example.container), 0);
        assert_true(example.manifest.size < 2000);
        checkpoint_example_deinit(&example);
    }
}

/* The same state gives the same bytes, whoever writes it. */
static void test_checkpoint_write_is_repeatable(void **state) {
    (void)state;
    CheckpointExample a, b;
    checkpoint_example_init(&a, 5);
    checkpoint_example_init(&b, 5);
    assert_int_equal(a.manifest.size, b.manifest.size);
    assert_memory_equal(a.manifest.data, b.manifest.data, a.manifest.size);
    checkpoint_example_deinit(&a);
    checkpoint_example_deinit(&b);
}

static void test_checkpoint_write_file_is_readable_or_absent(void **state) {
    (void)state;
    char folder[64], path[128];
    uint64_t bytes;
    OWN(Executable, executable) = example_executable();
    Residency *residency = example_residency(executable);
    Execution *execution = example_execution(residency, 4);
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/c.lvc", folder);
    assert_ok(checkpoint_write_file(snapshot, NULL, path, &bytes));
    Container *container;
    assert_ok(container_open_path(CONTAINER_CHECKPOINT, path, &container));
    container_release(container);
    assert_fails(IO, checkpoint_write_file(snapshot, NULL, "/nowhere/c.lvc", &bytes));
    snapshot_release(snapshot);
    execution_release(execution);
    residency_release(residency);
    example_close();
    test_folder_remove(folder);
}

/* Three tensors of two chunks each, one instruction apart. */
static const char growing[] =
    "primitive %neg = Neg\nprimitive %abs = Abs\n"
    "function f(a: float32[n]) -> (y: float32[n], z: float32[n]) exported {\n"
    "    InvokePacked %neg r0 -> r1\n    InvokePacked %abs r1 -> r2\n"
    "    AllocADT 0, r1, r2 -> r3\n    Ret r3\n}\n";
enum { GROWING_COUNT = 2 * CHUNK_SIZE / sizeof(float) };

static Execution *start_growing(const VmMachine *machine) {
    static float values[GROWING_COUNT];
    for (size_t i = 0; i < GROWING_COUNT; i++) values[i] = (float)i;
    Value argument = value_object(OBJECT_TENSOR, vm_floats(GROWING_COUNT, values));
    Execution *execution = vm_start(machine, "f", &argument, 1, NULL);
    value_release(&argument);
    return execution;
}

static Error *write_to(Execution *execution, MemoryStore *store, ByteWriter *out_manifest) {
    OWN(Snapshot, snapshot) = NULL;
    Digest identity;
    TRY(snapshot_take(execution, &snapshot));
    return checkpoint_write(snapshot, NULL, memory_store_sink(store), out_manifest, &identity);
}

/* What a store has already is not put again; nor does it cross the link, as the device's fifth
 * copy would tell. */
static void check_only_new_chunks(const char *device) {
    VmMachine machine = vm_machine(growing, device);
    MemoryStore store = {0}, other = {0};
    ByteWriter OWN_BYTES(first) = {0};
    ByteWriter OWN_BYTES(second) = {0};
    ByteWriter OWN_BYTES(again) = {0};
    ByteWriter OWN_BYTES(last) = {0};
    Execution *execution = start_growing(&machine);
    assert_int_equal(vm_run(execution, 1), RUN_SUSPENDED);
    assert_ok(write_to(execution, &store, &first));
    const size_t before = store.put_count;
    assert_int_equal(vm_run(execution, 1), RUN_SUSPENDED);
    assert_ok(write_to(execution, &store, &second));
    assert_int_equal(store.put_count, before + 2);
    assert_ok(write_to(execution, &store, &again));
    assert_int_equal(store.put_count, before + 2);
    assert_int_equal(again.size, second.size);
    assert_memory_equal(again.data, second.data, again.size);
    Error *error = write_to(execution, &other, &last);
    if (machine.device->class_->host_memory)
        assert_ok(error);
    else
        assert_fails(FAILED, error);
    execution_release(execution);
    memory_store_deinit(&store);
    memory_store_deinit(&other);
    vm_machine_deinit(&machine);
}

/* Nor what came from the store. */
static void test_checkpoint_write_knows_what_was_read(void **state) {
    (void)state;
    static const ExecutionOptions options = {0};
    VmMachine machine = vm_machine(growing, "sim:0,fail-copy=6");
    MemoryStore store = {0};
    ByteWriter OWN_BYTES(first) = {0};
    ByteWriter OWN_BYTES(again) = {0};
    OWN(Container, container) = NULL;
    Execution *execution = start_growing(&machine), *restored;
    assert_int_equal(vm_run(execution, 2), RUN_SUSPENDED);
    assert_ok(write_to(execution, &store, &first)); /* copies 2 and 3; 4 and 5 bring them back */
    const size_t before = store.put_count;
    assert_ok(container_open_manifest(
        CONTAINER_CHECKPOINT, first.data, first.size, memory_store_source(&store), &container));
    assert_ok(checkpoint_read(
        container, NULL, CHUNK_VERIFY_SHA256, machine.residency, &options, NULL, &restored));
    assert_ok(write_to(restored, &store, &again));
    assert_int_equal(store.put_count, before);
    assert_memory_equal(again.data, first.data, first.size);
    execution_release(restored);
    execution_release(execution);
    memory_store_deinit(&store);
    vm_machine_deinit(&machine);
}

/* A row of 8 KiB a round, each another one. */
static const char caching[] = "constant @one = float32[] {1}\nconstant @none = float32[0] {}\n"
                              "primitive %add = Add\nprimitive %append = Append {axis=0}\n"
                              "function f(a: float32[n]) exported last_uses {\n"
                              "    LoadConst @none -> r1\nhead:\n"
                              "    InvokePacked %add r0, @one -> r0\n"
                              "    InvokePacked %append r1, r0 -> r1\n    Goto head\n}\n";
enum { ROW_COUNT = 2048, ROW_BYTES = ROW_COUNT * sizeof(float) };

static const Storage *cache_of(Execution *execution) {
    OWN(Snapshot, snapshot) = NULL;
    assert_ok(snapshot_take(execution, &snapshot));
    assert_int_equal(snapshot->registers[1].index, 1);
    return snapshot->registers[1].value.tensor->storage; /* the execution holds it, too */
}

/* The same file with the one storage that grows said to be of another kind. */
static Error *read_as(const VmMachine *machine, MemoryStore *store, const ByteWriter *manifest,
    uint8_t kind, Execution **out) {
    static const ExecutionOptions options = {0};
    OWN(Container, container) = NULL;
    ByteReader section;
    const uint8_t *bytes;
    TRY(container_open_manifest(CONTAINER_CHECKPOINT, manifest->data, manifest->size,
        memory_store_source(store), &container));
    TRY(container_get_section(container, SECTION_OBJECTS, &section));
    const size_t size = byte_reader_left(&section);
    TRY(byte_read_view(&section, size, &bytes));
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    uint32_t found = 0;
    for (size_t i = 0; i + 4 <= size; i++)
        if (memcmp(copy + i, ((uint8_t[]){OBJECT_STORAGE, 1, CHECKPOINT_STORAGE_APPEND, 0}), 4) ==
            0) {
            copy[i + 2] = kind;
            found++;
        }
    assert_int_equal(found, 1);
    OWN(Container, other) =
        section_replace(container, SECTION_OBJECTS, copy, size, memory_store_source(store));
    free(copy);
    return checkpoint_read(
        other, NULL, CHUNK_VERIFY_SHA256, machine->residency, &options, NULL, out);
}

/* 33 rows are 16 chunks of 16 KiB and a half; with four more the half one is another one, and two
 * come behind it. The last half chunk is the row itself. */
static void check_caches(const char *device) {
    enum { ROUND = 3, BEFORE = 33, BEHIND = 4 };
    VmMachine machine = vm_machine(caching, device);
    MemoryStore store = {0};
    ByteWriter OWN_BYTES(first) = {0};
    ByteWriter OWN_BYTES(second) = {0};
    ByteWriter OWN_BYTES(again) = {0};
    static const float row[ROW_COUNT];
    Value argument = value_object(OBJECT_TENSOR, vm_floats(ROW_COUNT, row));
    Execution *execution = vm_start(&machine, "f", &argument, 1, NULL), *restored = NULL;
    value_release(&argument);
    assert_int_equal(vm_run(execution, 1 + ROUND * BEFORE), RUN_SUSPENDED);
    assert_ok(write_to(execution, &store, &first));
    assert_int_equal(store.put_count, 17);
    const Storage *storage = cache_of(execution);
    assert_int_equal(vm_run(execution, ROUND * BEHIND), RUN_SUSPENDED);
    assert_ptr_equal(cache_of(execution), storage); /* it grew in place */
    assert_ok(write_to(execution, &store, &second));
    assert_int_equal(store.put_count, 17 + 3);
    assert_fails_saying(
        CORRUPT, "chunks of 16384", read_as(&machine, &store, &second, 0, &restored));
    assert_fails_saying(
        CORRUPT, "chunks of 16384", read_as(&machine, &store, &second, 1, &restored));
    assert_ok(read_as(&machine, &store, &second, CHECKPOINT_STORAGE_APPEND, &restored));
    assert_ok(write_to(restored, &store, &again));
    assert_int_equal(again.size, second.size);
    assert_memory_equal(again.data, second.data, again.size);
    const Storage *other = cache_of(restored);
    assert_int_equal(other->size, storage->size); /* as much room */
    assert_int_equal(other->filled, (BEFORE + BEHIND) * ROW_BYTES);
    assert_int_equal(vm_run(restored, ROUND * BEHIND), RUN_SUSPENDED);
    assert_ptr_equal(cache_of(restored), other);
    execution_release(restored);
    execution_release(execution);
    memory_store_deinit(&store);
    vm_machine_deinit(&machine);
}

static void test_checkpoint_write_of_what_grows_puts_only_its_end(void **state) {
    (void)state;
    check_caches("cpu");
    check_caches("sim:0");
}

static void test_checkpoint_write_puts_only_what_is_new(void **state) {
    (void)state;
    check_only_new_chunks("cpu");
    check_only_new_chunks("sim:0,fail-copy=5");
}

int test_checkpoint_write(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_write_holds_no_constants),
        cmocka_unit_test(test_checkpoint_write_is_repeatable),
        cmocka_unit_test(test_checkpoint_write_puts_only_what_is_new),
        cmocka_unit_test(test_checkpoint_write_of_what_grows_puts_only_its_end),
        cmocka_unit_test(test_checkpoint_write_knows_what_was_read),
        cmocka_unit_test(test_checkpoint_write_file_is_readable_or_absent),
    };
    return cmocka_run_group_tests_name("checkpoint_write", tests, NULL, NULL);
}
