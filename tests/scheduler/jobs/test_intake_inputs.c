#include "scheduler/jobs/intake_inputs.h"

#include <string.h>

#include "base/allocator.h"
#include "serialize/arrays/npz.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/serialize/memory_npz.h"
#include "tests/serialize/serialize_fixtures.h"
#include "tests/support/test_support.h"

static Tenant tenant_of(int64_t host_bytes) {
    Tenant tenant = {.id = 1};
    for (int i = 0; i < QUOTA_COUNT; i++) tenant.quotas[i] = QUOTA_UNLIMITED;
    tenant.quotas[QUOTA_HOST_BYTES] = host_bytes;
    return tenant;
}

/* What is streamed and what is read at once is stored as the same bytes and chunks. */
static void test_intake_inputs_store_what_reading_all_would(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(file) = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    MemoryStore __attribute__((cleanup(memory_store_deinit))) streamed = {0};
    MemoryStore __attribute__((cleanup(memory_store_deinit))) whole = {0};
    ArrayBundle OWN_BUNDLE(a) = {0};
    ArrayBundle OWN_BUNDLE(b) = {0};
    OWN(MemoryBudget, budget) = NULL;
    IntakeInputs OWN_INTAKE_INPUTS(inputs) = {0};
    OWN(WorkerPool, pool) = NULL;
    const Tenant tenant = tenant_of(QUOTA_UNLIMITED);
    fixture_add_floats(&arrays, "small", &(Shape){1, {10}}, 3);
    fixture_add_floats(&arrays, "large", &(Shape){2, {3 << 20, 2}}, 1);
    fixture_add_floats(&arrays, "middle", &(Shape){1, {50000}}, 2);
    stored_npz(&arrays, &file);
    assert_ok(worker_pool_create("intake", 2, &pool));
    assert_ok(intake_inputs_budget(&budget));
    assert_ok(intake_inputs_open(file.data, file.size, &inputs));
    assert_ok(intake_inputs_charge(&inputs, budget, &tenant));
    assert_ok(intake_inputs_read(&inputs));
    assert_true(inputs.streams);
    assert_ok(intake_inputs_write(&inputs, pool, memory_store_sink(&streamed), &a));
    assert_ok(array_bundle_write(&arrays, pool, memory_store_sink(&whole), &b));
    assert_int_equal(a.bytes.size, b.bytes.size);
    assert_memory_equal(a.bytes.data, b.bytes.data, a.bytes.size);
    assert_int_equal(a.chunk_count, b.chunk_count);
    for (size_t i = 0; i < a.chunk_count; i++)
        assert_true(digest_equal(&a.chunks[i].hash, &b.chunks[i].hash));
}

/* A bomb is measured, refused, or streamed: in none of these does it come into memory. */
static void test_intake_inputs_keep_a_bomb_out_of_memory(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(bomb) = {0};
    ArrayList OWN_ARRAYS(outlines) = {0};
    MemoryStore __attribute__((cleanup(memory_store_deinit))) store = {0};
    ArrayBundle OWN_BUNDLE(bundle) = {0};
    OWN(MemoryBudget, budget) = NULL;
    IntakeInputs OWN_INTAKE_INPUTS(inputs) = {0};
    char name[] = "x", main_name[] = "main";
    Port port = {.name = name, .dtype = DTYPE_FLOAT32, .rank_known = true, .shape = {1, {-1}}};
    const Function function = {.name = main_name, .parameter_count = 1, .parameters = &port};
    const Tenant small = tenant_of(1 << 20), large = tenant_of(QUOTA_UNLIMITED);
    const uint64_t size = (uint64_t)1 << 30, room = (uint64_t)96 << 20;
    deflated_npz("x", "<f4", "(268435456,)", size, &bomb);
    assert_ok(memory_budget_create("inputs", (uint64_t)64 << 20, 0, &budget));
    uint64_t before = resident_bytes();
    assert_ok(intake_inputs_open(bomb.data, bomb.size, &inputs));
    assert_ok(intake_inputs_outline(&inputs, &outlines));
    assert_fails_saying(EXHAUSTED, "host_bytes: the inputs are 1073741824 bytes, of 1048576",
        intake_inputs_check(&inputs, &function, false, &small));
    assert_ok(intake_inputs_check(&inputs, &function, false, &large));
    assert_ok(intake_inputs_charge(&inputs, budget, &large));
    assert_ok(intake_inputs_read(&inputs));
    assert_true(resident_bytes() < before + room);
    assert_ok(intake_inputs_write(&inputs, NULL, memory_store_sink(&store), &bundle));
    assert_true(resident_bytes() < before + room);
    assert_int_equal(bundle.chunk_count, 1024);
}

/* What must be in memory as a whole is charged as a whole. */
static void test_intake_inputs_charge_what_cannot_be_streamed(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(file) = {0};
    OWN(MemoryBudget, budget) = NULL;
    IntakeInputs OWN_INTAKE_INPUTS(inputs) = {0};
    const Tenant tenant = tenant_of(QUOTA_UNLIMITED);
    deflated_npz("x", "<U1", "(16777216,)", 64 << 20, &file);
    assert_ok(memory_budget_create("inputs", (uint64_t)64 << 20, 1, &budget));
    assert_ok(intake_inputs_open(file.data, file.size, &inputs));
    uint64_t before = resident_bytes();
    assert_fails_saying(EXHAUSTED, "bytes of memory for inputs are needed",
        intake_inputs_charge(&inputs, budget, &tenant));
    assert_true(resident_bytes() < before + (16 << 20));
}

static void test_intake_inputs_may_be_none(void **state) {
    (void)state;
    IntakeInputs OWN_INTAKE_INPUTS(inputs) = {0};
    assert_ok(intake_inputs_open(NULL, 0, &inputs));
    assert_int_equal(inputs.file.count, 0);
    assert_fails_saying(CORRUPT, "not a zip file", intake_inputs_open("", 0, &inputs));
}

static void test_intake_inputs_share_follows_the_quota(void **state) {
    (void)state;
    enum { MIB = 1 << 20 };
    OWN(MemoryBudget, budget) = NULL;
    assert_ok(memory_budget_create("inputs", (uint64_t)256 * MIB, 1, &budget));
    assert_int_equal(intake_inputs_share(budget, QUOTA_UNLIMITED), 128 * MIB);
    assert_int_equal(intake_inputs_share(budget, 100 * MIB), 100 * MIB);
    assert_int_equal(intake_inputs_share(budget, 10), 32 * MIB);
    assert_int_equal(intake_inputs_share(budget, INT64_MAX), 128 * MIB);
}

int test_intake_inputs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intake_inputs_store_what_reading_all_would),
        cmocka_unit_test(test_intake_inputs_keep_a_bomb_out_of_memory),
        cmocka_unit_test(test_intake_inputs_charge_what_cannot_be_streamed),
        cmocka_unit_test(test_intake_inputs_may_be_none),
        cmocka_unit_test(test_intake_inputs_share_follows_the_quota),
    };
    return cmocka_run_group_tests_name("intake_inputs", tests, NULL, NULL);
}
