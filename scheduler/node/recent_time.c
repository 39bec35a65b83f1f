#include "scheduler/node/recent_time.h"

void recent_time_init(RecentTime *recent, uint64_t window_ns) {
    *recent = (RecentTime){.bucket_ns = window_ns / RECENT_TIME_BUCKETS};
}

static void advance(RecentTime *recent, uint64_t now_ns) {
    uint64_t number = now_ns / recent->bucket_ns;
    uint64_t steps = number - recent->newest;
    if (steps > RECENT_TIME_BUCKETS) steps = RECENT_TIME_BUCKETS;
    for (uint64_t i = 0; i < steps; i++) recent->buckets_ns[(number - i) % RECENT_TIME_BUCKETS] = 0;
    recent->newest = number;
}

void recent_time_add(RecentTime *recent, uint64_t now_ns, uint64_t duration_ns) {
    advance(recent, now_ns);
    recent->buckets_ns[recent->newest % RECENT_TIME_BUCKETS] += duration_ns;
}

uint64_t recent_time_sum(RecentTime *recent, uint64_t now_ns) {
    uint64_t sum_ns = 0;
    advance(recent, now_ns);
    for (int i = 0; i < RECENT_TIME_BUCKETS; i++) sum_ns += recent->buckets_ns[i];
    return sum_ns;
}
