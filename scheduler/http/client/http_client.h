#pragma once
/* A client of a daemon's HTTP, over its unix socket or TCP: what the command line speaks through.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "scheduler/http/client/http_method.h"

typedef struct HttpClient HttpClient;

typedef struct HttpClientOptions {
    const char *server;  /* an absolute socket path, unix:PATH, http://… or https://… */
    const char *token;   /* NULL: none */
    const char *tenant;  /* NULL: the token's, or default */
    const char *ca_file; /* PEM, of whom to trust instead of the system's; NULL: the system's */
    /* Of https://, as server_key.h writes it: this key alone is trusted, whoever signed for it, and
     * nothing else of the certificate matters; NULL: who has a certificate for that name */
    const char *pinned_key;
    bool no_proxy;             /* even if the environment names one */
    uint32_t connect_limit_ms; /* 0: 5 s */
    uint32_t silence_limit_s;  /* nothing moved for so long; 0: 600 s. Streams have none */
} HttpClientOptions;

/* Connects when the first call is made; the connection stays for the next one. For one thread at a
 * time. Errors: INVALID no such form of a server, or of a key, or a key without TLS; a token that
 * no header can hold. */
MUST_CHECK Error *http_client_open(const HttpClientOptions *options, HttpClient **out);
void http_client_close(HttpClient *client);
DEFINE_OWN(HttpClient, http_client_close);

enum {
    HTTP_CLIENT_PARTS_MAX = 2,
    HTTP_CLIENT_ANSWER_MAX = 64 << 20,
    HTTP_CLIENT_PLACE_SIZE = 128,
};

/* A part of multipart/form-data: bytes or a file. */
typedef struct HttpClientPart {
    const char *name;
    const char *content_type;
    const void *data; /* NULL: path */
    size_t size;
    const char *path;
} HttpClientPart;

/* Of a stream, one at a time, without its line end. An error ends the call and is returned. */
typedef Error *HttpClientLineVisitor(void *context, const char *line);

/* Everything is borrowed. */
typedef struct HttpClientCall {
    HttpMethod method;
    const char *path; /* encoded: http_client_path */
    const char *json; /* a body; NULL: none, or one of the next three */
    const char *file; /* a body: the file's bytes */
    const void *data; /* a body: these bytes, sent from where they are */
    size_t data_size;
    HttpClientPart parts[HTTP_CLIENT_PARTS_MAX];
    size_t part_count;
    uint32_t limit_ms;    /* of all of it; 0: none */
    uint64_t bytes_per_s; /* of a body, sent at most so fast; 0: as fast as it goes */
    /* Where an answer goes that is no error: into the text of the reply, or here. The reply's place
     * is known before the first piece. */
    const char *output; /* a file, replaced once all of it has come */
    Error *(*take)(void *context, const void *data, size_t size); /* pieces, as they come */
    void *take_context;
    HttpClientLineVisitor *visit;
    void *visit_context;
    /* Asked several times a second; true ends the call with INTERRUPTED. */
    bool (*interrupted)(void *context);
    void *interrupted_context;
} HttpClientCall;

typedef struct HttpClientReply {
    int status;
    TextBuilder text;
    char place[HTTP_CLIENT_PLACE_SIZE]; /* Layover-Next: where the next answer begins; "": none */
    int64_t next;                       /* the same as a number; -1: it is none */
    uint64_t bytes;
} HttpClientReply;

void http_client_reply_deinit(HttpClientReply *reply);
#define OWN_REPLY(name) __attribute__((cleanup(http_client_reply_deinit))) name

/* Errors: UNREACHABLE nobody answers, or the connection broke; REFUSED it has another key than the
 * pinned one (nothing was sent, not even the token); for an answered error what the
 * server said, under its code; CORRUPT an answer that is none of this protocol. */
MUST_CHECK Error *http_client_call(
    HttpClient *client, const HttpClientCall *call, HttpClientReply *out_reply);

/* Appends /segment, percent-encoded. */
void http_client_path(TextBuilder *path, const char *segment);
/* Appends ?name=value or &name=value. */
void http_client_query(TextBuilder *path, const char *name, const char *value);
