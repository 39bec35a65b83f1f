#include "base/library/crypto_library.h"

#include <string.h>

#include "tests/support/test_support.h"

static void test_crypto_library_has_every_function(void **state) {
    (void)state;
    assert_ok(crypto_library_open());
    assert_ok(crypto_library_open());
#define CRYPTO_FUNCTION(name) assert_non_null(libcrypto.name);
#include "base/library/crypto_functions.def"
#undef CRYPTO_FUNCTION
    unsigned char text[8];
    assert_int_equal(libcrypto.EVP_EncodeBlock(text, (const unsigned char *)"abc", 3), 4);
    assert_string_equal((const char *)text, "YWJj");
}

int test_crypto_library(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_crypto_library_has_every_function)};
    return cmocka_run_group_tests_name("crypto_library", tests, NULL, NULL);
}
