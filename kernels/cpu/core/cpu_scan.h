#pragma once
/* Reading weights together: products of one row take as long as their weights take to come from
 * memory, and executions of one model read the same ones. Who begins while another is reading them
 * joins where that one is, and goes round to what it has missed; each part is read by one thread,
 * which computes it for everybody. (Zukowski, Héman, Nes and Boncz, "Cooperative Scans: Dynamic
 * Bandwidth Sharing in a DBMS", 2007, where queries join scans of tables.) Readers that were
 * together once end together, and stay so.
 *
 * Threads: any; readers wait for each other's parts, never longer than one takes. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { CPU_SCAN_READERS_MAX = 4 }; /* of one scan; others begin another */

/* Computes a part for all of them; contexts: of readers that gave the same weights, parts and code.
 */
typedef void CpuScanPart(void *const *contexts, uint32_t count, int64_t part);

/* Parts 0 to parts - 1 (parts > 0), in any order, each once, on this thread or another one that
 * reads the same. Errors: ABANDONED before all were computed. It does not pause: others may wait
 * for its part. */
MUST_CHECK Error *cpu_scan_run(
    const void *weights, int64_t parts, CpuScanPart *code, void *context);
