#pragma once
/* A page of a list, as ?after= and ?limit= ask for it. A route that lists reads the page first,
 * adds lines while http_page_take allows, and names the next page in the header Layover-Next;
 * without that header the list is at its end. Called by the routes that list, on handler threads;
 * no state but the page. */
#include "scheduler/http/server/http_request.h"
#include "scheduler/http/server/http_response.h"

enum { HTTP_PAGE_LIMIT = 1000, HTTP_PAGE_BYTES = 4 << 20 };

typedef struct HttpPage {
    const char *after_text; /* for a list in the order of names: "" from its start */
    int64_t after;          /* for a list in the order of numbers: 0 from its start */
    size_t limit;           /* upper bound on lines */
    size_t count;           /* lines of the page so far */
    bool more;              /* the list has more lines after this page */
} HttpPage;

/* Reads a page of a list in the order of numbers. names: further allowed fields of the query; NULL:
 * none. Errors: INVALID. */
MUST_CHECK Error *http_page_read(
    const HttpRequest *request, const char *const *names, HttpPage *out);
/* Reads a page of a list in the order of names. */
MUST_CHECK Error *http_page_read_text(const HttpRequest *request, HttpPage *out);
/* Whether another line belongs to the page; if so the line is counted. Called once more than the
 * page has lines, if the list has so many. */
bool http_page_take(HttpPage *page, const HttpResponse *response);
/* Names the start of the next page: after the last line of this one. Does nothing on the last
 * page. */
void http_page_end(const HttpPage *page, int64_t last, HttpResponse *response);
void http_page_end_text(const HttpPage *page, const char *last, HttpResponse *response);
