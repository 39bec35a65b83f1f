#pragma once
/* Where requests begin and end in the bytes of a connection, after RFC 9112, and a refusal of every
 * form that another reader could cut differently: what is a body to a proxy is a request to the
 * server behind it otherwise. libmicrohttpd takes many of these forms, so nothing reaches it before
 * it went through here (http_gate.h).
 *
 * A line goes through when all of it was looked at. What is refused is cut off and replaced by the
 * end of a head, so that libmicrohttpd asks for an answer, which is the refusal; in a body by what
 * is no chunk, which it refuses by itself. Nothing goes through behind that. */
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

typedef enum HttpFramingState {
    HTTP_FRAMING_START,      /* before a request's first line */
    HTTP_FRAMING_HEAD,       /* its other lines */
    HTTP_FRAMING_BODY,       /* of a given length */
    HTTP_FRAMING_CHUNK_SIZE, /* a chunk's first line */
    HTTP_FRAMING_CHUNK,      /* its bytes */
    HTTP_FRAMING_CHUNK_END,  /* the line's end behind them */
    HTTP_FRAMING_TRAILER,    /* the lines behind the last chunk */
    HTTP_FRAMING_REFUSED,
} HttpFramingState;

enum { HTTP_LINE_SIZE_MAX = 32 << 10, HTTP_CHUNK_LINE_SIZE_MAX = 256, HTTP_TRAILERS_MAX = 64 };

typedef struct HttpFraming {
    HttpFramingState state;
    ByteWriter line; /* that has not ended */
    ByteWriter out;  /* what went through, for the reader */
    size_t out_at;
    uint64_t left; /* of a body, or a chunk */
    uint32_t empty_lines, trailers;
    bool old; /* HTTP/1.0 */
    bool has_host, has_length, chunked;
    /* The head that is refused, counted from 1; 0: none. */
    uint64_t heads, refused_head;
    int status;      /* of the refusal */
    const char *why; /* a constant */
} HttpFraming;

void http_framing_deinit(HttpFraming *framing);
/* Looks at bytes as they came; those that go through are in out. */
void http_framing_add(HttpFraming *framing, const uint8_t *data, size_t size);
/* How many bytes that come next go through whatever they are; once they came, so many of them are
 * passed. */
uint64_t http_framing_free_bytes(const HttpFraming *framing);
void http_framing_pass(HttpFraming *framing, uint64_t size);
/* Takes from out. */
size_t http_framing_take(HttpFraming *framing, uint8_t *out, size_t size);
