#include "kernels/cpu/loops/cpu_float_plan.h"

#include <assert.h>

#include "kernels/cpu/loops/cpu_loop_find.h"

typedef struct Operand {
    DType stored;    /* DTYPE_NONE: the operand is not converted */
    DType computed;  /* the element type that the kernel computes in */
    int64_t count;   /* elements to convert */
    uint64_t offset; /* of the copy in the workspace */
} Operand;

typedef struct FloatPlan {
    CpuFloatRun *run;
    CpuLevel level;
    uint32_t input_count, output_count;
    uint64_t converted_bytes; /* at the workspace's start; the kernel's own follows */
    Operand inputs[CPU_FLOAT_INPUTS_MAX];
    Operand outputs[CPU_FLOAT_OUTPUTS_MAX];
} FloatPlan;

enum { ELEMENTS_PER_PART = 65536 };

typedef struct Conversion {
    CpuLoop *loop;
    const char *from;
    char *to;
    uint32_t from_size, to_size;
} Conversion;

static Error *convert_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Conversion *conversion = context;
    const CpuOperand from = {conversion->from + begin * conversion->from_size, 1};
    const CpuParameters none = {0};
    if (end > begin)
        conversion->loop(
            conversion->to + begin * conversion->to_size, &from, (int64_t)(end - begin), &none);
    return NULL;
}

static Error *convert(CpuDevice *device, const FloatPlan *plan, const Launch *launch, DType from,
    const void *data, DType to, void *out, int64_t count) {
    Conversion conversion = {
        .loop = cpu_loop_find_cast(plan->level, from, to, false),
        .from = data,
        .to = out,
        .from_size = dtype_bits(from) / 8,
        .to_size = dtype_bits(to) / 8,
    };
    assert(conversion.loop);
    return cpu_for_each(
        device, launch->threads, (uint64_t)count, ELEMENTS_PER_PART, convert_units, &conversion);
}

static size_t header_size(void) { return (sizeof(FloatPlan) + 15) & ~(size_t)15; }

static Error *launch_plan(const Plan *base, const Launch *launch, const Shape *output_shapes) {
    (void)output_shapes;
    const FloatPlan *plan = plan_state(base);
    CpuDevice *device = cpu_device(base->device);
    char *workspace = cpu_workspace(launch);
    CpuFloatCall call = {.device = device, .launch = launch};
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const Operand *operand = &plan->inputs[i];
        call.inputs[i] = cpu_input(launch, i);
        if (operand->stored == DTYPE_NONE || operand->count == 0) continue;
        float *wide = (float *)(void *)(workspace + operand->offset);
        TRY(convert(device, plan, launch, operand->stored, call.inputs[i], operand->computed, wide,
            operand->count));
        call.inputs[i] = wide;
    }
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const Operand *operand = &plan->outputs[i];
        call.outputs[i] = operand->stored == DTYPE_NONE || operand->count == 0
                              ? cpu_output(launch, i)
                              : (float *)(void *)(workspace + operand->offset);
    }
    if (base->workspace_bytes > plan->converted_bytes)
        call.workspace = workspace + plan->converted_bytes;
    TRY(plan->run((const char *)plan + header_size(), &call));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const Operand *operand = &plan->outputs[i];
        if (operand->stored == DTYPE_NONE || operand->count == 0) continue;
        TRY(convert(device, plan, launch, operand->computed, call.outputs[i], operand->stored,
            cpu_output(launch, i), operand->count));
    }
    return NULL;
}

/* The element type that a kernel computes in, or DTYPE_NONE if the operand needs no conversion. */
static DType computed_in(DType dtype, bool integers_too) {
    if (dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16) return DTYPE_FLOAT32;
    return integers_too && dtype_is_integer(dtype) ? DTYPE_FLOAT64 : DTYPE_NONE;
}

static void describe(
    const TensorSpec *spec, bool integers_too, uint64_t *inout_bytes, Operand *out) {
    *out = (Operand){0};
    if (!spec->present || spec->layout != 0) return;
    out->computed = computed_in(spec->dtype, integers_too);
    if (out->computed == DTYPE_NONE) return;
    out->stored = spec->dtype;
    out->count = shape_count_unchecked(&spec->shape);
    out->offset = *inout_bytes;
    const uint64_t bytes = (uint64_t)out->count * (dtype_bits(out->computed) / 8);
    *inout_bytes += (bytes + DEVICE_ALIGNMENT - 1) & ~(uint64_t)(DEVICE_ALIGNMENT - 1);
}

static Error *create(Device *device, const PlanRequest *request, const char *kernel_name,
    bool integers_too, size_t state_size, CpuFloatRun *run, Plan **out, void **out_state) {
    assert(request->input_count <= CPU_FLOAT_INPUTS_MAX);
    assert(request->output_count <= CPU_FLOAT_OUTPUTS_MAX);
    Plan *base;
    TRY(plan_create(device, request, kernel_name, header_size() + state_size, &base));
    FloatPlan *plan = plan_state(base);
    plan->run = run;
    plan->level = cpu_device(device)->level;
    plan->input_count = request->input_count;
    plan->output_count = request->output_count;
    /* inputs that the shape rule reads by value have no address */
    for (uint32_t i = 0; i < request->input_count; i++)
        if (!operator_reads_value(request->operator_info, i))
            describe(&request->inputs[i], integers_too, &plan->converted_bytes, &plan->inputs[i]);
    for (uint32_t i = 0; i < request->output_count; i++)
        describe(&request->outputs[i], integers_too, &plan->converted_bytes, &plan->outputs[i]);
    base->workspace_bytes = plan->converted_bytes;
    base->launch = launch_plan;
    *out_state = (char *)plan + header_size();
    *out = base;
    return NULL;
}

Error *cpu_float_plan_create(Device *device, const PlanRequest *request, const char *kernel_name,
    size_t state_size, CpuFloatRun *run, Plan **out, void **out_state) {
    return create(device, request, kernel_name, false, state_size, run, out, out_state);
}

Error *cpu_float_plan_create_number(Device *device, const PlanRequest *request,
    const char *kernel_name, size_t state_size, CpuFloatRun *run, Plan **out, void **out_state) {
    return create(device, request, kernel_name, true, state_size, run, out, out_state);
}

bool cpu_float_plan_takes(const PlanRequest *request) {
    const bool wide = request->inputs[0].dtype == DTYPE_FLOAT64;
    for (uint32_t i = 1; i < request->input_count; i++) {
        const TensorSpec *input = &request->inputs[i];
        if (input->present && dtype_is_float(input->dtype) &&
            (input->dtype == DTYPE_FLOAT64) != wide)
            return false;
    }
    return true;
}

void cpu_float_plan_set_workspace(Plan *base, uint64_t bytes) {
    const FloatPlan *plan = plan_state(base);
    base->workspace_bytes = plan->converted_bytes + bytes;
}
