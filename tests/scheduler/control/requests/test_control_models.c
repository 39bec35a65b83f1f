#include "base/text.h"
#include "scheduler/executor/cached_images.h"
#include "scheduler/node/model_loader.h"
#include "tests/scheduler/control_fixtures.h"
#include "vm/assembly/assembly.h"

static Digest register_weights(Store *store) {
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "constant @w slot 1 = float32[2048] {0");
    for (int i = 1; i < 2048; i++) text_appendf(&text, ", %d", i);
    text_append(&text, "}\nfunction main() exported {\n Ret @w\n}\n");
    assert_ok(assembly_parse(text_builder_get(&text), text.size, &executable));
    assert_ok(
        model_loader_register(store, TENANT_DEFAULT, NULL, "w", executable, NULL, 0, &version));
    return executable->identity;
}

/* The files in the cache after a node with these devices was told of a model and ended: what was
 * posted is done by then. */
static uint32_t count_files(const char *const *devices, TenantId tenant) {
    ControlFixture OWN_CONTROL(fixture);
    OWN(WeightCache, cache) = NULL;
    control_fixture_init(&fixture);
    const Digest identity = register_weights(fixture.store);
    assert_ok(weight_cache_open(fixture.home, 1 << 20, &cache));
    const WeightImages images = cached_images(cache);
    fixture.images = &images;
    control_fixture_start(&fixture, devices);
    control_expect_model(fixture.control, tenant, &identity);
    control_fixture_stop(&fixture);
    return weight_cache_count(cache).files;
}

static void test_control_prepares_an_expected_model(void **state) {
    (void)state;
    assert_int_equal(count_files(control_fixture_cpu_and_sim, TENANT_DEFAULT), 1);
}

static void test_control_prepares_for_the_cpu_alone(void **state) {
    (void)state;
    static const char *const devices[] = {"sim:0", NULL};
    assert_int_equal(count_files(devices, TENANT_DEFAULT), 0);
}

static void test_control_prepares_nothing_of_another_tenant(void **state) {
    (void)state;
    assert_int_equal(count_files(control_fixture_cpu_and_sim, TENANT_DEFAULT + 1), 0);
}

int test_control_models(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_prepares_an_expected_model),
        cmocka_unit_test(test_control_prepares_for_the_cpu_alone),
        cmocka_unit_test(test_control_prepares_nothing_of_another_tenant),
    };
    return cmocka_run_group_tests_name("control_models", tests, NULL, NULL);
}
