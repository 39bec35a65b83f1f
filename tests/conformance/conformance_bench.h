#pragma once
/* How long a launch takes on a device; never a condition to pass. */
#include "tests/conformance/conformance.h"

typedef struct ConformanceTime {
    const char *kernel_name;
    uint64_t min_ns;      /* of one launch: device time where there are events */
    uint32_t repetitions; /* measured, after one to warm up */
    uint64_t bytes;       /* of all operands, once */
    uint64_t operations;  /* multiplications and additions; 0 where that says nothing */
    bool view;            /* nothing is run */
} ConformanceTime;

/* threads: a launch may use so many. Errors: as planning, allocating and launching. */
MUST_CHECK Error *conformance_bench(const ConformanceDevice *on, const ConformanceCase *row,
    DType dtype, uint32_t threads, ConformanceTime *out);
