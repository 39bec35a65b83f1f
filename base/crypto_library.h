#pragma once
/* libcrypto, opened at run time: its loading takes a quarter of a short process that needs none of
 * it. Its functions stand in crypto_functions.def.
 *
 * SHA256_Init and the like are what its own providers call. EVP, which looks for a provider first,
 * reads the machine's openssl.cnf and registers every cipher: a millisecond of a process.
 *
 * Threads: any; it is opened once in a process and stays. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include "base/error.h"

typedef struct CryptoLibrary {
#define CRYPTO_FUNCTION(name) __typeof__(&name) name;
#include "base/crypto_functions.def"
#undef CRYPTO_FUNCTION
} CryptoLibrary;

/* NULL functions until it is opened. */
extern CryptoLibrary libcrypto;

/* Errors: UNSUPPORTED it is not on this machine, or lacks a function. */
MUST_CHECK Error *crypto_library_open(void);
