#include "scheduler/http/server/http_briefs.h"

#include <string.h>

#include "base/digest.h"

/* How many bits the size has: bodies of one kind differ by some digits. */
static uint32_t magnitude(uint64_t size) { return size ? 64 - (uint32_t)__builtin_clzll(size) : 0; }

uint64_t http_briefs_key(const HttpRequest *request, uint64_t body_size) {
    const RouteInfo *route = request->route;
    if (!route || route->pace != ROUTE_PACE_BRIEF || body_size > HTTP_BRIEF_BODY_MAX) return 0;
    const uint64_t numbers[] = {(uint64_t)request->caller.tenant,
        ((uint64_t)request->match.route << 32) | magnitude(body_size)};
    uint64_t key = digest_xxh3(numbers, sizeof numbers);
    for (uint32_t i = 0; i < request->match.name_count; i++) {
        const char *name = request->match.names[i];
        const uint64_t parts[] = {key, digest_xxh3(name, strlen(name))};
        key = digest_xxh3(parts, sizeof parts);
    }
    return key ? key : 1;
}

bool http_briefs_has(const HttpBriefs *briefs, uint64_t key) {
    return key &&
           atomic_load_explicit(&briefs->keys[key % HTTP_BRIEFS_MAX], memory_order_relaxed) == key;
}

void http_briefs_note(HttpBriefs *briefs, uint64_t key, uint64_t work_ns) {
    _Atomic uint64_t *slot = &briefs->keys[key % HTTP_BRIEFS_MAX];
    const bool has = atomic_load_explicit(slot, memory_order_relaxed) == key;
    if (key && has != (work_ns <= HTTP_BRIEF_NS))
        atomic_store_explicit(slot, has ? 0 : key, memory_order_relaxed);
}
