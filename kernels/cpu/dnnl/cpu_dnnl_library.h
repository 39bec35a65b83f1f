#pragma once
/* oneDNN, opened when one of its kernels is first planned: loading its 40 MB and their dependencies
 * takes three milliseconds, longer than many a model runs. Called by cpu_dnnl.c and cpu_device.c.
 *
 * Its functions are listed in cpu_dnnl_functions.def. Threads: any; the library is opened once in a
 * process and stays open. */
#include <dnnl.h>

#include "base/error.h"
#include "base/text.h"

typedef struct DnnlLibrary {
#define DNNL_FUNCTION(name) __typeof__(&dnnl_##name) name;
#include "kernels/cpu/dnnl/cpu_dnnl_functions.def"
#undef DNNL_FUNCTION
    void (*set_thread_count)(int threads); /* omp_set_num_threads of its OpenMP runtime */
} DnnlLibrary;

/* The functions are NULL until the library is opened. */
extern DnnlLibrary dnnl;

/* Errors: UNSUPPORTED the library is not on this machine, lacks a function, has no engine for this
 * processor, or is another build than cpu_dnnl_library_print said. */
MUST_CHECK Error *cpu_dnnl_open(void);
/* The engine of the processor, after cpu_dnnl_open. Borrowed. */
dnnl_engine_t cpu_dnnl_engine(void);
/* Prints which build of oneDNN this process has or will have: a part of the determinism class. The
 * file is examined without loading it, unless it does not tell. */
void cpu_dnnl_library_print(TextBuilder *out);
