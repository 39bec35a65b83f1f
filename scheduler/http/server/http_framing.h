#pragma once
/* Finds the beginning and end of each request in the bytes of a connection, after RFC 9112, and
 * refuses every form that another reader could split differently: otherwise bytes that are a body
 * to a proxy could be a request to the server behind it. libmicrohttpd accepts many of these forms,
 * so all bytes pass through here first. Called by http_gate.c, on the thread that serves the
 * connection.
 *
 * A line is passed on when all of it was examined. A refused head is cut off and replaced by the
 * end of a head, so that libmicrohttpd asks for an answer, which is the refusal. A refused body is
 * replaced by bytes that are no chunk, which libmicrohttpd refuses by itself. No byte after them is
 * passed on. */
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

typedef enum HttpFramingState {
    HTTP_FRAMING_START,      /* before a request's first line */
    HTTP_FRAMING_HEAD,       /* the other lines of the head */
    HTTP_FRAMING_BODY,       /* a body of a given length */
    HTTP_FRAMING_CHUNK_SIZE, /* a chunk's first line */
    HTTP_FRAMING_CHUNK,      /* a chunk's bytes */
    HTTP_FRAMING_CHUNK_END,  /* the line end after a chunk's bytes */
    HTTP_FRAMING_TRAILER,    /* the lines after the last chunk */
    HTTP_FRAMING_REFUSED,
} HttpFramingState;

enum { HTTP_LINE_SIZE_MAX = 32 << 10, HTTP_CHUNK_LINE_SIZE_MAX = 256, HTTP_TRAILERS_MAX = 64 };

typedef struct HttpFraming {
    HttpFramingState state;
    ByteWriter line; /* a line whose end has not come */
    ByteWriter out;  /* examined bytes, for the reader */
    size_t out_at;
    uint64_t left; /* bytes left of a body, or of a chunk */
    uint32_t empty_lines, trailers;
    bool old; /* HTTP/1.0 */
    bool has_host, has_length, chunked;
    /* The number of the refused head, counted from 1; 0: none. */
    uint64_t heads, refused_head;
    int status;      /* of the refusal */
    const char *why; /* a constant */
} HttpFraming;

void http_framing_deinit(HttpFraming *framing);
/* Examines bytes in the order of the connection; accepted bytes are appended to out. */
void http_framing_add(HttpFraming *framing, const uint8_t *data, size_t size);
/* How many of the next bytes are accepted whatever they are. The caller reports them by
 * http_framing_pass instead of http_framing_add. */
uint64_t http_framing_free_bytes(const HttpFraming *framing);
void http_framing_pass(HttpFraming *framing, uint64_t size);
/* Moves bytes from framing->out to out; returns how many. */
size_t http_framing_take(HttpFraming *framing, uint8_t *out, size_t size);
