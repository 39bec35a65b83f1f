#pragma once
/* Waiting without sleeping for what another core brings within microseconds: falling asleep and
 * being woken costs tens of them, most of all in a virtual machine. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* For how long that pays: about what the sleep would cost. 0 where there is one core only: whoever
 * is to set the flag needs it. */
uint64_t spin_limit_ns(void);
/* Until the flag is set or the time is over. Answers the flag; what was written before it was set
 * is seen then. */
bool spin_until(const atomic_bool *flag, uint64_t limit_ns);
/* The same, until the value is another than `from`. */
bool spin_until_changed(const _Atomic uint64_t *value, uint64_t from, uint64_t limit_ns);
