#pragma once
/* The address of another home's daemon: what may be used to send it secrets. */
#include <stdbool.h>

#include "base/error.h"

/* Takes https://HOST:PORT, and of this machine http://HOST:PORT, unix:PATH and /PATH. The address
 * is split by what will connect to it, so that both see the same host.
 *
 * out_tls: it is https.
 * Errors: INVALID no such form, or one with a name, password, path or query; REFUSED http to a host
 *         that is not this machine: it would not be encrypted. */
MUST_CHECK Error *server_url_check(const char *url, bool *out_tls);
