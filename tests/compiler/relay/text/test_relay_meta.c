#include "compiler/relay/text/relay_meta.h"

#include "base/text.h"
#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

/* Constants as TVM's printer writes them. */
static void test_relay_meta_reads_constants(void **state) {
    (void)state;
    static const char program[] =
        "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n"
        "  add(%x, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */)\n}\n\n#[metadata]\n"
        "{\"root\": 1, \"nodes\": [{\"type_key\": \"\"}, {\"type_key\": \"Map\", \"keys\": "
        "[\"relay.Constant\"],"
        " \"data\": [2]}, {\"type_key\": \"Array\", \"data\": [3]}, {\"type_key\": "
        "\"relay.Constant\","
        " \"attrs\": {\"data\": \"0\", \"span\": \"0\"}}], \"b64ndarrays\": [\"";
    static const char array[] = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAA"
                                "AACAPwAAAEA=";
    static const char end[] = "\"], \"attrs\": {\"tvm_version\": \"0.18.0\"}}";
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "%s%s%s", program, array, end);
    relay_expect(text_builder_get(&text), "float32[2] 10 20 -> float32[2] 11 22");
    /* every shorter array is refused */
    for (int size = (int)sizeof array - 4; size >= 0; size -= 4) {
        TextBuilder OWN_TEXT(cut) = {0};
        text_appendf(&cut, "%s%.*s%s", program, size, array, end);
        relay_refused(
            INVALID, "line 6, column 3: constant 0 of the metadata", text_builder_get(&cut));
    }
}

static void test_relay_meta_refuses_what_is_no_metadata(void **state) {
    (void)state;
    static const char *const ends[] = {
        "", "{", "{}", "{\"nodes\": 3}", "{\"root\": 9, \"nodes\": []}"};
    for (size_t i = 0; i < 5; i++) {
        TextBuilder OWN_TEXT(text) = {0};
        text_appendf(&text, "def @main() { 1 }\n#[metadata]\n%s", ends[i]);
        relay_refused(INVALID, "line 2, column 3: the metadata", text_builder_get(&text));
    }
    relay_refused(INVALID, "line 1, column 15: the metadata has 0 constants, there is no number 4",
        "def @main() { meta[relay.Constant][4] }");
}

int test_relay_meta(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_meta_reads_constants),
        cmocka_unit_test(test_relay_meta_refuses_what_is_no_metadata),
    };
    return cmocka_run_group_tests_name("relay_meta", tests, NULL, NULL);
}
