#include "tests/serialize/relay_example.h"
#include "tests/support/test_support.h"

static void expect_text(uint32_t minor, const char *wanted) {
    ByteWriter OWN_BYTES(writer) = {0};
    TextBuilder OWN_TEXT(text) = {0};
    OWN(RelayFile, file) = NULL;
    relay_example_write(&writer, minor);
    assert_ok(relay_file_read(writer.data, writer.size, &file));
    assert_ok(relay_text_print(file, &text));
    assert_string_equal(text_builder_get(&text), wanted);
}

/* The address that TVM 0.14 leaves in AllocStorage is not shown. */
static void test_relay_text_prints_fields_by_name(void **state) {
    (void)state;
    expect_text(18,
        "function main(x) registers 5\n"
        "  0: LoadConst constant=0 device=0 dst=1\n"
        "  1: LoadConsti value=42 dst=2\n"
        "  2: AllocStorage size=? alignment=64 code=2 bits=32 lanes=1 device=0 ndim=1 dst=3 "
        "dim=[8]\n"
        "  3: AllocTensor storage=3 offset=2 code=2 bits=32 lanes=1 ndim=1 dst=4 dim=[2]\n"
        "  4: InvokePacked primitive=fused_add n=3 outputs=1 argument=[0, 1, 4]\n"
        "  5: Ret result=4\n\n");
    expect_text(6, "function main(x) registers 5\n"
                   "  0: LoadConst constant=0 dst=1\n"
                   "  1: LoadConsti value=42 dst=2\n"
                   "  2: AllocStorage size=2 alignment=64 code=2 bits=32 lanes=1 dst=3\n"
                   "  3: AllocTensor storage=3 code=2 bits=32 lanes=1 ndim=1 dst=4 dim=[2]\n"
                   "  4: InvokePacked primitive=fused_add n=3 outputs=1 argument=[0, 1, 4]\n"
                   "  5: Ret result=4\n\n");
}

int test_relay_text(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_text_prints_fields_by_name),
    };
    return cmocka_run_group_tests_name("relay_text", tests, NULL, NULL);
}
