#include <stdio.h>
#include <stdlib.h>

#include "kernels/plugin/device_layout.h"
#include "kernels/plugin/plugin.h"
#include "tests/support/test_support.h"

static int look_in(const char *folders) { return setenv("LAYOVER_PLUGINS", folders, 1); }

static void test_plugin_load_gives_the_same_class_each_time(void **state) {
    (void)state;
    const DeviceClass *first = NULL, *second = NULL;
    assert_int_equal(look_in("/nonexistent::" TEST_PLUGINS), 0);
    assert_ok(plugin_load("sample", &first));
    assert_string_equal(first->kind, "sample");
    assert_int_equal(look_in("/nonexistent"), 0);
    assert_ok(plugin_load("sample", &second));
    assert_ptr_equal(first, second);
}

static void test_plugin_load_names_the_folders_without_one(void **state) {
    (void)state;
    const DeviceClass *class_ = NULL;
    assert_int_equal(look_in("/one:/two"), 0);
    assert_fails_saying(
        UNSUPPORTED, "no liblayover-nothing.so in /one, /two, ", plugin_load("nothing", &class_));
    assert_null(class_);
}

static void test_plugin_load_refuses_what_is_no_plugin_for_this_program(void **state) {
    (void)state;
    const DeviceClass *class_ = NULL;
    char versions[128], layouts[128];
    assert_int_equal(look_in(TEST_PLUGINS), 0);
    (void)snprintf(versions, sizeof versions,
        "liblayover-sample-old.so is for version 1 of the device interface, this program has "
        "version %d",
        DEVICE_ABI_VERSION);
    assert_fails_saying(UNSUPPORTED, versions, plugin_load("sample-old", &class_));
    (void)snprintf(layouts, sizeof layouts,
        "liblayover-sample-foreign.so was built with other structures (00000001) than this program "
        "(%08x)",
        (unsigned)DEVICE_LAYOUT);
    assert_fails_saying(UNSUPPORTED, layouts, plugin_load("sample-foreign", &class_));
    assert_fails_saying(UNSUPPORTED,
        "liblayover-sample-mute.so is no plugin: it has no " PLUGIN_SYMBOL,
        plugin_load("sample-mute", &class_));
    assert_fails_saying(
        UNSUPPORTED, "for another kind of device", plugin_load("sample-other", &class_));
    assert_null(class_);
}

static void test_plugin_load_refuses_a_broken_file(void **state) {
    (void)state;
    const DeviceClass *class_ = NULL;
    char folder[64], path[128];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/liblayover-broken.so", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("not a library", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(look_in(folder), 0);
    assert_fails_saying(UNSUPPORTED, path, plugin_load("broken", &class_));
    test_folder_remove(folder);
}

int test_plugin(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugin_load_gives_the_same_class_each_time),
        cmocka_unit_test(test_plugin_load_names_the_folders_without_one),
        cmocka_unit_test(test_plugin_load_refuses_what_is_no_plugin_for_this_program),
        cmocka_unit_test(test_plugin_load_refuses_a_broken_file),
    };
    return cmocka_run_group_tests_name("plugin", tests, NULL, NULL);
}
