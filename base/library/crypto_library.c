#include "base/library/crypto_library.h"

#include <stddef.h>

#include "base/library/shared_library.h"

static const SharedLibraryFunction functions[] = {
#define CRYPTO_FUNCTION(name) {#name, offsetof(CryptoLibrary, name)},
#include "base/library/crypto_functions.def"
#undef CRYPTO_FUNCTION
};

CryptoLibrary libcrypto;

static Error *open_crypto(void) {
    return shared_library_open(
        CRYPTO_FILE, functions, sizeof functions / sizeof functions[0], &libcrypto);
}

Error *crypto_library_open(void) {
    static SharedLibraryOnce once = SHARED_LIBRARY_CLOSED;
    return shared_library_open_once(&once, open_crypto);
}
