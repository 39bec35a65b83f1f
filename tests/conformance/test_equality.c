#include <inttypes.h>

#include "tests/conformance/conformance.h"

/* Inside one determinism class the bits depend on nothing but the inputs. */
typedef struct Variation {
    const char *name;
    uint32_t threads;
    uint32_t offset_elements;
    uint32_t in_place;
    bool pack;
} Variation;

static const Variation variations[] = {
    {"2 threads", 2, 0, 0, false},
    {"3 threads", 3, 0, 0, false},
    {"8 threads", 8, 0, 0, false},
    {"odd offset", 1, 1, 0, false},
    {"other odd offset, 3 threads", 3, 7, 0, false},
    {"over input 0", 1, 0, 1, false},
    {"over input 1", 2, 3, 2, false},
    {"over input 2", 1, 0, 3, false},
    {"over input 3", 1, 0, 4, false},
    {"packed", 1, 0, 0, true},
    {"packed, 3 threads, odd offset", 3, 5, 0, true},
};

static Error *run_hash(ConformanceRun *run, uint64_t *out) {
    TRY(device_call_run(&run->call, run->outputs, &run->kernel_name));
    *out = conformance_hash(run);
    for (uint32_t i = 0; i < CONFORMANCE_OUTPUTS_MAX; i++) {
        tensor_release(run->outputs[i]);
        run->outputs[i] = NULL;
    }
    return NULL;
}

static Error *vary(ConformanceRun *run) {
    uint64_t plain, hash;
    TRY(run_hash(run, &plain));
    DeviceCall call = run->call;
    for (size_t i = 0; i < sizeof variations / sizeof variations[0]; i++) {
        const Variation *variation = &variations[i];
        run->call = call;
        run->call.threads = variation->threads;
        run->call.offset_elements = variation->offset_elements;
        run->call.in_place = variation->in_place;
        run->call.pack = variation->pack;
        TRY_WRAP(run_hash(run, &hash), "%s", variation->name);
        if (hash != plain)
            FAIL(INTERNAL, "%s: other bits with %s", run->kernel_name, variation->name);
    }
    return NULL;
}

static Error *check_equality(Device *device, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    conformance_prepare(device, row, dtype, &run);
    Error *error = vary(&run);
    conformance_run_deinit(&run);
    return error;
}

static void test_cpu_gives_equal_bits_whatever_varies(void **state) {
    (void)state;
    conformance_for_each("cpu:threads=8", check_equality);
}

static void test_sim_gives_equal_bits_whatever_varies(void **state) {
    (void)state;
    conformance_for_each("sim:0", check_equality);
}

/* sim's determinism class is cpu's, so its bits are too. */
static Device *other_device;
static Error *check_same(Device *device, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    uint64_t here = 0, there = 0;
    conformance_prepare(device, row, dtype, &run);
    Error *error = run_hash(&run, &here);
    run.call.device = other_device;
    if (!error) error = run_hash(&run, &there);
    conformance_run_deinit(&run);
    TRY(error);
    if (here != there) FAIL(INTERNAL, "other bits on %s", other_device->name);
    return NULL;
}

static void test_sim_and_cpu_give_equal_bits(void **state) {
    (void)state;
    assert_ok(device_open("sim:1", &other_device));
    conformance_for_each("cpu", check_same);
    device_close(other_device);
}

int test_equality(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_gives_equal_bits_whatever_varies),
        cmocka_unit_test(test_sim_gives_equal_bits_whatever_varies),
        cmocka_unit_test(test_sim_and_cpu_give_equal_bits),
    };
    return cmocka_run_group_tests_name("equality", tests, NULL, NULL);
}
