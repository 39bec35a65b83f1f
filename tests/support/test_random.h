#pragma once
/* Repeatable random data. */
#include <stdint.h>

/* A small generator (splitmix64): the same numbers everywhere. */
uint64_t test_random(uint64_t *state);
