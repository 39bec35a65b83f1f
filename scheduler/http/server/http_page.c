#include "scheduler/http/server/http_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS_MAX = 8 };

static Error *read_limit(const HttpRequest *request, const char *const *names, HttpPage *out) {
    const char *known[FIELDS_MAX] = {"after", "limit"};
    int64_t limit;
    for (size_t i = 0; names && names[i] && i + 3 < FIELDS_MAX; i++) known[i + 2] = names[i];
    TRY(http_request_check_query(request, known));
    TRY(http_request_query_number(request, "limit", HTTP_PAGE_LIMIT, &limit));
    if (limit < 1 || limit > HTTP_PAGE_LIMIT)
        FAIL(INVALID, "?limit=%" PRId64 ": a page has 1 to %d lines", limit, HTTP_PAGE_LIMIT);
    *out = (HttpPage){.after_text = "", .limit = (size_t)limit};
    return NULL;
}

Error *http_page_read(const HttpRequest *request, const char *const *names, HttpPage *out) {
    TRY(read_limit(request, names, out));
    return http_request_query_number(request, "after", 0, &out->after);
}

Error *http_page_read_text(const HttpRequest *request, HttpPage *out) {
    TRY(read_limit(request, NULL, out));
    const char *after = http_request_query(request, "after");
    if (after) out->after_text = after;
    return NULL;
}

bool http_page_take(HttpPage *page, const HttpResponse *response) {
    if (page->count == page->limit || response->text.size >= HTTP_PAGE_BYTES) page->more = true;
    if (!page->more) page->count++;
    return !page->more;
}

void http_page_end_text(const HttpPage *page, const char *last, HttpResponse *response) {
    if (page->more) http_response_header(response, "Layover-Next", last);
}

void http_page_end(const HttpPage *page, int64_t last, HttpResponse *response) {
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, last);
    http_page_end_text(page, text, response);
}
