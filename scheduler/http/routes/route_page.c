#include <string.h>

#include "scheduler/http/page/page_files.h"
#include "scheduler/http/server/http_service.h"

/* The page runs no script and shows no style but its own files, asks no other host, and stands in
 * no frame. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
                             "img-src 'self'; connect-src 'self'; base-uri 'none'; "
                             "form-action 'none'; frame-ancestors 'none'";

static Error *answer_file(const char *name, HttpResponse *response) {
    for (size_t i = 0; i < page_file_count; i++) {
        const PageFile *file = &page_files[i];
        if (strcmp(file->name, name) != 0) continue;
        http_response_constant(response, file->content_type, file->data, file->size);
        http_response_header(response, "Content-Security-Policy", policy);
        http_response_header(response, "Referrer-Policy", "no-referrer");
        http_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
        http_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
        return NULL;
    }
    FAIL(NOT_FOUND, "the page has no file %s", name);
}

Error *route_page_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    (void)service, (void)request;
    return answer_file("page.html", response);
}

Error *route_page_file(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    (void)service;
    return answer_file(http_request_name(request, 0), response);
}
