#pragma once
/* A row of a device's kernel table: the operator, its element types, and the function that plans
 * it. Read by the devices' plan functions and by `layover devices --kernels`. Pure: constant
 * tables.
 *
 * Each kernel file ends with a const table; kernels/cpu/core/cpu_tables.def lists the tables.
 * Selection: the first row whose dtypes accept the first present input and whose plan function
 * accepts the request. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"

typedef struct Kernel {
    OperatorId operator_id;
    DTypeSet
        dtypes; /* of the operator's leading input (attribute `to`/`dtype` makers: of the output) */
    /* Returns NULL and sets *out to NULL to decline the request: the next row is asked. */
    Error *(*plan)(Device *device, const PlanRequest *request, Plan **out);
    const char *name; /* "cpu.elementwise", shown by devices --kernels */
    uint32_t flags;   /* KernelFlags */
} Kernel;

typedef enum KernelFlags {
    KERNEL_PORTABLE = 1, /* the same bits on every machine and in every build: may fold constants */
    /* How a launch is stopped (kernel_stop.h). A row with neither flag checks the stop every few
     * milliseconds, whatever the shapes; tests/kernels/test_kernel_looks.c counts. */
    KERNEL_BOUNDED = 2, /* needs no check: no shape makes it take a millisecond */
    KERNEL_BANDS = 4,   /* checks only between bands of oneDNN's work, which DNNL_BAND_MAX bounds */
} KernelFlags;

/* The name of an operator's row; rows has one. */
static inline const char *kernel_row_name(const Kernel *rows, OperatorId id) {
    while (rows->operator_id != id) rows++;
    return rows->name;
}

#define KERNELS_END                                                                                \
    { OPERATOR_NONE, 0, 0, 0, 0 }
