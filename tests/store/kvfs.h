#pragma once
/* An SQLite VFS between the store and the system's: counts operations, and at one of them kills the
 * process, cuts the power, or fails. */
#include <stdbool.h>
#include <stdint.h>

typedef enum KvfsFault {
    KVFS_NONE,
    KVFS_KILL,  /* the process ends before the operation */
    KVFS_POWER, /* and any part of what was written since the last sync is lost, 512 bytes at a time
                 */
    KVFS_FULL,  /* a write finds the disk full */
    KVFS_SHORT, /* a write gets half way before it does */
    KVFS_IO,    /* writes, truncations and deletions fail */
    KVFS_SYNC,  /* syncs fail */
    KVFS_READ,  /* reads fail; only they are counted then */
    KVFS_FAULT_COUNT
} KvfsFault;

enum { KVFS_KILLED = 99 }; /* exit status of KILL and POWER */

/* Makes it the default VFS of this process. Nothing is really synced from then on: only the power
 * that KVFS_POWER cuts is at stake, and tests end sooner. */
void kvfs_install(void);
/* From now on the at-th operation (1 …) that the fault applies to is hit, and every later one too
 * when forever. seed: which sectors a power cut loses. */
void kvfs_arm(KvfsFault fault, uint64_t at, bool forever, uint64_t seed);
/* Operations counted since kvfs_arm. */
uint64_t kvfs_count(void);
const char *kvfs_fault_name(KvfsFault fault);

/* Whether blocks ahead of a file's end are allocated; they are, until this is called. Neither the
 * contents of a file nor the operations counted here depend on those blocks, which in a file system
 * in memory take a third of a round's time to clear. */
void kvfs_allocate_ahead(bool allocates);
