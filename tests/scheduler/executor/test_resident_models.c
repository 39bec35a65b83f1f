#include "scheduler/executor/resident_models.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "kernels/registry/device_registry.h"
#include "scheduler/executor/cached_images.h"
#include "scheduler/node/model_loader.h"
#include "store/models/models.h"
#include "store/accounts/tenants_internal.h"
#include "store/database/transaction.h"
#include "tests/support/test_support.h"
#include "vm/assembly/assembly.h"

static const char program[] = "constant @w = float32[2] {1, 2}\n"
                              "function main(a: float32[2]) -> (y: float32[2]) exported {\n"
                              "    Ret @w\n"
                              "}\n";

typedef struct Fixture {
    char folder[64], home[128];
    Store *store;
    Device *host, *sim;
    Digest identity;
    ResidentModels *models;
    int warnings;
    char warning[512]; /* the last */
} Fixture;

static void note_warning(void *context, const char *text) {
    Fixture *fixture = context;
    fixture->warnings++;
    (void)snprintf(fixture->warning, sizeof fixture->warning, "%s", text);
}

static Error *create(
    Fixture *fixture, const WeightImages *images, uint64_t idle_bytes_max, ResidentModels **out) {
    const ResidentModelsOptions options = {.store = fixture->store,
        .host = fixture->host,
        .images = images,
        .idle_bytes_max = idle_bytes_max,
        .warn = note_warning,
        .warn_context = fixture};
    return resident_models_create(&options, out);
}

static void register_program(Fixture *fixture) {
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    assert_ok(assembly_parse(program, strlen(program), &executable));
    assert_ok(model_loader_register(
        fixture->store, TENANT_DEFAULT, NULL, "m", executable, NULL, 0, &version));
    fixture->identity = executable->identity;
}

static int setup(void **state) {
    static Fixture fixture;
    test_folder_create(fixture.folder);
    (void)snprintf(fixture.home, sizeof fixture.home, "%s/home", fixture.folder);
    assert_ok(store_open(fixture.home, STORE_CREATE, &fixture.store));
    assert_ok(device_open("cpu", &fixture.host));
    assert_ok(device_open("sim:0", &fixture.sim));
    assert_ok(create(&fixture, NULL, 0, &fixture.models));
    register_program(&fixture);
    *state = &fixture;
    return 0;
}

static int teardown(void **state) {
    Fixture *fixture = *state;
    resident_models_destroy(fixture->models);
    store_close(fixture->store);
    device_close(fixture->host);
    device_close(fixture->sim);
    return 0;
}

static void test_resident_models_are_in_memory_once(void **state) {
    Fixture *fixture = *state;
    const ResidentModel *first, *second;
    assert_ok(resident_models_hold(fixture->models, TENANT_DEFAULT, &fixture->identity, &first));
    assert_ok(resident_models_hold(fixture->models, TENANT_DEFAULT, &fixture->identity, &second));
    assert_ptr_equal(first, second);
    assert_int_equal(first->constant_bytes, 8);
    resident_models_let_go(fixture->models, first);
    assert_int_equal(second->constant_bytes, 8);
    resident_models_let_go(fixture->models, second);
}

/* A residency keeps the model though no job holds it, until it is evicted. */
static void test_resident_models_stay_while_they_are_resident(void **state) {
    Fixture *fixture = *state;
    const Digest *identity = &fixture->identity;
    const ResidentModel *model;
    assert_null(resident_models_get(fixture->models, TENANT_DEFAULT, identity, 1));
    for (int i = 0; i < 2; i++)
        assert_ok(resident_models_load(fixture->models, TENANT_DEFAULT, identity, 1, fixture->sim));
    OWN(Residency, residency) = resident_models_get(fixture->models, TENANT_DEFAULT, identity, 1);
    assert_ptr_equal(residency->devices[SLOT_DEVICE], fixture->sim);
    assert_ok(resident_models_hold(fixture->models, TENANT_DEFAULT, identity, &model));
    assert_ptr_equal(model->executable, residency->executable);
    assert_null(resident_models_get(fixture->models, TENANT_DEFAULT, identity, 2));
    resident_models_let_go(fixture->models, model);
    resident_models_evict(fixture->models, TENANT_DEFAULT, identity, 1);
    assert_null(resident_models_get(fixture->models, TENANT_DEFAULT, identity, 1));
    resident_models_evict(
        fixture->models, TENANT_DEFAULT, identity, 1); /* once more changes nothing */
    for (uint32_t i = 1; i <= 2; i++)
        assert_ok(resident_models_load(fixture->models, TENANT_DEFAULT, identity, i, fixture->sim));
    resident_models_evict_all(fixture->models, 1);
    assert_null(resident_models_get(fixture->models, TENANT_DEFAULT, identity, 1));
    residency_release(TAKE(residency));
    residency = resident_models_get(fixture->models, TENANT_DEFAULT, identity, 2);
    assert_non_null(residency);
    resident_models_evict_all(fixture->models, 2);
    resident_models_evict_all(fixture->models, 2);
    assert_null(resident_models_get(fixture->models, TENANT_DEFAULT, identity, 2));
}

