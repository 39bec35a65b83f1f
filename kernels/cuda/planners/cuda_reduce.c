/* ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL2, ReduceSumSquare, and the
 * global pools. */
#include <string.h>

#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/cuda/planners/cuda_internal.h"
#include "kernels/tensor/reduce_groups.h"
#include "kernels/arguments/arguments.h"

enum {
    BLOCK_SEGMENT = 65536, /* elements that a block reduces */
    THREAD_SEGMENT = 4096, /* elements that a thread reduces */
    THREAD_TOTAL_MAX = 64, /* rows shorter than this are not worth a block */
};

static Error *launch_reduce(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaReduceParams params = *(const CudaReduceParams *)plan_state(plan);
    const bool threads = params.segment == THREAD_SEGMENT;
    const uint64_t units = params.outputs * params.segments;
    (void)output_shapes;
    params.from = launch->inputs[0];
    params.to = launch->outputs[0];
    params.partial = launch->workspace;
    if (threads)
        TRY(cuda_run_units(
            plan, launch, CUDA_KERNEL_REDUCE_THREADS, units, &params, sizeof params));
    else
        TRY(cuda_run_blocks(
            plan, launch, CUDA_KERNEL_REDUCE_BLOCKS, units, &params, sizeof params));
    if (params.segments == 1) return NULL;
    return cuda_run_units(
        plan, launch, CUDA_KERNEL_REDUCE_SEGMENTS, params.outputs, &params, sizeof params);
}

typedef struct Rule {
    OperatorId operator_id;
    CudaCombine combine;
    CpuReduction reduction; /* the reduction whose identity is used */
    CudaFinish finish;
    bool squares;
} Rule;

static const Rule rules[] = {
    {OPERATOR_REDUCE_SUM, CUDA_COMBINE_ADD, CPU_REDUCE_SUM, CUDA_FINISH_NONE, false},
    {OPERATOR_REDUCE_MEAN, CUDA_COMBINE_ADD, CPU_REDUCE_SUM, CUDA_FINISH_MEAN, false},
    {OPERATOR_REDUCE_MAX, CUDA_COMBINE_MAX, CPU_REDUCE_MAX, CUDA_FINISH_NONE, false},
    {OPERATOR_REDUCE_MIN, CUDA_COMBINE_MIN, CPU_REDUCE_MIN, CUDA_FINISH_NONE, false},
    {OPERATOR_REDUCE_PROD, CUDA_COMBINE_MUL, CPU_REDUCE_PROD, CUDA_FINISH_NONE, false},
    {OPERATOR_REDUCE_L2, CUDA_COMBINE_ADD, CPU_REDUCE_SUM_SQUARE, CUDA_FINISH_ROOT, true},
    {OPERATOR_REDUCE_SUM_SQUARE, CUDA_COMBINE_ADD, CPU_REDUCE_SUM_SQUARE, CUDA_FINISH_NONE, true},
};

static const Rule *find_rule(OperatorId operator_id) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].operator_id == operator_id) return &rules[i];
    return NULL;
}

static void place_groups(CudaReduceParams *params, const ReduceGroups *groups) {
    params->columns = groups->columns;
    params->outputs = (uint64_t)groups->outputs;
    params->total = (uint64_t)groups->length * (uint64_t)groups->repeats;
    params->width = groups->width;
    params->length = groups->length;
    params->stride = groups->stride;
    params->repeats = groups->repeats;
    params->outer = groups->outer;
    params->kept_rank = groups->kept_rank;
    params->reduced_rank = groups->reduced_rank;
    memcpy(params->kept_dims, groups->kept_dims, sizeof params->kept_dims);
    memcpy(params->kept_strides, groups->kept_strides, sizeof params->kept_strides);
    memcpy(params->reduced_dims, groups->reduced_dims, sizeof params->reduced_dims);
    memcpy(params->reduced_strides, groups->reduced_strides, sizeof params->reduced_strides);
    const bool threads = groups->columns || params->total <= THREAD_TOTAL_MAX;
    params->segment = threads ? THREAD_SEGMENT : BLOCK_SEGMENT;
    params->segments = (params->total + params->segment - 1) / params->segment;
    if (params->segments < 1) params->segments = 1;
}

static Error *plan_rule(Device *device, const PlanRequest *request, const Rule *rule,
    const bool *reduced, const char *name, Plan **out) {
    const DType dtype = request->inputs[0].dtype;
    const CpuReducer *reducer = cpu_reducer_find(CPU_LEVEL_PORTABLE, rule->reduction, dtype);
    ReduceGroups groups;
    if (!reducer) return cuda_decline(out);
    reduce_groups_make(&request->inputs[0].shape, reduced, &groups);
    TRY(plan_create(device, request, name, sizeof(CudaReduceParams), out));
    CudaReduceParams *params = plan_state(*out);
    params->dtype = dtype;
    params->combine = rule->combine;
    params->finish = rule->finish;
    params->squares = rule->squares;
    place_groups(params, &groups);
    params->identity = cpu_reducer_identity(reducer, rule->reduction, dtype, params->total).u64;
    if (params->segments > 1)
        (*out)->workspace_bytes = params->outputs * params->segments * sizeof(uint64_t);
    (*out)->launch = launch_reduce;
    return NULL;
}

static Error *plan_reduce(Device *device, const PlanRequest *request, Plan **out) {
    ReduceArguments arguments;
    TRY(arguments_reduce(request, &arguments));
    const Rule *rule = find_rule(request->operator_info->id);
    if (!rule) return cuda_decline(out);
    return plan_rule(device, request, rule, arguments.reduced, "cuda.reduce", out);
}

/* Reduces each plane [N, C, …] of an image to one number: all dimensions from 2 on. */
static Error *plan_global_pool(Device *device, const PlanRequest *request, Plan **out) {
    const Shape *x = &request->inputs[0].shape;
    const bool average = request->operator_info->id == OPERATOR_GLOBAL_AVERAGE_POOL;
    const Rule *rule = find_rule(average ? OPERATOR_REDUCE_MEAN : OPERATOR_REDUCE_MAX);
    bool reduced[SHAPE_RANK_MAX] = {false};
    for (uint32_t i = 2; i < x->rank; i++) reduced[i] = true;
    return plan_rule(device, request, rule, reduced, "cuda.global_pool", out);
}

#define EXTREME (DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL))
const Kernel cuda_reduce[] = {
    {OPERATOR_REDUCE_SUM, DTYPES_NUMBER, plan_reduce, "cuda.reduce", 0},
    {OPERATOR_REDUCE_MEAN, DTYPES_NUMBER, plan_reduce, "cuda.reduce", 0},
    {OPERATOR_REDUCE_MAX, EXTREME, plan_reduce, "cuda.reduce", 0},
    {OPERATOR_REDUCE_MIN, EXTREME, plan_reduce, "cuda.reduce", 0},
    {OPERATOR_REDUCE_PROD, DTYPES_NUMBER, plan_reduce, "cuda.reduce", 0},
    {OPERATOR_REDUCE_L2, DTYPES_NUMBER, plan_reduce, "cuda.reduce", 0},
    {OPERATOR_REDUCE_SUM_SQUARE, DTYPES_NUMBER, plan_reduce, "cuda.reduce", 0},
    {OPERATOR_GLOBAL_AVERAGE_POOL, DTYPES_FLOAT, plan_global_pool, "cuda.global_pool", 0},
    {OPERATOR_GLOBAL_MAX_POOL, DTYPES_FLOAT, plan_global_pool, "cuda.global_pool", 0},
    KERNELS_END,
};
