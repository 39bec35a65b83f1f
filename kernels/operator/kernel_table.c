#include "kernels/operator/kernel_table.h"

const Kernel *kernel_rows_next(KernelRows *rows) {
    for (; *rows->tables; rows->tables++, rows->index = 0) {
        const Kernel *row = *rows->tables + rows->index;
        if (row->operator_id == OPERATOR_NONE) continue;
        rows->index++;
        return row;
    }
    return NULL;
}

const Kernel *kernel_rows_find(const Kernel *const *tables, OperatorId id) {
    KernelRows rows = {tables, 0};
    const Kernel *row = kernel_rows_next(&rows);
    while (row && row->operator_id != id) row = kernel_rows_next(&rows);
    return row;
}

uint32_t kernel_table_count(const Kernel *table) {
    uint32_t count = 0;
    while (table[count].operator_id != OPERATOR_NONE) count++;
    return count;
}

/* The element type by which rows are chosen. */
static DType leading_dtype(const PlanRequest *request) {
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].present) return request->inputs[i].dtype;
    return request->outputs[0].dtype;
}

Error *kernel_rows_plan(Device *device, const Kernel *const *tables, uint32_t flags,
    const PlanRequest *request, Plan **out) {
    const OperatorInfo *info = request->operator_info;
    const DTypeSet dtype = DTYPE_BIT(leading_dtype(request));
    KernelRows rows = {tables, 0};
    const Kernel *row;
    *out = NULL;
    while (!*out && (row = kernel_rows_next(&rows)))
        if (row->operator_id == info->id && row->dtypes & dtype && (row->flags & flags) == flags)
            TRY_WRAP(row->plan(device, request, out), "%s", info->name);
    return NULL;
}
