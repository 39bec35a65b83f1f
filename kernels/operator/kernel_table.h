#pragma once
/* A device's kernels: an array of tables that NULL ends, in the order of the search. Called by the
 * devices' plan functions, by the process device, which lists its worker's kernels, and by `layover
 * devices --kernels`. Pure: constant tables. */
#include "kernels/operator/kernel.h"

/* The rows of all tables, in the order of the search. Start with {tables}. */
typedef struct KernelRows {
    const Kernel *const *tables;
    uint32_t index; /* of the next row in the first of the tables that are left */
} KernelRows;

/* The next row; NULL behind the last one. */
const Kernel *kernel_rows_next(KernelRows *rows);
/* The first row of the operator, or NULL. */
const Kernel *kernel_rows_find(const Kernel *const *tables, OperatorId id);
/* The number of rows before KERNELS_END. */
uint32_t kernel_table_count(const Kernel *table);

/* Plans with the first row that takes the request: it has the request's operator and leading
 * element type and all of `flags`, and its plan function does not decline.
 *
 * flags:  KernelFlags.
 * out:    NULL if no row takes the request.
 * Errors: those of the plan functions, with the operator's name. */
MUST_CHECK Error *kernel_rows_plan(Device *device, const Kernel *const *tables, uint32_t flags,
    const PlanRequest *request, Plan **out);
