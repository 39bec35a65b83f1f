#include "scheduler/http/client/http_client.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <json-c/json_object.h>

#include "base/allocator.h"
#include "base/file.h"
#include "scheduler/http/client/http_libraries.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/server_key.h"

enum {
    CONNECT_LIMIT_MS = 5000,
    SILENCE_LIMIT_S = 600,
    LINE_SIZE_MAX = 16 << 20,
    ERROR_SIZE_MAX = 64 << 10,
    UNIX_PREFIX = 5,
    SEND_PIECE_SIZE = 1 << 20,
    UNASKED_SIZE_MAX = 32 << 20,
};

struct HttpClient {
    CURL *curl;
    char *socket; /* NULL: TCP */
    char *base;   /* scheme and host */
    char *authorization;
    char *tenant;
    char *ca_file;
    char *pinned_key;
    bool no_proxy;
    uint32_t connect_limit_ms, silence_limit_s;
};

static Error *take_server(HttpClient *client, const char *server) {
    TextBuilder OWN_TEXT(base) = {0};
    bool is_unix = server[0] == '/' || text_starts_with(server, "unix:");
    if (is_unix) {
        const char *path = server[0] == '/' ? server : server + UNIX_PREFIX;
        if (!*path) FAIL(INVALID, "server %s: the socket's path is empty", server);
        TRY(memory_copy_text(path, &client->socket));
        return memory_copy_text("http://localhost", &client->base);
    }
    if (!text_starts_with(server, "http://") && !text_starts_with(server, "https://"))
        FAIL(INVALID, "server %s: a socket's path, http://HOST:PORT or https://HOST:PORT is wanted",
            server);
    text_append(&base, server);
    TRY(text_builder_check(&base));
    while (base.size && base.data[base.size - 1] == '/') base.data[--base.size] = 0;
    return text_builder_take(&base, &client->base);
}

static Error *take_token(HttpClient *client, const char *token) {
    TextBuilder OWN_TEXT(header) = {0};
    for (const char *at = token; *at; at++)
        if (!isgraph((unsigned char)*at)) FAIL(INVALID, "the token has characters that none has");
    text_appendf(&header, "Authorization: Bearer %s", token);
    return text_builder_take(&header, &client->authorization);
}

/* curl would take a key of another form for a file's name, and without TLS for nothing. */
static Error *take_key(HttpClient *client, const char *key) {
    if (!server_key_is_text(key))
        FAIL(INVALID, "the key %s: sha256// and 44 letters of base64 are wanted", key);
    if (!text_starts_with(client->base, "https://"))
        FAIL(INVALID, "only a server with https:// has a key");
    return memory_copy_text(key, &client->pinned_key);
}

Error *http_client_open(const HttpClientOptions *options, HttpClient **out) {
    void *memory;
    TRY(http_libraries_open_curl());
    TRY(memory_alloc(1, sizeof(HttpClient), &memory));
    OWN(HttpClient, client) = memory;
    client->connect_limit_ms =
        options->connect_limit_ms ? options->connect_limit_ms : CONNECT_LIMIT_MS;
    client->silence_limit_s = options->silence_limit_s ? options->silence_limit_s : SILENCE_LIMIT_S;
    client->no_proxy = options->no_proxy;
    TRY(take_server(client, options->server));
    if (options->token) TRY(take_token(client, options->token));
    if (options->tenant) TRY(memory_copy_text(options->tenant, &client->tenant));
    if (options->ca_file) TRY(memory_copy_text(options->ca_file, &client->ca_file));
    if (options->pinned_key) TRY(take_key(client, options->pinned_key));
    client->curl = libcurl.easy_init();
    if (!client->curl) FAIL(OUT_OF_MEMORY, "no memory for a client");
    *out = TAKE(client);
    return NULL;
}

