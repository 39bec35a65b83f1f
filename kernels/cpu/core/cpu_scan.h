#pragma once
/* Lets executions read weights together. A product of one row takes as long as its weights take to
 * come from memory, and executions of one model read the same weights. A reader that begins while
 * another one is reading joins at its position, and reads the parts that it missed afterwards; each
 * part is read by one thread, which computes it for all readers. (Zukowski, Héman, Nes and Boncz,
 * "Cooperative Scans: Dynamic Bandwidth Sharing in a DBMS", 2007, where queries join scans of
 * tables.) Readers that were together once end together, and stay so. Called by
 * cpu_matmul_kernel.c.
 *
 * Threads: any; readers wait for each other's parts, never longer than one takes. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { CPU_SCAN_READERS_MAX = 4 }; /* readers of one scan; further ones begin another */

/* Computes a part for all readers; contexts: of readers that gave the same weights, parts and
 * code. */
typedef void CpuScanPart(void *const *contexts, uint32_t count, int64_t part);

/* Computes parts 0 to parts - 1 (parts > 0), in any order, each once, on this thread or another one
 * that reads the same weights. Errors: ABANDONED before all were computed. Never pauses, since
 * others may wait for its part. */
MUST_CHECK Error *cpu_scan_run(
    const void *weights, int64_t parts, CpuScanPart *code, void *context);
