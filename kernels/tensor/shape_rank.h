#pragma once
/* The limit on ranks that shapes and the parameters of CUDA kernels share. Pure: a constant. */

enum { SHAPE_RANK_MAX = 8 };
