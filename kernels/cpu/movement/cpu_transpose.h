#pragma once
/* Transposes rows and columns: the inner part of copies whose two innermost dimensions are
 * exchanged. Called by cpu_copy.c, on the threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"

/* to[j][i] = from[i][j], elements of 4 bytes: i < columns adjacent in `to`, j < rows adjacent in
 * `from`; steps in bytes. Any addresses; they do not overlap. */
typedef void CpuTranspose(char *restrict to, int64_t to_step, const char *restrict from,
    int64_t from_step, int64_t rows, int64_t columns);
CpuTranspose *cpu_transpose_for(CpuLevel level);
