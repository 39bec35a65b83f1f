#pragma once
/* Device-time of the last seconds, in a ring of one bucket a second: what shares are made of. */
#include <stdint.h>

enum { RECENT_TIME_S = 10 };

typedef struct RecentTime {
    uint64_t buckets_ns[RECENT_TIME_S];
    uint64_t second; /* that the newest bucket is of */
} RecentTime;

/* Times never go back. */
void recent_time_add(RecentTime *recent, uint64_t now_ns, uint64_t duration_ns);
/* Of this second and the RECENT_TIME_S - 1 before it. */
uint64_t recent_time_sum(RecentTime *recent, uint64_t now_ns);
