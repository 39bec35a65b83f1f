/* DynamicQuantizeLinear: finds the range of all elements, then quantizes each to a byte of that
 * range. */
#include "kernels/cpu/elementwise/cpu_small.h"
#include "kernels/scalar/scalar_float.h"

enum { RUNS_PER_PART = 16 };

/* The range always contains 0; NaN is ignored. */
typedef struct Range {
    float low, high;
} Range;

typedef struct Run {
    uint64_t count;
    const float *x;
    Range *ranges; /* one for each part */
    float scale;
    float zero_point;
    uint8_t *to;
} Run;

static Error *find_ranges(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const uint64_t last = end * CPU_SMALL_RUN < run->count ? end * CPU_SMALL_RUN : run->count;
    Range range = {0, 0};
    KERNEL_STOP_EACH (i, (int64_t)(begin * CPU_SMALL_RUN), (int64_t)last) {
        range.low = run->x[i] < range.low ? run->x[i] : range.low;
        range.high = run->x[i] > range.high ? run->x[i] : range.high;
    }
    run->ranges[part] = range;
    return NULL;
}

static Error *quantize(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    for (uint64_t i = begin; i < end; i++) {
        const uint64_t first = i * CPU_SMALL_RUN, left = run->count - first;
        const uint64_t count = left < CPU_SMALL_RUN ? left : CPU_SMALL_RUN;
        float values[CPU_SMALL_RUN];
        for (uint64_t k = 0; k < count; k++) {
            const float steps = run->x[first + k] / run->scale;
            values[k] = (steps == steps ? scalar_round_f32(steps) : 0) + run->zero_point;
        }
        cpu_small_narrow(DTYPE_UINT8, true, values, run->to, first, count);
    }
    return NULL;
}

static Error *launch_dynamic(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CpuDevice *device = cpu_device(plan->device);
    Run run = {.count = *(const uint64_t *)plan_state(plan),
        .x = cpu_input(launch, 0),
        .ranges = cpu_workspace(launch),
        .to = cpu_output(launch, 0)};
    const uint64_t units = (run.count + CPU_SMALL_RUN - 1) / CPU_SMALL_RUN;
    const uint32_t parts = cpu_part_count(device, launch->threads, units, RUNS_PER_PART);
    Range range = {0, 0};
    (void)output_shapes;
    for (uint32_t i = 0; i < CPU_THREADS_MAX; i++) run.ranges[i] = range;
    TRY(cpu_for_each_share(device, launch->threads, units, RUNS_PER_PART, find_ranges, &run));
    for (uint32_t i = 0; i < parts; i++) {
        range.low = run.ranges[i].low < range.low ? run.ranges[i].low : range.low;
        range.high = run.ranges[i].high > range.high ? run.ranges[i].high : range.high;
    }
    /* if all elements are 0, any scale is right */
    run.scale = range.high > range.low ? (range.high - range.low) / 255.0f : 1.0f;
    const float zero_point = 0 - range.low / run.scale;
    cpu_small_narrow(DTYPE_UINT8, true, &zero_point, cpu_output(launch, 2), 0, 1);
    run.zero_point = *(const uint8_t *)cpu_output(launch, 2);
    *(float *)cpu_output(launch, 1) = run.scale;
    return cpu_for_each(device, launch->threads, units, RUNS_PER_PART, quantize, &run);
}

static Error *plan_dynamic(Device *device, const PlanRequest *request, Plan **out) {
    TRY(plan_create(device, request, "cpu.dynamic_quantize_linear", sizeof(uint64_t), out));
    *(uint64_t *)plan_state(*out) = (uint64_t)shape_count_unchecked(&request->inputs[0].shape);
    (*out)->workspace_bytes = CPU_THREADS_MAX * sizeof(Range);
    (*out)->launch = launch_dynamic;
    return NULL;
}

const Kernel cpu_dynamic_quantize[] = {
    {OPERATOR_DYNAMIC_QUANTIZE_LINEAR, DTYPE_BIT(DTYPE_FLOAT32), plan_dynamic,
        "cpu.dynamic_quantize_linear", KERNEL_PORTABLE},
    KERNELS_END,
};