void http_client_close(HttpClient *client) {
    if (!client) return;
    if (client->curl) libcurl.easy_cleanup(client->curl);
    memory_free(client->socket);
    memory_free(client->base);
    memory_free(client->authorization);
    memory_free(client->tenant);
    memory_free(client->ca_file);
    memory_free(client->pinned_key);
    memory_free(client);
}

static void encode(TextBuilder *path, const char *text) {
    for (; *text; text++) {
        if (isalnum((unsigned char)*text) || strchr("._-~", *text))
            text_append_bytes(path, text, 1);
        else
            text_appendf(path, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

void http_client_path(TextBuilder *path, const char *segment) {
    text_append(path, "/");
    encode(path, segment);
}

void http_client_query(TextBuilder *path, const char *name, const char *value) {
    text_appendf(path, "%s%s=", strchr(text_builder_get(path), '?') ? "&" : "?", name);
    encode(path, value);
}

void http_client_reply_deinit(HttpClientReply *reply) { text_builder_deinit(&reply->text); }

/* A call under way. */
typedef struct Transfer {
    HttpClient *client;
    const HttpClientCall *call;
    HttpClientReply *reply;
    FileOutput *output;
    TextBuilder line; /* of a stream, so far */
    Error *error;     /* of ours; ends the transfer */
    int body;         /* a file's descriptor; -1: none */
    struct curl_slist *headers;
    curl_mime *mime;
} Transfer;

static void transfer_deinit(Transfer *transfer) {
    file_output_release(transfer->output);
    text_builder_deinit(&transfer->line);
    error_free(transfer->error);
    if (transfer->body >= 0) (void)close(transfer->body);
    libcurl.slist_free_all(transfer->headers);
    libcurl.mime_free(transfer->mime);
}
#define OWN_TRANSFER(name) __attribute__((cleanup(transfer_deinit))) name

static Error *take_lines(Transfer *transfer, const char *data, size_t size) {
    while (size) {
        const char *end = memchr(data, '\n', size);
        size_t length = end ? (size_t)(end - data) : size;
        if (transfer->line.size + length > LINE_SIZE_MAX)
            FAIL(CORRUPT, "the server sent a line of more than %d bytes", LINE_SIZE_MAX);
        text_append_bytes(&transfer->line, data, length);
        TRY(text_builder_check(&transfer->line));
        data += length + (end != NULL);
        size -= length + (end != NULL);
        if (!end) continue;
        if (transfer->line.size)
            TRY(transfer->call->visit(
                transfer->call->visit_context, text_builder_get(&transfer->line)));
        transfer->line.size = 0;
        if (transfer->line.data) transfer->line.data[0] = 0;
    }
    return NULL;
}

static Error *take_data(Transfer *transfer, const char *data, size_t size) {
    long status = 0;
    (void)libcurl.easy_getinfo(transfer->client->curl, CURLINFO_RESPONSE_CODE, &status);
    bool worked = status >= 200 && status < 300;
    size_t limit = worked ? HTTP_CLIENT_ANSWER_MAX : ERROR_SIZE_MAX;
    transfer->reply->bytes += size;
    if (worked && transfer->call->visit) return take_lines(transfer, data, size);
    if (worked && transfer->call->take)
        return transfer->call->take(transfer->call->take_context, data, size);
    if (worked && transfer->call->output) {
        if (!transfer->output) TRY(file_output_create(transfer->call->output, &transfer->output));
        return file_output_write(transfer->output, data, size);
    }
    if (transfer->reply->text.size + size > limit)
        FAIL(CORRUPT, "the server's answer has more than %zu bytes", limit);
    text_append_bytes(&transfer->reply->text, data, size);
    return text_builder_check(&transfer->reply->text);
}

static size_t on_data(char *data, size_t size, size_t count, void *self) {
    Transfer *transfer = self;
    if (!transfer->error) transfer->error = take_data(transfer, data, size * count);
    return transfer->error ? CURL_WRITEFUNC_ERROR : size * count;
}

static size_t on_header(char *data, size_t size, size_t count, void *self) {
    static const char name[] = "layover-next:";
    HttpClientReply *reply = ((Transfer *)self)->reply;
    const size_t length = size * count, name_size = sizeof name - 1;
    if (length <= name_size || strncasecmp(data, name, name_size) != 0) return length;
    size_t start = name_size, end = length;
    while (start < end && data[start] == ' ') start++;
    while (end > start && strchr(" \r\n", data[end - 1])) end--;
    if (end - start >= sizeof reply->place) return length;
    memcpy(reply->place, data + start, end - start);
    reply->place[end - start] = 0;
    if (!text_parse_i64(reply->place, &reply->next) || reply->next < 0) reply->next = -1;
    return length;
}

static size_t on_read(char *out, size_t size, size_t count, void *self) {
    Transfer *transfer = self;
    ssize_t got = read(transfer->body, out, size * count);
    return got < 0 ? CURL_READFUNC_ABORT : (size_t)got;
}

/* Rewinds the body, which is sent again from its start if the connection turns out to be closed. */
static int on_seek(void *self, curl_off_t offset, int origin) {
    Transfer *transfer = self;
    return lseek(transfer->body, offset, origin) < 0 ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

static int on_progress(void *self, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    Transfer *transfer = self;
    const HttpClientCall *call = transfer->call;
    (void)a, (void)b, (void)c, (void)d;
    if (!call->interrupted || !call->interrupted(call->interrupted_context)) return 0;
    if (!transfer->error)
        transfer->error =
            error_make(ERROR_INTERRUPTED, __FILE__, __LINE__, "interrupted while waiting");
    return 1;
}

static Error *add_header(Transfer *transfer, const char *text) {
    struct curl_slist *grown = libcurl.slist_append(transfer->headers, text);
    if (!grown) FAIL(OUT_OF_MEMORY, "no memory for a request");
    transfer->headers = grown;
    return NULL;
}

static Error *set_file(Transfer *transfer) {
    CURL *curl = transfer->client->curl;
    struct stat status;
    const char *path = transfer->call->file;
    transfer->body = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (transfer->body < 0 || fstat(transfer->body, &status) != 0)
        FAIL(NOT_FOUND, "no file %s", path);
    if (!S_ISREG(status.st_mode)) FAIL(INVALID, "%s is not a regular file", path);
    TRY(add_header(transfer, "Content-Type: application/octet-stream"));
    (void)libcurl.easy_setopt(curl, CURLOPT_POST, 1L);
    (void)libcurl.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)status.st_size);
    (void)libcurl.easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
    (void)libcurl.easy_setopt(curl, CURLOPT_READDATA, transfer);
    (void)libcurl.easy_setopt(curl, CURLOPT_SEEKFUNCTION, on_seek);
    (void)libcurl.easy_setopt(curl, CURLOPT_SEEKDATA, transfer);
    return NULL;
}

/* A server that refuses a small body says so after the body: asking it first ("Expect") would cost
 * every call a round trip. After a very large body the answer would not be read. */
static Error *set_data(Transfer *transfer) {
    const HttpClientCall *call = transfer->call;
    CURL *curl = transfer->client->curl;
    TRY(add_header(transfer, "Content-Type: application/octet-stream"));
    if (call->data_size <= UNASKED_SIZE_MAX) TRY(add_header(transfer, "Expect:"));
    if (call->data_size > SEND_PIECE_SIZE && !call->bytes_per_s)
        (void)libcurl.easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_PIECE_SIZE);
    (void)libcurl.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->data_size);
    (void)libcurl.easy_setopt(curl, CURLOPT_POSTFIELDS, call->data);
    return NULL;
}

