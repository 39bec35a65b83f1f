#pragma once
/* A kept connection to a daemon's unix socket, for benchmarks: what is measured is the daemon and
 * not a client library. One thread at a time. */
#include "base/bytes.h"
#include "base/error.h"

enum { BENCH_HEAD_SIZE = 8 << 10 };

/* An answer's body stays valid until the next call on its connection. */
typedef struct BenchConnection {
    int socket;
    ByteWriter buffer; /* head and body */
    const char *body;
    size_t body_size;
} BenchConnection;

MUST_CHECK Error *bench_connection_open(const char *socket_path, BenchConnection *out);
void bench_connection_close(BenchConnection *connection);
#define OWN_CONNECTION(name) __attribute__((cleanup(bench_connection_close))) name = {.socket = -1}

MUST_CHECK Error *bench_connection_send(
    const BenchConnection *connection, const void *data, size_t size);
MUST_CHECK Error *bench_connection_receive(BenchConnection *connection, int *out_status);
/* A request with its answer. Errors: INVALID a status that is no success. */
MUST_CHECK Error *bench_connection_call(BenchConnection *connection, const char *method,
    const char *target, const char *type, const void *body, size_t size);
MUST_CHECK Error *bench_connection_get(BenchConnection *connection, const char *target);
