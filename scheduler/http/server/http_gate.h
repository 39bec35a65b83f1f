#pragma once
/* Routes the bytes that libmicrohttpd receives (of TLS, after decryption) through http_framing.h
 * first. libmicrohttpd has no hook for that, so its own calls of recv and gnutls_record_recv are
 * redirected to this file. Called by http_server.c and http_monitor.c. Threads: a connection's
 * functions run on the thread that serves it. */
#include "scheduler/http/server/http_framing.h"

/* The gate of one connection. */
typedef struct HttpGate {
    uintptr_t key; /* the connection's descriptor, or its TLS session */
    struct HttpGate *next;
    HttpFraming framing;
} HttpGate;

/* Redirects the calls, once in a process, after libmicrohttpd was opened. Errors: UNSUPPORTED this
 * libmicrohttpd cannot be redirected; then there is no server. */
MUST_CHECK Error *http_gate_install(bool tls);

/* Open: before the first byte is read. session: NULL without TLS. Close: after the last byte. */
void http_gate_open(HttpGate *gate, int descriptor, void *session);
void http_gate_close(HttpGate *gate);