static Error *set_parts(Transfer *transfer) {
    const HttpClientCall *call = transfer->call;
    transfer->mime = libcurl.mime_init(transfer->client->curl);
    if (!transfer->mime) FAIL(OUT_OF_MEMORY, "no memory for a request");
    for (size_t i = 0; i < call->part_count; i++) {
        const HttpClientPart *from = &call->parts[i];
        curl_mimepart *part = libcurl.mime_addpart(transfer->mime);
        CURLcode code = part ? libcurl.mime_name(part, from->name) : CURLE_OUT_OF_MEMORY;
        if (!code) code = libcurl.mime_type(part, from->content_type);
        if (!code)
            code = from->data ? libcurl.mime_data(part, from->data, from->size)
                              : libcurl.mime_filedata(part, from->path);
        if (!code) code = libcurl.mime_filename(part, NULL);
        if (code == CURLE_READ_ERROR) FAIL(NOT_FOUND, "no file %s", from->path);
        if (code) FAIL(OUT_OF_MEMORY, "%s", libcurl.easy_strerror(code));
    }
    (void)libcurl.easy_setopt(transfer->client->curl, CURLOPT_MIMEPOST, transfer->mime);
    return NULL;
}

static Error *set_body(Transfer *transfer) {
    const HttpClientCall *call = transfer->call;
    CURL *curl = transfer->client->curl;
    if (call->bytes_per_s)
        (void)libcurl.easy_setopt(
            curl, CURLOPT_MAX_SEND_SPEED_LARGE, (curl_off_t)(call->bytes_per_s & INT64_MAX));
    if (call->file) return set_file(transfer);
    if (call->data) return set_data(transfer);
    if (call->part_count) return set_parts(transfer);
    if (call->method == HTTP_METHOD_POST) {
        const char *json = call->json ? call->json : "";
        TRY(add_header(transfer, "Content-Type: application/json"));
        (void)libcurl.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(json));
        (void)libcurl.easy_setopt(curl, CURLOPT_POSTFIELDS, json);
    } else if (call->method != HTTP_METHOD_GET)
        (void)libcurl.easy_setopt(curl, CURLOPT_CUSTOMREQUEST, http_method_name(call->method));
    return NULL;
}

