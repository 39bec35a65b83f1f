#pragma once
/* oneDNN, opened when a kernel of its is first planned: loading its 40 MB with what they need takes
 * three milliseconds, which is longer than many a model runs.
 *
 * Its functions stand in cpu_dnnl_functions.def. Threads: any; it is opened once in a process and
 * stays. */
#include <dnnl.h>

#include "base/error.h"
#include "base/text.h"

typedef struct DnnlLibrary {
#define DNNL_FUNCTION(name) __typeof__(&dnnl_##name) name;
#include "kernels/cpu/dnnl/cpu_dnnl_functions.def"
#undef DNNL_FUNCTION
    void (*set_thread_count)(int threads); /* omp_set_num_threads of its OpenMP runtime */
} DnnlLibrary;

/* NULL functions until it is opened. */
extern DnnlLibrary dnnl;

/* Errors: UNSUPPORTED it is not on this machine, lacks a function, has no engine for this
 * processor, or is another build than cpu_dnnl_library_print said. */
MUST_CHECK Error *cpu_dnnl_open(void);
/* Of the processor, once it is open. Borrowed. */
dnnl_engine_t cpu_dnnl_engine(void);
/* Which build of oneDNN this process has or will have: a part of the determinism class. The file is
 * looked at, not loaded, unless it does not tell. */
void cpu_dnnl_library_print(TextBuilder *out);
