#pragma once
/* Checks the address of another home's daemon before secrets are sent there. Called by
 * route_nodes.c and node_link.c. Pure: no state. */
#include <stdbool.h>

#include "base/error.h"

/* Accepts https://HOST:PORT, and for this machine http://HOST:PORT, unix:PATH and /PATH. libcurl,
 * which will connect, also splits the address here, so that check and connection see the same host.
 *
 * out_tls: the address is https.
 * Errors: INVALID another form, or a name, password, path or query; REFUSED http to a host that is
 *         not this machine, since it would not be encrypted. */
MUST_CHECK Error *server_url_check(const char *url, bool *out_tls);
