#pragma once
/* The cpu device as its kernels see it: the device itself, its instruction set level, and splitting
 * a launch over threads. Included by all kernels of the cpu. Threads: a launch may come on any
 * thread.
 *
 * A kernel file cpu_<family>.c ends with `const Kernel cpu_<family>[] = {…, KERNELS_END};` and is
 * named in cpu_tables.def and meson.build. Inside a launch addresses are pointers (cpu_input,
 * cpu_output). */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/cpu/core/cpu_level.h"
#include "kernels/cpu/core/cpu_rules.h"
#include "kernels/device/device.h"
#include "kernels/operator/kernel.h"
#include "kernels/device/kernel_stop.h"
#include "kernels/operator/plan.h"

typedef struct CpuWorkers CpuWorkers;

typedef struct CpuDevice {
    Device base;                 /* first: a Device * of class "cpu" is a CpuDevice * */
    CpuLevel level;              /* as cpu_isa.h found, or CPU_LEVEL_PORTABLE */
    bool has_bfloat16, has_vnni; /* AVX512_BF16, AVX512_VNNI; with CPU_LEVEL_AVX512 alone */
    CpuRules rules;              /* the level's */
    /* Opened by device_open_portable: only rows with KERNEL_PORTABLE are asked, level is
     * CPU_LEVEL_PORTABLE. A kernel that is marked portable must choose its code by `level` and the
     * level's features, and must not call libm functions whose bits depend on the machine (exp,
     * tanh, sin …; sqrt, floor, fabs, rint are exact). */
    bool portable_only;
    uint32_t threads_max;         /* a launch never uses more */
    CpuWorkers *workers;          /* threads start with the first launch that needs them */
    pthread_mutex_t shared_mutex; /* guards what plans share: the list below */
    struct CpuNgrams *ngrams;
} CpuDevice;

static inline CpuDevice *cpu_device(Device *device) { return (CpuDevice *)device; }

/* Rows of kernels/cpu/core/cpu_tables.def. */
#define KERNEL_TABLE(table) extern const Kernel table[];
#include "kernels/cpu/core/cpu_tables.def"
#undef KERNEL_TABLE

static inline const void *cpu_input(const Launch *launch, uint32_t index) {
    return (const void *)(uintptr_t)launch->inputs[index]; /* NULL: absent or zero-size */
}
static inline void *cpu_output(const Launch *launch, uint32_t index) {
    return (void *)(uintptr_t)launch->outputs[index];
}
static inline void *cpu_workspace(const Launch *launch) {
    return (void *)(uintptr_t)launch->workspace;
}

/* Computes units [begin, end) as participant `part`, a number below cpu_part_count that no other
 * thread has at the time. A unit takes some milliseconds at most, or checks kernel_stop_check
 * itself; between units the caller does. Bits must not depend on how units are cut into pieces and
 * which thread gets them: one unit is always computed the same way, and no two units write the same
 * byte. Runs with round-to-nearest and without flush-to-zero. */
typedef Error *CpuTask(void *context, uint64_t begin, uint64_t end, uint32_t part);

enum { CPU_THREADS_MAX = 64, CPU_KERNELS_VERSION = 16 /* raise when any kernel's bits change */ };

/* How many threads cpu_for_each would use, for scratch of each thread in the workspace; plan for
 * CPU_THREADS_MAX or take scratch from the stack. Never more than `threads`. */
uint32_t cpu_part_count(
    const CpuDevice *device, uint32_t threads, uint64_t units, uint64_t units_per_part_min);
/* Whether so many units give every thread about the same work, within an eighth. */
bool cpu_is_even(const CpuDevice *device, uint32_t threads, uint64_t units);
/* Computes units 0 to units - 1 on cpu_part_count threads, including the calling one, which take
 * pieces of them in turn; waits for all. A thread on a slow core does less: the others wait at most
 * for a quarter of a share. units_per_part_min: how many are worth a thread (aim at 20 µs). If the
 * workers are busy with another launch, the calling thread computes everything. */
MUST_CHECK Error *cpu_for_each(CpuDevice *device, uint32_t threads, uint64_t units,
    uint64_t units_per_part_min, CpuTask *task, void *context);
/* The same in one contiguous share for each thread, equal within one unit: part is the share's
 * number. For data that a thread finds in its own caches launch after launch, or processes as a
 * whole. */
MUST_CHECK Error *cpu_for_each_share(CpuDevice *device, uint32_t threads, uint64_t units,
    uint64_t units_per_part_min, CpuTask *task, void *context);

MUST_CHECK Error *cpu_workers_create(CpuWorkers **out);
void cpu_workers_release(CpuWorkers *workers);
DEFINE_OWN(CpuWorkers, cpu_workers_release);

/* Called after work of planning that a stop may have left half done: then drops the plan. Errors:
 * ABANDONED. */
MUST_CHECK static inline Error *cpu_plan_check(Plan **inout) {
    Error *error = kernel_stop_check();
    if (error) {
        plan_release(*inout);
        *inout = NULL;
    }
    return error;
}

/* Returns NULL to decline the request, so that the next row is asked: `return
 * cpu_decline(out);`. */
static inline Error *cpu_decline(Plan **out) {
    *out = NULL;
    return NULL;
}
