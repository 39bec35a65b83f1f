#include "serialize/checkpoint/checkpoint_class.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "tests/serialize/checkpoint_fixtures.h"

static char *find_change(const CheckpointExample *example, Device *device) {
    char *words;
    assert_ok(checkpoint_class_find_change(example->container, device, &words));
    return words;
}

static void test_checkpoint_class_is_not_told_where_it_stays(void **state) {
    (void)state;
    CheckpointExample example;
    OWN(Device, sim) = NULL;
    checkpoint_example_init(&example, 4);
    assert_ok(device_open("sim:0", &sim)); /* another device, the same arithmetic */
    assert_null(find_change(&example, example.residency->devices[SLOT_DEVICE]));
    assert_null(find_change(&example, sim));
    checkpoint_example_deinit(&example);
}

static void test_checkpoint_class_tells_both_where_it_changes(void **state) {
    (void)state;
    CheckpointExample example;
    OWN(Device, lacking) = NULL;
    TextBuilder OWN_TEXT(before) = {0};
    checkpoint_example_init(&example, 4);
    Device *device = example.residency->devices[SLOT_DEVICE];
    device->class_->determinism_class(device, &before);
    assert_ok(device_open("sim:0,lacks=Add", &lacking));
    char *words = find_change(&example, lacking);
    assert_non_null(strstr(words, text_builder_get(&before)));
    assert_non_null(strstr(words, " -> "));
    assert_non_null(strstr(words, " without Add: results may differ in their last bits"));
    memory_free(words);
    checkpoint_example_deinit(&example);
}

static void print_hostile(Device *device, TextBuilder *out) {
    (void)device;
    text_append(out, "\x1b[2J\n");
    for (int i = 0; i < 1000; i++) text_append(out, "z");
}

/* The words are shown on terminals, and have to fit an event. */
static void test_checkpoint_class_words_are_short_and_printable(void **state) {
    (void)state;
    static const DeviceClass hostile = {.determinism_class = print_hostile};
    CheckpointExample example;
    Device device = {.class_ = &hostile};
    checkpoint_example_init(&example, 4);
    char *words = find_change(&example, &device);
    assert_true(strlen(words) < 512);
    assert_non_null(strstr(words, "-> ?[2J?zz"));
    assert_non_null(strstr(words, "z...: results"));
    memory_free(words);
    checkpoint_example_deinit(&example);
}

int test_checkpoint_class(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_class_is_not_told_where_it_stays),
        cmocka_unit_test(test_checkpoint_class_tells_both_where_it_changes),
        cmocka_unit_test(test_checkpoint_class_words_are_short_and_printable),
    };
    return cmocka_run_group_tests_name("checkpoint_class", tests, NULL, NULL);
}
