#pragma once
/* libcrypto, opened at run time, since loading it takes a quarter of a short process that needs
 * none of it. Its functions are listed in crypto_functions.def. Callers: digests here, and
 * scheduler/http for TLS keys.
 *
 * SHA256_Init and the like are the functions that libcrypto's own providers call. EVP would look
 * for a provider first, read the machine's openssl.cnf and register every cipher, which costs a
 * millisecond per process.
 *
 * Threads: any; the library is opened once in a process and stays open. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include "base/error.h"

typedef struct CryptoLibrary {
#define CRYPTO_FUNCTION(name) __typeof__(&name) name;
#include "base/library/crypto_functions.def"
#undef CRYPTO_FUNCTION
} CryptoLibrary;

/* The functions; all NULL until the library is opened. */
extern CryptoLibrary libcrypto;

/* Opens the library. Errors: UNSUPPORTED the machine has no libcrypto, or it lacks a function. */
MUST_CHECK Error *crypto_library_open(void);
