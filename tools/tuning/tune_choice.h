#pragma once
/* Finds the value of a rule that loses least, from measured calls. Caller: layover_tune.c. Pure: no
 * state, any thread. */
#include <stdint.h>

/* One call, measured both ways: its time when the rule's value is above the call's quantity, and
 * its time otherwise. */
typedef struct TunePoint {
    int64_t quantity;
    double below_ns, from_ns;
} TunePoint;

typedef struct TuneChoice {
    int64_t value;
    /* how much longer the calls take than each on its better way: geometric mean, less 1 */
    double regret;
    double regret_most; /* the largest of any call */
    double standing;    /* the same for the present value */
    double standing_most;
} TuneChoice;

/* Returns how much longer a value's choices take than each call's better way, on average; count >=
 * 1. */
double tune_regret(const TunePoint *points, uint32_t count, int64_t value);
/* Chooses a value. The present value stays unless another one gains at least `margin` of the time
 * in both halves of the points, which are two passes over the same calls: noise must not change
 * bits. count >= 2, even, in any order within a half. Values between two quantities are equivalent;
 * the upper quantity is taken, and one more than the largest for "never". */
TuneChoice tune_choose(const TunePoint *points, uint32_t count, int64_t standing, double margin);
