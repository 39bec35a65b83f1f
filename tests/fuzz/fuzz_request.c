/* The daemon's request handling from a request's head on, with a store in a temporary home and jobs
 * in memory:
 *
 *   METHOD TARGET
 *   name: value          authorization (user, admin, node stand for tokens), content-type,
 * content-encoding, host, cookie, origin, sec-fetch-site, tls, tcp
 *
 *   body
 *
 * Whatever comes, there is an answer that tells nothing of the inside. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/http/server/http_body.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/server/http_sessions.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/scheduler/memory_jobs.h"
#include "vm/assembly/assembly.h"

enum { HEADERS_MAX = 16, BODY_MAX = 1 << 20, TENANT_OTHER = 2 };

static struct {
    char folder[64];
    Store *store;
    HttpSessions *sessions;
    MemoryJobs jobs;
    HttpService service;
} fuzz;

static Error *check_token(void *self, const char *token, Caller *out_caller) {
    (void)self;
    if (strcmp(token, "user") && strcmp(token, "admin") && strcmp(token, "node"))
        FAIL(UNAUTHENTICATED, "the token is unknown");
    *out_caller = (Caller){.tenant = token[0] == 'n' ? 0 : TENANT_DEFAULT,
        .role = token[0] == 'u'   ? CALLER_USER
                : token[0] == 'a' ? CALLER_ADMIN
                                  : CALLER_NODE};
    return NULL;
}

static Error *find_token(void *self, int64_t token, Caller *out_caller) {
    (void)token;
    return check_token(self, "user", out_caller);
}

static Error *find_tenant(void *self, const char *name, TenantId *out_tenant) {
    (void)self;
    if (strcmp(name, "default") && strcmp(name, "other")) FAIL(NOT_FOUND, "no tenant %s", name);
    *out_tenant = name[0] == 'd' ? TENANT_DEFAULT : TENANT_OTHER;
    return NULL;
}

static Error *store_bytes_left(void *self, TenantId tenant, uint64_t *out_bytes) {
    (void)self, (void)tenant;
    *out_bytes = BODY_MAX;
    return NULL;
}

static Error *host_bytes(void *self, TenantId tenant, uint64_t *out_bytes) {
    (void)self, (void)tenant;
    *out_bytes = UINT64_MAX;
    return NULL;
}

static void must(Error *owned_error) {
    if (!owned_error) return;
    (void)fprintf(stderr, "fuzz_request: %s\n", error_message(owned_error));
    abort();
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

static void close_service(void) {
    metrics_release(fuzz.service.metrics);
    http_sessions_release(fuzz.sessions);
    store_close(fuzz.store);
    (void)nftw(fuzz.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What every model is. */
static const char program[] = "function main(a: float32[n, 2]) -> (y: float32[n, 2]) exported {\n"
                              "    Ret r0\n"
                              "}\n";

static void open_service(void) {
    static const AccountsClass accounts = {
        check_token, find_token, find_tenant, store_bytes_left, host_bytes};
    char home[96];
    static char uploads[96];
    (void)snprintf(fuzz.folder, sizeof fuzz.folder, "/tmp/layover_fuzz_XXXXXX");
    if (!mkdtemp(fuzz.folder)) abort();
    (void)snprintf(home, sizeof home, "%s/home", fuzz.folder);
    (void)snprintf(uploads, sizeof uploads, "%s/uploads", fuzz.folder);
    if (mkdir(uploads, 0700) != 0) abort();
    must(store_open(home, STORE_CREATE, &fuzz.store));
    memory_jobs_init(&fuzz.jobs);
    must(assembly_parse(program, sizeof program - 1, &fuzz.jobs.model));
    fuzz.service.store = fuzz.store;
    fuzz.service.accounts = (Accounts){.class_ = &accounts};
    must(http_sessions_create(clock_real(), &fuzz.sessions));
    fuzz.service.sessions = fuzz.sessions;
    fuzz.service.jobs = memory_jobs_api(&fuzz.jobs);
    fuzz.service.upload_folder = uploads;
    fuzz.service.compiler = "/bin/false"; /* compiling has targets of its own */
    must(metrics_create(&fuzz.service.metrics));
    (void)atexit(close_service);
}

