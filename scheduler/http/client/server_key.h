#pragma once
/* The public key of a TLS server as a text that names the key: "sha256//" and the base64 of the
 * SHA-256 of its DER (SubjectPublicKeyInfo), as curl writes it. The text stays the same when the
 * same key gets a new certificate. Called by http_client.c, daemon.c, route_nodes.c and
 * node_hello.c. No state; any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { SERVER_KEY_TEXT_SIZE = 53 }; /* with the terminating NUL */

/* Whether text is exactly one such key text. */
bool server_key_is_text(const char *text);

/* The key of the first certificate in a PEM: the server's own, if a chain follows. Errors: CORRUPT
 * there is no certificate. */
MUST_CHECK Error *server_key_of_certificate(const char *pem, char out[SERVER_KEY_TEXT_SIZE]);

/* Connects to https://HOST:PORT and returns the key that the server proves to hold. Trusts nothing
 * and sends no request. Errors: INVALID no https; UNREACHABLE no answer within the limit, or not
 * with TLS. */
MUST_CHECK Error *server_key_ask(
    const char *url, uint32_t limit_ms, char out[SERVER_KEY_TEXT_SIZE]);
