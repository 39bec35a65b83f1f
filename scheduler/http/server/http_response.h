#pragma once
/* What a handler answers: JSON, text, a file, or a stream that is pulled while the client reads. */
#include <stdint.h>

#include <json-c/json_object.h>

#include "base/bytes.h"
#include "base/text.h"
#include "base/error.h"

struct HttpResponse;

typedef enum HttpStreamState {
    HTTP_STREAM_MORE, /* bytes were appended; there may be more at once */
    HTTP_STREAM_WAIT, /* nothing to say before the waker is called */
    HTTP_STREAM_END,
} HttpStreamState;

/* Tells the server that a stream may have something to say. Threads: any, at any time until the
 * stream's close has returned; never blocks. */
typedef struct HttpWaker {
    void (*wake)(void *self);
    void *self;
} HttpWaker;

/* What a handler waits for without a thread. */
typedef struct HttpWait {
    /* Called once. Wakes once, when it is over; maybe before this returns. */
    void (*start)(void *self, HttpWaker waker);
    /* Runs in a handler thread behind that, and writes the answer. */
    Error *(*finish)(void *self, struct HttpResponse *response);
    /* It is over, or was never started. */
    void (*close)(void *self);
    void *self;
} HttpWait;

/* A body of unknown length. */
typedef struct HttpStream {
    /* Called once, before the first pull. */
    void (*start)(void *self, HttpWaker waker);
    /* Appends what there is, a few hundred KiB at most. Runs in a handler thread; must not wait for
     * news. An error cuts the connection: the status is long sent. */
    Error *(*pull)(void *self, ByteWriter *out, HttpStreamState *out_state);
    /* The client has everything, or went away. The waker is not called afterwards. */
    void (*close)(void *self);
    void *self;
    /* Bytes of memory that it needs until its close, with what one pull appends: charged to whoever
     * asked, before anything is sent. 0: little, and only while there is something to tell. */
    uint64_t held;
} HttpStream;

typedef enum HttpBodyKind {
    HTTP_BODY_TEXT,
    HTTP_BODY_FILE,
    HTTP_BODY_STREAM,
} HttpBodyKind;

enum { HTTP_HEADERS_MAX = 4, HTTP_HEADER_VALUE_SIZE = 96 };

typedef struct HttpResponse {
    int status; /* 0: 200 */
    HttpBodyKind kind;
    const char *content_type; /* a constant */
    TextBuilder text;
    int descriptor; /* of FILE: the response closes it */
    HttpStream stream;
    HttpWait wait; /* start is NULL: there is an answer already */
    struct {
        const char *name; /* a constant */
        char value[HTTP_HEADER_VALUE_SIZE];
    } headers[HTTP_HEADERS_MAX];
    uint32_t header_count;
} HttpResponse;

void http_response_init(HttpResponse *response);
/* Closes what the server did not take. */
void http_response_deinit(HttpResponse *response);
#define OWN_RESPONSE(name) __attribute__((cleanup(http_response_deinit))) name

/* One object. Consumes it. */
MUST_CHECK Error *http_response_json(HttpResponse *response, json_object *owned_object);
/* One line of JSON Lines. Consumes it. */
MUST_CHECK Error *http_response_line(HttpResponse *response, json_object *owned_object);
/* An empty list of them. */
void http_response_lines(HttpResponse *response);
/* A file to be sent from its start. Consumes the descriptor. */
void http_response_file(HttpResponse *response, int owned_descriptor);
/* JSON lines, or bytes. */
void http_response_stream(HttpResponse *response, HttpStream stream);
/* The answer comes later. */
void http_response_wait(HttpResponse *response, HttpWait wait);
void http_response_bytes(HttpResponse *response, HttpStream stream);
void http_response_header(HttpResponse *response, const char *name, const char *value);
/* The status of its code and {"error", "code"}; replaces whatever there was. */
void http_response_error(HttpResponse *response, Error *owned_error);
