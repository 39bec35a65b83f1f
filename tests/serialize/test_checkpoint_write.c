#include "serialize/checkpoint.h"

#include <stdio.h>

#include "tests/serialize/checkpoint_fixtures.h"

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

int test_checkpoint_write(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_write_holds_no_constants),
        cmocka_unit_test(test_checkpoint_write_is_repeatable),
        cmocka_unit_test(test_checkpoint_write_file_is_readable_or_absent),
    };
    return cmocka_run_group_tests_name("checkpoint_write", tests, NULL, NULL);
}
