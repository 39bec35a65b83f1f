#pragma once
/* Waits without sleeping for an event that another core causes within microseconds: to sleep and be
 * woken costs tens of microseconds, most of all in a virtual machine. Callers: kernels/cpu, the
 * process device, the sim device, worker.c. Threads: any. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns how long spinning pays: about the cost of a sleep. 0 with one core, where the thread that
 * sets the flag needs the core. */
uint64_t spin_limit_ns(void);
/* Spins until the flag is set or the time is over, and returns the flag. Writes before the flag was
 * set are then visible. */
bool spin_until(const atomic_bool *flag, uint64_t limit_ns);
/* Spins until the value differs from `from` or the time is over. */
bool spin_until_changed(const _Atomic uint64_t *value, uint64_t from, uint64_t limit_ns);
