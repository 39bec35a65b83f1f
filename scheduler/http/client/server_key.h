#pragma once
/* The public key of a TLS server as a text that names it: "sha256//" and the base64 of the SHA-256
 * of its DER (SubjectPublicKeyInfo), as curl writes it. It stays the same when the certificate is
 * made anew for the same key. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { SERVER_KEY_TEXT_SIZE = 53 }; /* with the terminating NUL */

/* Whether it is exactly one such text. */
bool server_key_is_text(const char *text);

/* Of a PEM, the first certificate in it: the server's own, where a chain follows.
 * Errors: CORRUPT it holds none. */
MUST_CHECK Error *server_key_of_certificate(const char *pem, char out[SERVER_KEY_TEXT_SIZE]);

/* Connects to https://HOST:PORT and answers the key that it has proved to hold. Nothing is trusted,
 * nothing is sent.
 * Errors: INVALID no https; UNREACHABLE nobody answers within the limit, or not with TLS. */
MUST_CHECK Error *server_key_ask(
    const char *url, uint32_t limit_ms, char out[SERVER_KEY_TEXT_SIZE]);
