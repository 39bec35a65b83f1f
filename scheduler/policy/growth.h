#pragma once
/* Executions that wait for more memory on their device. Called by device_life.c; no state but the
 * Policy that is passed.
 *
 * Memory cannot deadlock: an execution that waits for memory on its device waits only for moves
 * that have been asked for. Where nothing more can be moved the execution itself moves out, and
 * comes back with all that it needs granted. An execution that fits no device fails. */
#include "scheduler/policy/policy_state.h"

/* Grants jobs that wait for more memory on the device their bytes, or moves such jobs out. */
MUST_CHECK Error *growth_grant(Policy *policy, Device *device);
