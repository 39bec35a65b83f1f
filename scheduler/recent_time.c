#include "scheduler/recent_time.h"

#define SECOND_NS ((uint64_t)1000000000)

static void advance(RecentTime *recent, uint64_t now_ns) {
    uint64_t second = now_ns / SECOND_NS;
    uint64_t steps = second - recent->second;
    if (steps > RECENT_TIME_S) steps = RECENT_TIME_S;
    for (uint64_t i = 0; i < steps; i++) recent->buckets_ns[(second - i) % RECENT_TIME_S] = 0;
    recent->second = second;
}

void recent_time_add(RecentTime *recent, uint64_t now_ns, uint64_t duration_ns) {
    advance(recent, now_ns);
    recent->buckets_ns[recent->second % RECENT_TIME_S] += duration_ns;
}

uint64_t recent_time_sum(RecentTime *recent, uint64_t now_ns) {
    uint64_t sum_ns = 0;
    advance(recent, now_ns);
    for (int i = 0; i < RECENT_TIME_S; i++) sum_ns += recent->buckets_ns[i];
    return sum_ns;
}
