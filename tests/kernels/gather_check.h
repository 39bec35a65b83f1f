#pragma once
/* Checks a gathering loop element by element, over starts before, in and behind the row. */
#include "kernels/cpu/conv/cpu_conv_gather.h"
#include "tests/kernels/kernel_call.h"

void gather_check(CpuGatherRows *rows);
