#pragma once
/* The device-time of the last minute or hour, in a ring of buckets; shares and hourly use are
 * computed from it. Called by the control thread alone. */
#include <stdint.h>

enum { RECENT_TIME_BUCKETS = 60 };

typedef struct RecentTime {
    uint64_t bucket_ns; /* duration of a bucket */
    uint64_t newest;    /* the newest bucket's number since time 0 */
    uint64_t buckets_ns[RECENT_TIME_BUCKETS];
} RecentTime;

/* window_ns: a multiple of RECENT_TIME_BUCKETS. */
void recent_time_init(RecentTime *recent, uint64_t window_ns);
/* Times never go back. */
void recent_time_add(RecentTime *recent, uint64_t now_ns, uint64_t duration_ns);
/* The sum of the newest bucket and the RECENT_TIME_BUCKETS - 1 before it. */
uint64_t recent_time_sum(RecentTime *recent, uint64_t now_ns);
