#include "scheduler/http/routes/model_json.h"

#include "tests/support/test_support.h"
#include "vm/assembly/assembly.h"

static const char program[] =
    "function main(a: float32[n, 2], b: int64[]) -> (y: float32[n, 2]) exported {\n"
    " Ret r0\n}\nfunction hidden() {\n Ret 0\n}\n";

static void test_model_json_describes_exported_functions(void **state) {
    (void)state;
    OWN(Executable, executable) = NULL;
    ModelVersion version = {.model = "m", .version = 3, .created = 1.5};
    json_object *object;
    assert_ok(assembly_parse(program, sizeof program - 1, &executable));
    assert_ok(model_json(&version, executable, &object));
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
    assert_non_null(
        strstr(text, "{\"model\":\"m\",\"version\":3,\"aliases\":[],\"executable\":\"0000"));
    assert_non_null(strstr(text, "{\"name\":\"a\",\"dtype\":\"float32\",\"shape\":[-1,2],"
                                 "\"symbols\":[\"n\"]}"));
    assert_non_null(strstr(text, "{\"name\":\"b\",\"dtype\":\"int64\",\"shape\":[]}"));
    assert_null(strstr(text, "hidden"));
    json_object_put(object);
}

static void test_model_json_describes_the_store(void **state) {
    (void)state;
    json_object *object;
    char first[] = "chunk 1 is gone", *errors[] = {first};
    FsckResult fsck = {.chunks = 7,
        .weight_files = 5,
        .weight_files_removed = 2,
        .error_count = 1,
        .errors = errors};
    assert_ok(model_fsck_json(&fsck, &object));
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
    assert_non_null(strstr(text, "\"chunks\":7"));
    assert_non_null(strstr(text, "\"weight_files\":5,\"weight_files_removed\":2"));
    assert_non_null(strstr(text, "\"error_count\":1,\"errors\":[\"chunk 1 is gone\"]"));
    json_object_put(object);
    assert_ok(model_gc_json(&(GcResult){.executables = 1, .chunks = 2, .bytes = 3}, &object));
    assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
        "{\"executables\":1,\"chunks\":2,\"bytes\":3}");
    json_object_put(object);
    assert_ok(model_removed_json(4, &object));
    assert_string_equal(
        json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), "{\"removed\":4}");
    json_object_put(object);
}

int test_model_json(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_json_describes_exported_functions),
        cmocka_unit_test(test_model_json_describes_the_store),
    };
    return cmocka_run_group_tests_name("model_json", tests, NULL, NULL);
}
