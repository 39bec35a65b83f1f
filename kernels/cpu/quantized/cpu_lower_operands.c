#include "kernels/cpu/quantized/cpu_lower_operands.h"

#include <math.h>

#include "base/checked.h"
#include "kernels/cpu/quantized/cpu_lower_pack.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/core/cpu_layouts.h"

Error *cpu_lower_operands_of(Device *device, CpuLevel level, const PlanRequest *request,
    int64_t depth, int64_t columns, CpuLowerOperands *out) {
    const bool is_int8 = request->inputs[1].dtype == DTYPE_INT8;
    const CpuLowerForm form = cpu_lower_form(cpu_device(device), is_int8);
    const uint32_t bias = is_int8 ? 3 : 2; /* the bias follows the scales */
    *out = (CpuLowerOperands){
        .form = form,
        .is_int8 = is_int8,
        .is_packed = request->inputs[1].layout != CPU_LAYOUT_PLAIN,
        .depth = depth,
        .columns = columns,
        .bias = bias,
        .residual = bias + 1,
        .has_bias = plan_request_has(request, bias),
        .has_residual = plan_request_has(request, bias + 1),
        .product = cpu_lower_product_for(level, form),
        .row = cpu_lower_rows_for(level, form),
        .epilogue_row = cpu_epilogue_row_for(level),
    };
    return cpu_epilogue_of(request, level, DTYPE_FLOAT32, &out->epilogue);
}

Error *cpu_lower_reserve(
    uint64_t size, uint32_t count, const int64_t *counts, uint64_t *inout_total) {
    bool fits = true;
    for (uint32_t i = 0; i < count && fits; i++)
        fits = counts[i] >= 0 && checked_mul_u64(size, (uint64_t)counts[i], &size);
    if (!fits || !checked_align_u64(size, DEVICE_ALIGNMENT, &size) ||
        !checked_add_u64(*inout_total, size, inout_total) || *inout_total > INT64_MAX)
        FAIL(INVALID, "the operands are too large");
    return NULL;
}

uint64_t cpu_lower_units_of_elements(int64_t elements) {
    return (uint64_t)(65536 / (elements + 1)) + 1;
}

typedef struct Packing {
    const CpuLowerOperands *operands;
    const void *plain;
    void *to;
} Packing;

static Error *pack_panels(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Packing *packing = context;
    const CpuLowerOperands *operands = packing->operands;
    cpu_lower_pack(operands->form, packing->plain, 0, operands->depth, operands->columns,
        (int64_t)begin, (int64_t)end, packing->to);
    return NULL;
}

Error *cpu_lower_pack_plain(CpuDevice *device, uint32_t threads, const CpuLowerOperands *operands,
    const void *plain, void *to) {
    Packing packing = {operands, plain, to};
    return cpu_for_each(device, threads, (uint64_t)cpu_lower_panels(operands->columns),
        cpu_lower_units_of_elements(operands->depth * CPU_LOWER_PANEL), pack_panels, &packing);
}

CpuLowerResults cpu_lower_results(const CpuLowerOperands *operands, const Launch *launch) {
    return (CpuLowerResults){
        .scales = operands->is_int8 ? cpu_input(launch, 2) : NULL,
        .bias = operands->has_bias ? cpu_input(launch, operands->bias) : NULL,
        .residual = operands->has_residual ? cpu_input(launch, operands->residual) : NULL,
        .to = cpu_output(launch, 0),
    };
}

void cpu_lower_add_infinite(const CpuLowerOperands *operands, const char *panels, const float *from,
    int64_t depth, int64_t first, int64_t column, int64_t count, float *inout_sums) {
    for (int64_t k = 0; k < depth; k++) {
        if (isfinite(from[k])) continue;
        for (int64_t i = 0; i < count; i++) {
            const int8_t weight =
                cpu_lower_byte(operands->form, panels, operands->depth, first + k, column + i);
            inout_sums[i] += from[k] * (float)weight;
        }
    }
}

void cpu_lower_finish_row(const CpuLowerOperands *operands, const CpuLowerResults *results,
    const void *sums, float step, const float *infinite, const CpuLowerSpan *span) {
    const int64_t column = span->column, count = span->count;
    const int64_t at = span->row * operands->columns + column;
    float scaled[CPU_LOWER_COLUMNS];
    const float *from = sums;
    if (operands->is_int8) {
        const float *scales = results->scales + column;
        const int32_t *whole = sums;
        operands->row.scale(whole, step, scales, count, scaled);
        for (int64_t i = 0; infinite && i < count; i++)
            scaled[i] = ((float)whole[i] + infinite[i]) * (step * scales[i]);
        from = scaled;
    }
    operands->epilogue_row(&operands->epilogue, from, count,
        results->bias ? results->bias + column : NULL, 1,
        results->residual ? results->residual + at : NULL, results->to + at);
}