/* Cuts the next line off; NULL: there is none. */
static char *take_line(char **inout_at) {
    char *line = *inout_at, *end = strchr(line, '\n');
    if (!end) return NULL;
    *end = 0;
    *inout_at = end + 1;
    return line;
}

static void take_header(HttpHead *head, char *line) {
    char *value = strchr(line, ':');
    if (!value) return;
    *value++ = 0;
    value += strspn(value, " ");
    if (strcasecmp(line, "authorization") == 0) head->authorization = value;
    if (strcasecmp(line, "content-type") == 0) head->content_type = value;
    if (strcasecmp(line, "content-encoding") == 0) head->content_encoding = value;
    if (strcasecmp(line, "inference-header-content-length") == 0) head->json_length = value;
    if (strcasecmp(line, "host") == 0) head->host = value;
    if (strcasecmp(line, "cookie") == 0) head->cookie = value;
    if (strcasecmp(line, "origin") == 0) head->page_origin = value;
    if (strcasecmp(line, "sec-fetch-site") == 0) head->fetch_site = value;
    if (strcasecmp(line, "tls") == 0) head->tls = true;
    if (strcasecmp(line, "tcp") == 0) head->origin = HTTP_ORIGIN_TCP;
}

static void pull_stream(HttpResponse *response) {
    ByteWriter OWN_BYTES(out) = {0};
    HttpStreamState state;
    error_free(response->stream.pull(response->stream.self, &out, &state)); /* any will do */
}

/* Whether an answer tells where the store is. Byte by byte: libFuzzer reads along in strstr, puts
 * the name into its inputs, and then an answer may quote it. */
static bool tells_folder(const char *text) {
    for (; *text; text++) {
        size_t i = 0;
        while (fuzz.folder[i] && text[i] == fuzz.folder[i]) i++;
        if (!fuzz.folder[i]) return true;
    }
    return false;
}

static void answer(const HttpHead *head, const uint8_t *data, size_t size) {
    HttpRequest OWN_REQUEST(request) = {0};
    HttpResponse OWN_RESPONSE(response);
    HttpBody body;
    http_response_init(&response);
    Error *error = http_service_open(&fuzz.service, head, &request);
    http_body_init(&body, fuzz.service.store, fuzz.service.upload_folder, request.body_size_max);
    if (!error) error = http_body_add(&body, data, size);
    if (!error) error = http_body_finish(&body, &request);
    if (!error) error = http_service_answer(&fuzz.service, &request, &response);
    if (error) http_response_error(&response, error);
    if (response.kind == HTTP_BODY_STREAM) pull_stream(&response);
    if (response.status == 500 || tells_folder(text_builder_get(&response.text))) abort();
    http_body_deinit(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!fuzz.store) open_service();
    if (size > BODY_MAX) return 0;
    char *text = calloc(size + 1, 1), *at = text;
    if (!text) return 0;
    memcpy(text, data, size);
    HttpHead head = {.method = "", .target = ""};
    char *first = take_line(&at), *blank = first ? strchr(first, ' ') : NULL;
    if (blank) {
        *blank = 0;
        head.method = first;
        head.target = blank + 1;
    }
    char *line = NULL;
    for (int i = 0; i < HEADERS_MAX && (line = take_line(&at)) && *line; i++)
        take_header(&head, line);
    size_t begin = (size_t)(at - text);
    head.has_length = true;
    head.content_length = size - begin;
    answer(&head, data + begin, size - begin);
    free(text);
    if (fuzz.jobs.count == MEMORY_JOBS_MAX) { /* room for more */
        memory_jobs_deinit(&fuzz.jobs);
        memory_jobs_init(&fuzz.jobs);
        must(assembly_parse(program, sizeof program - 1, &fuzz.jobs.model));
    }
    return 0;
}
