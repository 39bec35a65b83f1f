#pragma once
/* The limit that shapes and the parameters of kernels on other devices share. */

enum { SHAPE_RANK_MAX = 8 };
