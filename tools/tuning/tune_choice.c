#include "tools/tuning/tune_choice.h"

#include <math.h>

static double regret_of(const TunePoint *points, uint32_t count, int64_t value, double *out_most) {
    double sum = 0;
    *out_most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const TunePoint *point = &points[i];
        const double chosen = point->quantity < value ? point->below_ns : point->from_ns;
        const double regret = chosen / fmin(point->below_ns, point->from_ns);
        sum += log(regret);
        if (regret - 1 > *out_most) *out_most = regret - 1;
    }
    return exp(sum / count) - 1;
}

static void consider(
    const TunePoint *points, uint32_t count, int64_t value, TuneChoice *inout_best) {
    double most;
    const double regret = regret_of(points, count, value, &most);
    if (regret > inout_best->regret || (regret == inout_best->regret && value >= inout_best->value))
        return;
    inout_best->value = value;
    inout_best->regret = regret;
    inout_best->regret_most = most;
}

double tune_regret(const TunePoint *points, uint32_t count, int64_t value) {
    double most;
    return regret_of(points, count, value, &most);
}

TuneChoice tune_choose(const TunePoint *points, uint32_t count, int64_t standing, double margin) {
    TuneChoice choice = {.value = standing};
    choice.standing = regret_of(points, count, standing, &choice.standing_most);
    choice.regret = choice.standing;
    choice.regret_most = choice.standing_most;
    TuneChoice best = {.value = INT64_MAX, .regret = INFINITY};
    int64_t largest = points[0].quantity;
    for (uint32_t i = 0; i < count; i++) {
        if (points[i].quantity > largest) largest = points[i].quantity;
        consider(points, count, points[i].quantity, &best);
    }
    consider(points, count, largest + 1, &best);
    for (uint32_t half = 0; half < 2; half++) {
        const TunePoint *pass = points + half * (count / 2);
        const double gain =
            tune_regret(pass, count / 2, standing) - tune_regret(pass, count / 2, best.value);
        if (gain < margin) return choice;
    }
    choice.value = best.value;
    choice.regret = best.regret;
    choice.regret_most = best.regret_most;
    return choice;
}
