#pragma once
/* Stands between libmicrohttpd and the bytes that it receives, of TLS behind the decryption: they
 * go through http_framing.h first. libmicrohttpd has no place for that, so its own calls of recv
 * and gnutls_record_recv come here. Threads: a connection's are those of the thread that serves it.
 */
#include "scheduler/http/server/http_framing.h"

/* One of a connection. */
typedef struct HttpGate {
    uintptr_t key; /* its descriptor, or its TLS session */
    struct HttpGate *next;
    HttpFraming framing;
} HttpGate;

/* Of the process, when libmicrohttpd was opened. Errors: UNSUPPORTED it cannot be done with this
 * one; then there is no server. */
MUST_CHECK Error *http_gate_install(bool tls);

/* session: NULL without TLS. Before the first byte is read; and behind the last one. */
void http_gate_open(HttpGate *gate, int descriptor, void *session);
void http_gate_close(HttpGate *gate);
