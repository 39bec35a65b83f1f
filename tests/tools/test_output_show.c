#include "tools/client/output_show.h"

#include <stdlib.h>
#include <unistd.h>

#include "scheduler/http/client/json_fields.h"
#include "tests/tools/tools_fixtures.h"

enum { ELEMENTS = 1001, TEXT_SIZE = 8192 };

/* The one line that a command line with these words prints for an array of 1001 elements. */
static void shown(const CommandContext *context, char out[TEXT_SIZE]) {
    ArrayList OWN_ARRAYS(list) = {0};
    NamedArray array;
    Capture capture;
    json_object *object;
    const Shape shape = shape_make(1, (const int64_t[]){ELEMENTS});
    assert_ok(named_array_init(&array, "y", DTYPE_UINT8, &shape));
    assert_ok(array_list_add(&list, &array));
    assert_ok(json_fields_create(&object));
    json_fields_text(object, "state", "succeeded");
    capture_start(&capture, STDOUT_FILENO);
    Error *error = output_show_json(context, object, &list);
    capture_end(&capture, out, TEXT_SIZE);
    assert_ok(error);
}

static void test_output_show_json_is_one_object(void **state) {
    (void)state;
    char out[TEXT_SIZE];
    CommandContext *context = COMMAND_CONTEXT("run", "m", "--json");
    assert_true(output_is_json(context) && !output_file(context));
    shown(context, out);
    assert_string_equal(out, "{\"state\":\"succeeded\",\"outputs\":[{\"name\":\"y\",\"dtype\":"
                             "\"uint8\",\"shape\":[1001],"
                             "\"min\":0,\"max\":0,\"mean\":0,\"nan\":0}]}\n");
    free(context);
}

/* Who asks for the outputs on stdout gets all of them. */
static void test_output_show_json_of_a_dash_is_whole(void **state) {
    (void)state;
    char out[TEXT_SIZE];
    CommandContext *context = COMMAND_CONTEXT("run", "m", "-o", "-");
    assert_true(output_is_json(context) && !output_file(context));
    shown(context, out);
    assert_non_null(strstr(out, "\"data\":[0,0,0,"));
    assert_null(strstr(out, "\"min\""));
    free(context);
}

static void test_output_show_leaves_files_alone(void **state) {
    (void)state;
    CommandContext *context = COMMAND_CONTEXT("run", "m", "-o", "./-");
    assert_string_equal(output_file(context), "./-");
    assert_false(output_is_json(context));
    free(context);
}

int test_output_show(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_show_json_is_one_object),
        cmocka_unit_test(test_output_show_json_of_a_dash_is_whole),
        cmocka_unit_test(test_output_show_leaves_files_alone),
    };
    return cmocka_run_group_tests_name("output_show", tests, NULL, NULL);
}
