#pragma once
/* Small worlds of every kind by a seed: little memory, tight quotas, faults, requests. */
#include "scheduler/simulate/scenario.h"

typedef enum RandomScenarioKind {
    RANDOM_HOSTILE,    /* everything at once */
    RANDOM_ONE_DEVICE, /* enough memory, nothing fails: shares, floors and deadlines are judged */
} RandomScenarioKind;

void random_scenario(uint64_t seed, RandomScenarioKind kind, Scenario *out_scenario);