static void test_resident_models_belong_to_tenants(void **state) {
    Fixture *fixture = *state;
    const ResidentModel *mine, *others = NULL;
    Digest unknown = {{1}};
    assert_ok(resident_models_hold(fixture->models, TENANT_DEFAULT, &fixture->identity, &mine));
    assert_fails(NOT_FOUND,
        resident_models_hold(fixture->models, TENANT_DEFAULT + 1, &fixture->identity, &others));
    assert_fails(
        NOT_FOUND, resident_models_hold(fixture->models, TENANT_DEFAULT, &unknown, &others));
    assert_null(others);
    assert_fails(NOT_FOUND, resident_models_load(fixture->models, TENANT_DEFAULT + 1,
                                &fixture->identity, 1, fixture->sim));
    resident_models_let_go(fixture->models, mine);
}

static void hold_and_let_go(
    ResidentModels *models, const Digest *identity, const Executable **out_executable) {
    const ResidentModel *model;
    assert_ok(resident_models_hold(models, TENANT_DEFAULT, identity, &model));
    *out_executable = model->executable;
    resident_models_let_go(models, model);
}

/* What nothing needs stays where there is room, and what was needed last stays longest: a model
 * that is still there is found without looking at the store. */
static void test_resident_models_rest_in_host_memory(void **state) {
    Fixture *fixture = *state;
    enum { COUNT = 3 };
    OWN(ResidentModels, models) = NULL;
    Digest identities[COUNT];
    const ResidentModel *model;
    Residency *residency;
    const Executable *executable, *again;
    for (int i = 0; i < COUNT; i++) {
        OWN(Executable, other) = NULL;
        ModelVersion OWN_VERSION(version) = {0};
        char text[sizeof program];
        (void)snprintf(text, sizeof text, "%s", program);
        *strchr(text, '1') = (char)('3' + i); /* other weights, another identity */
        assert_ok(assembly_parse(text, strlen(text), &other));
        assert_ok(model_loader_register(
            fixture->store, TENANT_DEFAULT, NULL, "r", other, NULL, 0, &version));
        identities[i] = other->identity;
    }
    assert_ok(create(fixture, NULL, (2 << 16) + 4096, &models)); /* room for two */
    for (int i = 0; i < COUNT; i++) hold_and_let_go(models, &identities[i], &executable);
    for (int i = 0; i < COUNT; i++) /* on no device, so only a look at what is in memory */
        assert_false(resident_models_try_hold(
            models, TENANT_DEFAULT, &identities[i], 1, &model, &residency));
    hold_and_let_go(models, &identities[2], &again);
    assert_ptr_equal(executable, again);
    assert_ok(resident_models_load(models, TENANT_DEFAULT, &identities[2], 1, fixture->sim));
    hold_and_let_go(models, &identities[0], &executable);
    hold_and_let_go(models, &identities[1], &executable);
    OWN(Residency, kept) = resident_models_get(models, TENANT_DEFAULT, &identities[2], 1);
    assert_ptr_equal(kept->executable, again); /* resident: not counted among them */
    resident_models_evict(models, TENANT_DEFAULT, &identities[2], 1);
    hold_and_let_go(models, &identities[2], &executable);
    assert_ptr_equal(executable, again);
    assert_fails(
        NOT_FOUND, resident_models_hold(models, TENANT_DEFAULT + 1, &identities[2], &model));
}

/* A constant too large to stand in the manifest. */
/* A model with so many weights of its own: 0, 1, … */
static Digest register_weights_for(Fixture *fixture, TenantId tenant, int count) {
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "constant @w slot 1 = float32[%d] {0", count);
    for (int i = 1; i < count; i++) text_appendf(&text, ", %d", i);
    text_append(&text, "}\nfunction main() exported {\n Ret @w\n}\n");
    assert_ok(assembly_parse(text_builder_get(&text), text.size, &executable));
    assert_ok(
        model_loader_register(fixture->store, tenant, NULL, "l", executable, NULL, 0, &version));
    return executable->identity;
}

static Digest register_weights(Fixture *fixture, int count) {
    return register_weights_for(fixture, TENANT_DEFAULT, count);
}

/* A tenant that has the same model. */
static TenantId add_other(Fixture *fixture, const char *name, int count) {
    TenantId tenant;
    {
        Transaction OWN_TRANSACTION(transaction) = {0};
        assert_ok(transaction_begin(fixture->store, DATABASE_CATALOG, &transaction));
        assert_ok(tenants_add(transaction.connection, name, &tenant));
        assert_ok(transaction_commit(&transaction));
    }
    (void)register_weights_for(fixture, tenant, count);
    return tenant;
}

