#pragma once
/* Which connection goes when places run short: those that have shown no valid token, the oldest
 * first, of one address before others; behind them the one that has asked for nothing for longest.
 * So whoever comes gets in, and nobody without a token keeps one with a token out. */
#include "scheduler/http/server/http_server_internal.h"

/* A connection came. Shuts down another one of its listener, if its place is wanted; the thread
 * that serves that one closes it. Under the server's mutex. */
void http_places_make(HttpServer *server, HttpConnection *fresh);
