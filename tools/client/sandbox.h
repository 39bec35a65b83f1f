#pragma once
/* Giving up rights before untrusted bytes are read: what is left is one folder, memory, threads and
 * a clock. */
#include <stdint.h>

#include "base/error.h"

typedef struct SandboxLimits {
    uint64_t memory_bytes; /* of address space; 0: none */
    uint64_t data_bytes;   /* of it what can be written to; 0: none */
    uint64_t file_bytes;   /* of a file written; 0: none */
    uint64_t cpu_seconds;  /* 0: none */
} SandboxLimits;

/* From now on, and for every thread started later: files only in the working directory (where the
 * kernel has Landlock) and what describes the machine in /proc and /sys, no new process, no socket,
 * no system call beyond the list in sandbox.c, and these limits. It cannot be taken back. To be
 * called while there is one thread.
 * Errors: UNSUPPORTED the kernel has no seccomp filters; IO. */
MUST_CHECK Error *sandbox_enter(const SandboxLimits *limits);
