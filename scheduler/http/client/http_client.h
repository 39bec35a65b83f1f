#pragma once
/* A client of a daemon's HTTP, over its unix socket or TCP. Called by the command line
 * (tools/client/remote.c) and by the links between nodes (scheduler/migration/). One thread at a
 * time for each client. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "scheduler/http/client/http_method.h"

typedef struct HttpClient HttpClient;

typedef struct HttpClientOptions {
    const char *server;  /* an absolute socket path, unix:PATH, http://… or https://… */
    const char *token;   /* NULL: none */
    const char *tenant;  /* NULL: the token's tenant, or default */
    const char *ca_file; /* PEM file of the authorities to trust instead of the system's; NULL:
                          * the system's */
    /* For https://: the only key to trust, as server_key.h writes it. The rest of the certificate
     * is ignored, whoever signed it. NULL: trusts any certificate that is valid for the server's
     * name */
    const char *pinned_key;
    bool no_proxy;             /* ignores a proxy that the environment names */
    uint32_t connect_limit_ms; /* 0: 5 s */
    uint32_t silence_limit_s;  /* upper bound on the time without a byte moving; 0: 600 s.
                                * Streams have no bound */
} HttpClientOptions;

/* Makes a client. It connects at the first call, and the connection stays for the next one. For one
 * thread at a time. Errors: INVALID the server or the key is malformed, or there is a key without
 * TLS, or the token cannot stand in a header. */
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
    const void *data; /* NULL: the part is the file at path */
    size_t size;
    const char *path;
} HttpClientPart;

/* Called for each line of a stream, without its line end. An error ends the call and is
 * returned. */
typedef Error *HttpClientLineVisitor(void *context, const char *line);

/* All members are borrowed. */
typedef struct HttpClientCall {
    HttpMethod method;
    const char *path; /* encoded: http_client_path */
    const char *json; /* a body; NULL: none, or file, data or parts */
    const char *file; /* a body: the file's bytes */
    const void *data; /* a body: these bytes, sent without a copy */
    size_t data_size;
    HttpClientPart parts[HTTP_CLIENT_PARTS_MAX];
    size_t part_count;
    uint32_t limit_ms;    /* upper bound on the whole call; 0: none */
    uint64_t bytes_per_s; /* upper bound on the speed of sending a body; 0: none */
    /* The destination of an answer that is no error: output, take or visit; if all are NULL, the
     * text of the reply. The reply's place is known before the first piece. */
    const char *output; /* a file, replaced when the answer is complete */
    Error *(*take)(void *context, const void *data, size_t size); /* called for each piece as it
                                                                   * comes */
    void *take_context;
    HttpClientLineVisitor *visit;
    void *visit_context;
    /* Polled several times a second; true ends the call with INTERRUPTED. */
    bool (*interrupted)(void *context);
    void *interrupted_context;
} HttpClientCall;

typedef struct HttpClientReply {
    int status;
    TextBuilder text;
    char place[HTTP_CLIENT_PLACE_SIZE]; /* Layover-Next: the start of the next answer; "": none */
    int64_t next;                       /* place as a number; -1: place is no number */
    uint64_t bytes;
} HttpClientReply;

void http_client_reply_deinit(HttpClientReply *reply);
#define OWN_REPLY(name) __attribute__((cleanup(http_client_reply_deinit))) name

/* Makes one call. Errors: UNREACHABLE no answer, or the connection broke; REFUSED the server has
 * another key than the pinned one (nothing was sent, not even the token); an error of the server
 * under its code; CORRUPT an answer that does not follow this protocol. */
MUST_CHECK Error *http_client_call(
    HttpClient *client, const HttpClientCall *call, HttpClientReply *out_reply);

/* Appends /segment, percent-encoded. */
void http_client_path(TextBuilder *path, const char *segment);
/* Appends ?name=value or &name=value. */
void http_client_query(TextBuilder *path, const char *name, const char *value);