static void expect_weights(ResidentModels *models, const Digest *identity) {
    float values[2049];
    OWN(Residency, residency) = resident_models_get(models, TENANT_DEFAULT, identity, 1);
    assert_ok(tensor_copy_to_host(residency->constants[SLOT_DEVICE][0], values));
    for (int i = 0; i < 2048; i++) assert_true(values[i] == (float)i);
}

/* The first activation decodes the model and keeps an image; later ones need no chunk of it. */
static void test_resident_models_come_from_images(void **state) {
    Fixture *fixture = *state;
    Digest identity = register_weights(fixture, 2048);
    OWN(WeightCache, cache) = NULL;
    assert_ok(weight_cache_open(fixture->home, 1 << 20, &cache));
    WeightImages images = cached_images(cache);
    const ResidentModel *model;
    for (int process = 0; process < 2; process++) {
        OWN(ResidentModels, models) = NULL;
        assert_ok(create(fixture, &images, 1 << 20, &models));
        for (int i = 0; i < 2; i++) {
            assert_ok(resident_models_load(models, TENANT_DEFAULT, &identity, 1, fixture->sim));
            expect_weights(models, &identity);
            resident_models_evict(models, TENANT_DEFAULT, &identity, 1);
        }
        assert_ok(resident_models_hold(models, TENANT_DEFAULT, &identity, &model));
        assert_true(model->executable->outline);
        assert_int_equal(model->constant_bytes, 8192);
        resident_models_let_go(models, model);
    }
    assert_int_equal(weight_cache_count(cache).misses, 1);
    assert_int_equal(weight_cache_count(cache).hits, 3);
}

/* Loads what two tenants have for the first one, then holds and loads it for the second: whether
 * the second one found it, and the activations that decoded weights. */
static uint64_t count_decoded(Fixture *fixture, bool isolate, bool *out_found) {
    Digest identity = register_weights(fixture, isolate ? 2050 : 2051);
    OWN(WeightCache, cache) = NULL;
    OWN(ResidentModels, models) = NULL;
    const ResidentModel *first, *second;
    Residency *residency = NULL;
    TenantId other = add_other(fixture, isolate ? "i" : "s", isolate ? 2050 : 2051);
    assert_ok(weight_cache_open(fixture->home, 1 << 20, &cache));
    const WeightImages images = cached_images(cache);
    const ResidentModelsOptions options = {.store = fixture->store,
        .host = fixture->host,
        .images = &images,
        .isolate = isolate,
        .idle_bytes_max = 1 << 20};
    assert_ok(resident_models_create(&options, &models));
    assert_ok(resident_models_hold(models, TENANT_DEFAULT, &identity, &first));
    assert_ok(resident_models_load(models, TENANT_DEFAULT, &identity, 1, fixture->sim));
    assert_ok(resident_models_hold(models, other, &identity, &second));
    assert_true((first == second) == !isolate);
    assert_true((first->executable == second->executable) == !isolate);
    *out_found = resident_models_try_hold(models, other, &identity, 1, &second, &residency);
    if (*out_found) resident_models_let_go(models, second);
    residency_release(residency);
    assert_ok(resident_models_load(models, other, &identity, 1, fixture->sim));
    OWN(Residency, firsts) = resident_models_get(models, TENANT_DEFAULT, &identity, 1);
    OWN(Residency, seconds) = resident_models_get(models, other, &identity, 1);
    assert_true(firsts && seconds && (firsts == seconds) == !isolate);
    resident_models_evict(models, other, &identity, 1); /* the first one's stays */
    OWN(Residency, left) = resident_models_get(models, TENANT_DEFAULT, &identity, 1);
    assert_true((left == firsts) == isolate);
    resident_models_let_go(models, second);
    resident_models_let_go(models, first);
    return weight_cache_count(cache).misses;
}

static void test_resident_models_are_shared_by_tenants(void **state) {
    bool found;
    assert_int_equal(count_decoded(*state, false, &found), 1);
    assert_true(found);
}

/* Neither in memory, nor on the device, nor among the images. */
static void test_resident_models_of_isolated_tenants_are_their_own(void **state) {
    bool found;
    assert_int_equal(count_decoded(*state, true, &found), 2);
    assert_false(found);
}

