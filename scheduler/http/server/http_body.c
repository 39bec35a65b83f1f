#include "scheduler/http/server/http_body.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/allocator.h"
#include "scheduler/node/upload_file.h"

void http_body_init(HttpBody *body, Store *store, const char *upload_folder, uint64_t size_max) {
    *body = (HttpBody){
        .store = store, .upload_folder = upload_folder, .size_max = size_max, .descriptor = -1};
}

void http_body_open(HttpBody *body, const HttpRequest *request) {
    const RouteBody kind = request->route->body;
    const bool stored = kind == ROUTE_BODY_STREAM || kind == ROUTE_BODY_MULTIPART;
    body->size_max = request->body_size_max;
    body->quota_limits = request->quota_limits_body;
    if (stored && request->caller.tenant)
        body->charge = in_flight_begin(body->store, request->caller.tenant);
}

/* Frees the body's bytes; their number is still known. */
static void drop(HttpBody *body) {
    if (body->map) (void)munmap(body->map, body->size);
    if (body->descriptor >= 0) (void)close(body->descriptor);
    if (body->path) (void)unlink(body->path);
    memory_free(body->path);
    byte_writer_deinit(&body->memory);
    in_flight_end(&body->charge);
    body->map = NULL;
    body->descriptor = -1;
    body->path = NULL;
}

void http_body_deinit(HttpBody *body) {
    drop(body);
    http_body_init(body, NULL, NULL, 0);
}

Error *http_body_refuse(uint64_t size_max, bool quota_limits) {
    if (quota_limits)
        FAIL(EXHAUSTED, "over the tenant's quota store_bytes, of which %llu are left",
            (unsigned long long)size_max);
    FAIL(TOO_LARGE, "a body of more than %llu bytes, which is the limit here",
        (unsigned long long)size_max);
}

static Error *add(HttpBody *body, const void *data, size_t size) {
    if (size > body->size_max - body->size)
        return http_body_refuse(body->size_max, body->quota_limits);
    if (body->charge.store) TRY(in_flight_add(&body->charge, size));
    if (body->descriptor < 0 && body->size + size > HTTP_BODY_MEMORY_MAX) {
        TRY(upload_file_make(body->upload_folder, &body->descriptor, &body->path));
        TRY(upload_file_write(body->descriptor, body->memory.data, body->memory.size));
        byte_writer_deinit(&body->memory);
    }
    if (body->descriptor >= 0)
        TRY(upload_file_write(body->descriptor, data, size));
    else {
        byte_write_bytes(&body->memory, data, size);
        TRY(byte_writer_check(&body->memory));
    }
    body->size += size;
    return NULL;
}

Error *http_body_add(HttpBody *body, const void *data, size_t size) {
    Error *error = add(body, data, size);
    if (error) drop(body); /* the room is given to others while the client sends the rest */
    return error;
}

Error *http_body_finish(HttpBody *body, HttpRequest *request) {
    request->body = body->memory.data;
    request->body_size = body->size;
    request->body_path = body->path;
    if (body->descriptor < 0) return NULL;
    /* no other process has the file, so it cannot shrink under the map */
    void *map = mmap(NULL, body->size, PROT_READ, MAP_PRIVATE, body->descriptor, 0);
    if (map == MAP_FAILED) FAIL(OUT_OF_MEMORY, "a body cannot be mapped: %s", strerror(errno));
    body->map = map;
    request->body = map;
    return NULL;
}