static void set_trust(HttpClient *client) {
    CURL *curl = client->curl;
    if (client->ca_file) (void)libcurl.easy_setopt(curl, CURLOPT_CAINFO, client->ca_file);
    if (!client->pinned_key) return;
    (void)libcurl.easy_setopt(curl, CURLOPT_PINNEDPUBLICKEY, client->pinned_key);
    (void)libcurl.easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    (void)libcurl.easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
}

static Error *set_call(Transfer *transfer) {
    HttpClient *client = transfer->client;
    CURL *curl = client->curl;
    TextBuilder OWN_TEXT(url) = {0};
    text_appendf(&url, "%s%s", client->base, transfer->call->path);
    if (client->tenant) http_client_query(&url, "tenant", client->tenant);
    TRY(text_builder_check(&url));
    libcurl.easy_reset(curl); /* the connection stays */
    (void)libcurl.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)libcurl.easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
    (void)libcurl.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)libcurl.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)libcurl.easy_setopt(curl, CURLOPT_PROXY, client->socket || client->no_proxy ? "" : NULL);
    (void)libcurl.easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)transfer->call->limit_ms);
    if (client->socket) (void)libcurl.easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket);
    set_trust(client);
    (void)libcurl.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)client->connect_limit_ms);
    if (!transfer->call->visit) {
        (void)libcurl.easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)libcurl.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)client->silence_limit_s);
    }
    (void)libcurl.easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    (void)libcurl.easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    (void)libcurl.easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    (void)libcurl.easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    (void)libcurl.easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)libcurl.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)libcurl.easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
    if (client->authorization) TRY(add_header(transfer, client->authorization));
    TRY(set_body(transfer));
    (void)libcurl.easy_setopt(curl, CURLOPT_HTTPHEADER, transfer->headers);
    if (libcurl.easy_setopt(curl, CURLOPT_URL, text_builder_get(&url)) != CURLE_OK)
        FAIL(OUT_OF_MEMORY, "no memory for a request");
    return NULL;
}

