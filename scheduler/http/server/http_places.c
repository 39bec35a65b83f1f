#include "scheduler/http/server/http_places.h"

#include <string.h>
#include <sys/socket.h>

/* The part of all places that only connections with a token may use. */
enum { RESERVED_PART = 8 };

/* The connections of one listener, and the oldest of each kind. */
typedef struct Places {
    uint32_t all, strangers, neighbours;
    HttpConnection *stranger, *neighbour, *idle;
} Places;

/* The list begins with the newest. */
static Places count_places(const HttpServer *server, const HttpConnection *fresh) {
    Places places = {0};
    for (HttpConnection *at = server->connections; at; at = at->next) {
        if (at->origin != fresh->origin || at->leaving) continue;
        places.all++;
        if (at != fresh && at->trusted && !at->exchange) places.idle = at;
        if (at->trusted) continue;
        places.strangers++;
        if (at != fresh) places.stranger = at;
        if (memcmp(at->peer, fresh->peer, sizeof at->peer) != 0) continue;
        places.neighbours++;
        if (at != fresh) places.neighbour = at;
    }
    return places;
}

void http_places_make(HttpServer *server, HttpConnection *fresh) {
    const HttpServerOptions *options = &server->options;
    const Places places = count_places(server, fresh);
    const uint32_t reserved = options->connection_max / RESERVED_PART;
    HttpConnection *victim = NULL;
    if (places.neighbours > options->connection_per_peer_max)
        victim = places.neighbour;
    else if (places.strangers > options->connection_max - reserved)
        victim = places.stranger;
    else if (places.all > options->connection_max)
        victim = places.stranger ? places.stranger : places.idle;
    if (!victim) return;
    victim->leaving = true;
    (void)shutdown(victim->descriptor, SHUT_RDWR);
    metrics_increment(server->service->metrics, METRIC_HTTP_CUT);
}
