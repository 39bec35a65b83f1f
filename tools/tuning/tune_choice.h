#pragma once
/* Which value of a rule loses least, of what was measured. */
#include <stdint.h>

/* One call, both ways: what it takes when the rule's value is above its quantity, and when not. */
typedef struct TunePoint {
    int64_t quantity;
    double below_ns, from_ns;
} TunePoint;

typedef struct TuneChoice {
    int64_t value;
    double regret;      /* how much longer the calls take than each the better way, on average:
                           geometric mean, less 1 */
    double regret_most; /* of any of them */
    double standing;    /* the regrets of the value that stands */
    double standing_most;
} TuneChoice;

/* How much longer a value's choices take than each the better way, on average; count >= 1. */
double tune_regret(const TunePoint *points, uint32_t count, int64_t value);
/* The value that stands is kept where another one gains less than `margin` of the time in either
 * half of the points, which are two passes over the same calls: noise is no reason for other bits.
 * count >= 2, even, in any order within a half. Values between two quantities are the same; the
 * upper quantity is taken, and one more than the largest for "never". */
TuneChoice tune_choose(const TunePoint *points, uint32_t count, int64_t standing, double margin);
