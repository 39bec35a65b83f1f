#pragma once
/* A page of a list: what ?after= and ?limit= ask for. Routes that list read it first, add lines
 * while it takes them, and name the next page in the header Layover-Next; without that header the
 * list is at its end. */
#include "scheduler/http/server/http_request.h"
#include "scheduler/http/server/http_response.h"

enum { HTTP_PAGE_LIMIT = 1000, HTTP_PAGE_BYTES = 4 << 20 };

typedef struct HttpPage {
    const char *after_text; /* of a list that is ordered by names: "" from its start */
    int64_t after;          /* of one that is ordered by numbers: 0 from its start */
    size_t limit;           /* of lines */
    size_t count;           /* of lines that it has */
    bool more;              /* there are lines behind them */
} HttpPage;

/* Lists that are ordered by numbers. names: further fields of the query; NULL: none.
 * Errors: INVALID. */
MUST_CHECK Error *http_page_read(
    const HttpRequest *request, const char *const *names, HttpPage *out);
/* Those that are ordered by names. */
MUST_CHECK Error *http_page_read_text(const HttpRequest *request, HttpPage *out);
/* Whether another line belongs to it; then it is counted. Called for one line more than the page
 * has, if the list has so many. */
bool http_page_take(HttpPage *page, const HttpResponse *response);
/* Where the next page begins: behind the last line of this one. Nothing if this is the last page.
 */
void http_page_end(const HttpPage *page, int64_t last, HttpResponse *response);
void http_page_end_text(const HttpPage *page, const char *last, HttpResponse *response);
