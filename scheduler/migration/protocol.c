#include "scheduler/migration/protocol.h"

#include <stddef.h>

Error *protocol_negotiate(int64_t peer_min, int64_t peer_max, int64_t *out_version) {
    if (peer_min < 1 || peer_max < peer_min)
        FAIL(INVALID, "protocol: %lld to %lld are no versions", (long long)peer_min,
            (long long)peer_max);
    if (peer_min > MIGRATION_PROTOCOL_MAX || peer_max < MIGRATION_PROTOCOL_MIN)
        FAIL(UNSUPPORTED,
            "no common protocol: versions %d to %d are spoken here, %lld to %lld there; upgrade "
            "the older one",
            MIGRATION_PROTOCOL_MIN, MIGRATION_PROTOCOL_MAX, (long long)peer_min,
            (long long)peer_max);
    *out_version = peer_max < MIGRATION_PROTOCOL_MAX ? peer_max : MIGRATION_PROTOCOL_MAX;
    return NULL;
}
