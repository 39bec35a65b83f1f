#pragma once
/* The sessions of browsers. A browser shows its token once, to sign in, and then shows the secret
 * of a session in a cookie (http_browser.h). The daemon keeps a hash of the secret and the token's
 * number, in memory alone: sessions end with the daemon. Made by daemon.c; called by http_service.c
 * and route_session.c. Threads: any. */
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/own.h"

enum {
    HTTP_SESSION_SECRET_SIZE = 32,
    HTTP_SESSION_TEXT_SIZE = 2 * HTTP_SESSION_SECRET_SIZE + 1, /* with the terminating NUL */
    HTTP_SESSION_LIFE_S = 12 * 60 * 60,
    HTTP_SESSIONS_MAX = 1024,        /* one more ends the oldest */
    HTTP_SESSIONS_PER_TOKEN_MAX = 16 /* one more ends the token's oldest */
};

typedef struct HttpSessions HttpSessions;

MUST_CHECK Error *http_sessions_create(Clock clock, HttpSessions **out_sessions);
void http_sessions_release(HttpSessions *sessions);
DEFINE_OWN(HttpSessions, http_sessions_release);

/* Begins a session for a token. Only this call returns the secret's text.
 *
 * out_number: the session's number, never given twice.
 * Errors:     IO the system has no random numbers. */
MUST_CHECK Error *http_sessions_begin(HttpSessions *sessions, int64_t token,
    char out_text[HTTP_SESSION_TEXT_SIZE], uint64_t *out_number);
/* Finds the session of a secret. Errors: UNAUTHENTICATED no such session, or it has expired. */
MUST_CHECK Error *http_sessions_find(
    HttpSessions *sessions, const char *text, uint64_t *out_number, int64_t *out_token);
/* How long a session still lasts. Errors: UNAUTHENTICATED it has ended. */
MUST_CHECK Error *http_sessions_check(HttpSessions *sessions, uint64_t number, double *out_left_s);
/* Ends a session; nothing happens if it has ended. */
void http_sessions_end(HttpSessions *sessions, uint64_t number);