static ErrorCode code_of_status(int status) {
    static const struct {
        int status;
        ErrorCode code;
    } known[] = {{401, ERROR_UNAUTHENTICATED}, {403, ERROR_REFUSED}, {404, ERROR_NOT_FOUND},
        {405, ERROR_METHOD}, {409, ERROR_CONFLICT}, {413, ERROR_TOO_LARGE}, {429, ERROR_EXHAUSTED},
        {500, ERROR_INTERNAL}, {503, ERROR_UNREACHABLE}, {507, ERROR_IO}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status) return known[i].code;
    return status >= 400 && status < 500 ? ERROR_INVALID : ERROR_CORRUPT;
}

/* Reads the server's error, under its code if that is one of the answer's status. */
static Error *read_refusal(const HttpClientReply *reply) {
    const char *message = NULL, *name = NULL;
    OWN_JSON(object) = NULL;
    Error *error = json_body_parse(text_builder_get(&reply->text), reply->text.size, &object);
    if (!error) error = json_body_text(object, "error", &message);
    if (!error) error = json_body_text(object, "code", &name);
    ErrorCode code = name ? error_find_code(name) : ERROR_NONE;
    if (error || !message || code == ERROR_NONE || error_info(code)->http_status != reply->status)
        code = code_of_status(reply->status);
    error_free(error); /* the status says enough */
    if (!message)
        return error_make(code, __FILE__, __LINE__, "the server answered %d", reply->status);
    return error_make(code, __FILE__, __LINE__, "%s", message);
}

static Error *judge(Transfer *transfer, CURLcode code) {
    HttpClient *client = transfer->client;
    const char *where = client->socket ? client->socket : client->base;
    long status = 0;
    if (transfer->error) {
        Error *error = transfer->error;
        transfer->error = NULL;
        return error;
    }
    (void)libcurl.easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    transfer->reply->status = (int)status;
    bool refused = status >= 400; /* said before all of the body was sent */
    if (code != CURLE_OK && !(refused && transfer->reply->text.size)) {
        if (code == CURLE_OUT_OF_MEMORY) FAIL(OUT_OF_MEMORY, "no memory for a request");
        if (code == CURLE_SSL_PINNEDPUBKEYNOTMATCH)
            FAIL(REFUSED, "%s has another key than the one that is trusted, %s", where,
                client->pinned_key);
        if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY ||
            code == CURLE_BAD_CONTENT_ENCODING)
            FAIL(CORRUPT, "%s: %s", where, libcurl.easy_strerror(code));
        if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
            FAIL(UNREACHABLE, "%s: %s; LAYOVER_CA names a file of certificates to trust", where,
                libcurl.easy_strerror(code));
        FAIL(UNREACHABLE, "%s: %s; is the daemon running there?", where,
            libcurl.easy_strerror(code));
    }
    if (status < 200 || status >= 300) return read_refusal(transfer->reply);
    if (transfer->call->visit && transfer->line.size)
        FAIL(CORRUPT, "%s: the answer ends within a line", where);
    if (!transfer->call->output) return NULL;
    if (!transfer->output) TRY(file_output_create(transfer->call->output, &transfer->output));
    return file_output_commit(transfer->output);
}

Error *http_client_call(
    HttpClient *client, const HttpClientCall *call, HttpClientReply *out_reply) {
    Transfer OWN_TRANSFER(transfer) = {
        .client = client, .call = call, .reply = out_reply, .body = -1};
    *out_reply = (HttpClientReply){.next = -1};
    TRY(set_call(&transfer));
    Error *error = judge(&transfer, libcurl.easy_perform(client->curl));
    libcurl.easy_reset(client->curl); /* the handle points to objects that end here */
    return error;
}
