#pragma once
/* Convolutions over images [N, H, W, C] beside their definition. */
#include "tests/kernels/conv_reference.h"

/* FusedConv with a bias: plainly under many conditions, and packed at 1, 2, 3 and 8 threads, with
 * the same bits each. kernel_name: who must have served the packed call. */
void image_call_check(const ConvCase *conv, const char *kernel_name, double tolerance);