/* What is prepared is in the cache and not resident; the first load then decodes nothing. */
static void test_resident_models_are_prepared_before_a_load(void **state) {
    Fixture *fixture = *state;
    Digest identity = register_weights(fixture, 2049);
    OWN(WeightCache, cache) = NULL;
    OWN(ResidentModels, models) = NULL;
    assert_ok(weight_cache_open(fixture->home, 1 << 20, &cache));
    WeightImages images = cached_images(cache);
    assert_ok(create(fixture, &images, 1 << 20, &models));
    const uint32_t files = weight_cache_count(cache).files;
    for (int i = 0; i < 2; i++)
        assert_ok(resident_models_prepare(models, TENANT_DEFAULT, &identity, fixture->sim));
    assert_null(resident_models_get(models, TENANT_DEFAULT, &identity, 1));
    assert_int_equal(weight_cache_count(cache).files, files + 1);
    assert_int_equal(weight_cache_count(cache).misses, 1);
    assert_ok(resident_models_load(models, TENANT_DEFAULT, &identity, 1, fixture->sim));
    expect_weights(models, &identity);
    assert_int_equal(weight_cache_count(cache).misses, 1);
    assert_fails(
        NOT_FOUND, resident_models_prepare(models, TENANT_DEFAULT + 1, &identity, fixture->sim));
}

/* No room for an image: weights rest in host memory as long as there is room for them there. */
static void test_resident_models_rest_without_images(void **state) {
    Fixture *fixture = *state;
    Digest identity = register_weights(fixture, 2048);
    OWN(WeightCache, cache) = NULL;
    OWN(ResidentModels, models) = NULL;
    assert_ok(weight_cache_open(fixture->home, 1, &cache));
    WeightImages images = cached_images(cache);
    assert_ok(create(fixture, &images, 1 << 20, &models));
    for (int i = 0; i < 3; i++) {
        assert_ok(resident_models_load(models, TENANT_DEFAULT, &identity, 1, fixture->sim));
        expect_weights(models, &identity);
        resident_models_evict(models, TENANT_DEFAULT, &identity, 1);
    }
    assert_int_equal(weight_cache_count(cache).hits, 0);
    assert_int_equal(weight_cache_count(cache).files, 0);
    assert_int_equal(fixture->warnings, 0);
}

/* Files may have no more bytes: as on a full disk. */
static void test_resident_models_say_once_that_an_image_cannot_be_kept(void **state) {
    Fixture *fixture = *state;
    Digest identity = register_weights(fixture, 2048);
    struct rlimit before, tight;
    OWN(WeightCache, cache) = NULL;
    OWN(ResidentModels, models) = NULL;
    assert_ok(weight_cache_open(fixture->home, 1 << 20, &cache));
    WeightImages images = cached_images(cache);
    assert_ok(create(fixture, &images, 0, &models)); /* nothing rests: each is made anew */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    tight = before;
    tight.rlim_cur = 5000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    for (int i = 0; i < 3; i++) {
        assert_ok(resident_models_load(models, TENANT_DEFAULT, &identity, 1, fixture->sim));
        expect_weights(models, &identity);
        resident_models_evict(models, TENANT_DEFAULT, &identity, 1);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(weight_cache_count(cache).misses, 3);
    assert_int_equal(weight_cache_count(cache).files, 0);
    assert_int_equal(fixture->warnings, 1);
    assert_non_null(strstr(fixture->warning, fixture->home));
    assert_non_null(strstr(fixture->warning, "/cache/weights/"));
    assert_non_null(strstr(fixture->warning, "File too large"));
    assert_ok(resident_models_load(models, TENANT_DEFAULT, &identity, 1, fixture->sim));
    assert_int_equal(weight_cache_count(cache).files, 1);
}

static void *hold_often(void *argument) {
    Fixture *fixture = argument;
    for (int i = 0; i < 200; i++) {
        const ResidentModel *model;
        assert_ok(
            resident_models_hold(fixture->models, TENANT_DEFAULT, &fixture->identity, &model));
        assert_int_equal(model->constant_bytes, 8);
        resident_models_let_go(fixture->models, model);
    }
    return NULL;
}

static void test_resident_models_are_held_by_many_threads(void **state) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_often, *state), 0);
    for (int i = 0; i < 3; i++) (void)pthread_join(threads[i], NULL);
}

int test_resident_models(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resident_models_are_in_memory_once),
        cmocka_unit_test(test_resident_models_stay_while_they_are_resident),
        cmocka_unit_test(test_resident_models_belong_to_tenants),
        cmocka_unit_test(test_resident_models_rest_in_host_memory),
        cmocka_unit_test(test_resident_models_come_from_images),
        cmocka_unit_test(test_resident_models_are_shared_by_tenants),
        cmocka_unit_test(test_resident_models_of_isolated_tenants_are_their_own),
        cmocka_unit_test(test_resident_models_are_prepared_before_a_load),
        cmocka_unit_test(test_resident_models_rest_without_images),
        cmocka_unit_test(test_resident_models_say_once_that_an_image_cannot_be_kept),
        cmocka_unit_test(test_resident_models_are_held_by_many_threads),
    };
    return cmocka_run_group_tests_name("resident_models", tests, setup, teardown);
}
