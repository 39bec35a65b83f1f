#pragma once
/* Chooses the connection to cut when the server runs short of places: if the new connection's
 * address has too many without a valid token, the oldest of those; else the oldest of any address
 * without a token; else the oldest idle one with a token. So a new connection always gets in, and
 * callers without a token never keep out one with a token. Called by http_monitor.c, under the
 * server's mutex. */
#include "scheduler/http/server/http_server_internal.h"

/* Makes room for the new connection fresh: if places are short, shuts down another connection of
 * the same listener; the thread that serves that one closes it. Under the server's mutex. */
void http_places_make(HttpServer *server, HttpConnection *fresh);
