#pragma once
/* A handler's answer: JSON, text, a file, or a stream that is pulled while the client reads. Made
 * by the routes on handler threads, sent by the server's socket threads; one thread at a time. */
#include <stdint.h>

#include <json-c/json_object.h>

#include "base/bytes.h"
#include "base/text.h"
#include "base/error.h"

struct HttpResponse;

typedef enum HttpStreamState {
    HTTP_STREAM_MORE, /* bytes were appended; there may be more at once */
    HTTP_STREAM_WAIT, /* no bytes before the waker is called */
    HTTP_STREAM_END,
} HttpStreamState;

/* Tells the server that a stream may have bytes. Threads: any, at any time until the stream's close
 * has returned; never blocks. */
typedef struct HttpWaker {
    void (*wake)(void *self);
    void *self;
} HttpWaker;

/* An event that an answer waits for without a thread. */
typedef struct HttpWait {
    /* Called once. Calls the waker once, when the event has happened; maybe before start
     * returns. */
    void (*start)(void *self, HttpWaker waker);
    /* Called once behind start, maybe after the wake, but before finish, and without a lock: lends
     * the caller's thread to what the wait is for. brief: the thread may do the work itself, if
     * that does not take long. NULL: the wait needs no thread. */
    void (*help)(void *self, bool brief);
    /* Called at most once, after start has returned and before finish, when the client has gone:
     * the event may come sooner now. Must not wait. NULL: nobody needs to know. Threads: any. */
    void (*cut)(void *self);
    /* Writes the answer after that, in a handler thread. */
    Error *(*finish)(void *self, struct HttpResponse *response);
    /* Called when the wait is over, or was never started. */
    void (*close)(void *self);
    void *self;
} HttpWait;

/* A body of unknown length. */
typedef struct HttpStream {
    /* Called once, before the first pull. */
    void (*start)(void *self, HttpWaker waker);
    /* Appends the bytes that there are, a few hundred KiB at most. Runs in a handler thread; must
     * not wait for new ones. An error cuts the connection, since the status has been sent. */
    Error *(*pull)(void *self, ByteWriter *out, HttpStreamState *out_state);
    /* Called when the client has read everything, or has gone away. The waker is not called
     * afterwards. */
    void (*close)(void *self);
    void *self;
    /* Bytes of memory that the stream needs until its close, including the bytes of one pull:
     * charged to the caller before anything is sent. 0: little, and only while there is something
     * to send. */
    uint64_t held;
} HttpStream;

typedef enum HttpBodyKind {
    HTTP_BODY_TEXT,
    HTTP_BODY_CONSTANT,
    HTTP_BODY_FILE,
    HTTP_BODY_STREAM,
} HttpBodyKind;

enum { HTTP_HEADERS_MAX = 6, HTTP_HEADER_VALUE_SIZE = 256 };

typedef struct HttpResponse {
    int status; /* 0: 200 */
    HttpBodyKind kind;
    const char *content_type; /* a constant */
    TextBuilder text;
    const void *constant; /* for HTTP_BODY_CONSTANT */
    size_t constant_size;
    int descriptor;        /* for HTTP_BODY_FILE; the response closes it */
    uint64_t elsewhere_ns; /* work for this answer that was not done in its handlers */
    HttpStream stream;
    HttpWait wait; /* start NULL: the answer is there already */
    struct {
        const char *name; /* a constant */
        char value[HTTP_HEADER_VALUE_SIZE];
    } headers[HTTP_HEADERS_MAX];
    uint32_t header_count;
} HttpResponse;

void http_response_init(HttpResponse *response);
/* Closes the parts that the server did not take. */
void http_response_deinit(HttpResponse *response);
#define OWN_RESPONSE(name) __attribute__((cleanup(http_response_deinit))) name

/* Answers one object. Consumes it. */
MUST_CHECK Error *http_response_json(HttpResponse *response, json_object *owned_object);
/* Appends one line of JSON Lines. Consumes the object. */
MUST_CHECK Error *http_response_line(HttpResponse *response, json_object *owned_object);
/* Begins an empty list of such lines. */
void http_response_lines(HttpResponse *response);
/* Answers bytes of the program. content_type, data: constants. */
void http_response_constant(
    HttpResponse *response, const char *content_type, const void *data, size_t size);
/* Answers a file from its start. Consumes the descriptor. */
void http_response_file(HttpResponse *response, int owned_descriptor);
/* Answer a stream: of JSON lines, or (http_response_bytes) of bytes. */
void http_response_stream(HttpResponse *response, HttpStream stream);
/* The answer comes when the wait is over. */
void http_response_wait(HttpResponse *response, HttpWait wait);
void http_response_bytes(HttpResponse *response, HttpStream stream);
void http_response_header(HttpResponse *response, const char *name, const char *value);
/* Answers the status of the error's code and {"error", "code"}; replaces any earlier answer. */
void http_response_error(HttpResponse *response, Error *owned_error);
