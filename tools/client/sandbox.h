#pragma once
/* Gives up rights before untrusted bytes are read; one folder, memory, threads and a clock remain.
 * Caller: command_compile.c in the child process of a daemon. Threads: the only thread of the
 * process. */
#include <stdint.h>

#include "base/error.h"

typedef struct SandboxLimits {
    uint64_t memory_bytes; /* of address space; 0: no limit */
    uint64_t data_bytes;   /* of writable address space; 0: no limit */
    uint64_t file_bytes;   /* of a written file; 0: no limit */
    uint64_t cpu_seconds;  /* 0: no limit */
} SandboxLimits;

/* Enters the sandbox, for this thread and every thread started later: files only in the working
 * directory (if the kernel has Landlock) and the descriptions of the machine in /proc and /sys; no
 * new process, no socket, no system call beyond the list in sandbox.c; and these limits. The
 * sandbox is permanent. Called while the process has one thread.
 * Errors: UNSUPPORTED the kernel has no seccomp filters; IO. */
MUST_CHECK Error *sandbox_enter(const SandboxLimits *limits);
