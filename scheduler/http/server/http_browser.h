#pragma once
/* The headers that browsers add by themselves: the cookie of a session, and which page sends the
 * request. A browser adds its cookies to requests that any page makes, so a request that counts on
 * a cookie is looked at here first. Called by http_service.c and route_session.c. Pure: no state.
 */
#include "scheduler/http/server/http_request.h"
#include "scheduler/http/server/http_sessions.h"

enum { HTTP_COOKIE_SIZE = 192 };

/* Whether a browser sent the request. */
bool http_browser_is_sender(const HttpHead *head);
/* Whether the request says that a page of this daemon sends it: the header Origin names the host
 * that the request was sent to, and Sec-Fetch-Site, if it is there, is same-origin. One of the two
 * must be there. */
bool http_browser_is_own_page(const HttpHead *head);
/* Whether one of the two headers says that a page of another site sends the request. */
bool http_browser_is_other_page(const HttpHead *head);
/* Whether the browser reached the daemon through TLS, maybe by a proxy in front. */
bool http_browser_is_secure(const HttpHead *head);

/* Reads the secret of a session from the header Cookie. The node's number is part of the cookie's
 * name, because browsers show a cookie to all ports of a host. False: there is none. */
bool http_browser_read_cookie(
    const char *header, uint64_t node, char out_text[HTTP_SESSION_TEXT_SIZE]);
/* Writes the header Set-Cookie. text: NULL removes the cookie. */
void http_browser_write_cookie(
    uint64_t node, const char *text, bool secure, char out[HTTP_COOKIE_SIZE]);
