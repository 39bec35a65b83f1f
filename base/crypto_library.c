#include "base/crypto_library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/shared_library.h"

static const SharedLibraryFunction functions[] = {
#define CRYPTO_FUNCTION(name) {#name, offsetof(CryptoLibrary, name)},
#include "base/crypto_functions.def"
#undef CRYPTO_FUNCTION
};

CryptoLibrary libcrypto;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards opening */
static atomic_bool is_open;

Error *crypto_library_open(void) {
    Error *error = NULL;
    if (atomic_load_explicit(&is_open, memory_order_acquire)) return NULL;
    (void)pthread_mutex_lock(&mutex);
    if (!atomic_load_explicit(&is_open, memory_order_relaxed))
        error = shared_library_open(
            CRYPTO_FILE, functions, sizeof functions / sizeof functions[0], &libcrypto);
    atomic_store_explicit(&is_open, !error, memory_order_release);
    (void)pthread_mutex_unlock(&mutex);
    return error;
}
