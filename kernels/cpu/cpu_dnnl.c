#include "kernels/cpu/cpu_dnnl.h"

#include <string.h>

#include "base/allocator.h"

/* Of libgomp, which oneDNN runs on; acts on the calling thread. (omp.h belongs to the compiler, not
 * to the library.) */
void omp_set_num_threads(int threads);

static Error *check(dnnl_status_t status, const char *what) {
    if (status == dnnl_out_of_memory) FAIL(OUT_OF_MEMORY, "oneDNN: no memory for %s", what);
    if (status != dnnl_success) FAIL(INTERNAL, "oneDNN: %s failed with %d", what, (int)status);
    return NULL;
}

void cpu_dnnl_set_threads(uint32_t threads) { omp_set_num_threads((int)threads); }

dnnl_memory_desc_t cpu_dnnl_plain(uint32_t rank, const int64_t *dims) {
    dnnl_memory_desc_t made = {0};
    dnnl_dims_t strides;
    int64_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
        strides[i] = stride;
        stride *= dims[i];
    }
    /* cannot fail: dims are those of a tensor without zero dimensions */
    (void)dnnl_memory_desc_init_by_strides(&made, (int)rank, dims, dnnl_f32, strides);
    return made;
}

bool cpu_dnnl_is_slow(const_dnnl_primitive_desc_t description) {
    const char *name = "";
    if (dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, (void *)&name) !=
        dnnl_success)
        return true;
    return strstr(name, "ref") != NULL;
}

static dnnl_alg_kind_t activation_kind(Activation activation) {
    switch (activation) {
    case ACTIVATION_RELU:
    case ACTIVATION_LEAKY_RELU:
        return dnnl_eltwise_relu;
    case ACTIVATION_CLIP:
        return dnnl_eltwise_clip;
    case ACTIVATION_TANH:
        return dnnl_eltwise_tanh;
    case ACTIVATION_SIGMOID:
        return dnnl_eltwise_logistic;
    case ACTIVATION_HARD_SWISH:
        return dnnl_eltwise_hardswish;
    case ACTIVATION_GELU_ERF:
        return dnnl_eltwise_gelu_erf;
    case ACTIVATION_GELU_TANH:
        return dnnl_eltwise_gelu_tanh;
    case ACTIVATION_NONE:
    case ACTIVATION_COUNT:
        break;
    }
    return dnnl_alg_kind_undef;
}

static Error *append_post_ops(const DnnlProblem *problem, dnnl_post_ops_t post_ops) {
    dnnl_alg_kind_t kind = activation_kind(problem->activation);
    float alpha = problem->activation == ACTIVATION_RELU ? 0 : (float)problem->alpha;
    if (problem->adds_residual) TRY(check(dnnl_post_ops_append_sum(post_ops, 1), "a residual"));
    if (kind != dnnl_alg_kind_undef)
        TRY(check(dnnl_post_ops_append_eltwise(post_ops, 1, kind, alpha, (float)problem->beta),
            "an activation"));
    return NULL;
}

static Error *make_attributes(const DnnlProblem *problem, dnnl_primitive_attr_t *out) {
    dnnl_post_ops_t post_ops;
    TRY(check(dnnl_primitive_attr_create(out), "attributes"));
    TRY(check(
        dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user), "attributes"));
    if (problem->scale != 1)
        TRY(check(dnnl_primitive_attr_set_output_scales(*out, 1, 0, &problem->scale), "a scale"));
    TRY(check(dnnl_post_ops_create(&post_ops), "attributes"));
    Error *error = append_post_ops(problem, post_ops);
    if (!error) error = check(dnnl_primitive_attr_set_post_ops(*out, post_ops), "attributes");
    (void)dnnl_post_ops_destroy(post_ops);
    return error;
}

/* One more variant; called with the mutex held, or before anybody else knows the plan. */
static Error *add_variant(DnnlPlan *plan, uint32_t threads, bool first, uint64_t *out_scratch) {
    dnnl_primitive_desc_t description = NULL;
    uint32_t count = atomic_load_explicit(&plan->variant_count, memory_order_relaxed);
    cpu_dnnl_set_threads(threads);
    TRY(plan->describe(
        plan->problem, plan->device, first ? NULL : plan->wanted, plan->attributes, &description));
    if (!description) return NULL;
    static const dnnl_query_t queries[DNNL_OPERANDS_MAX] = {
        dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_weights_md, dnnl_query_dst_md};
    for (uint32_t i = 0; first && i < DNNL_OPERANDS_MAX; i++)
        if (plan->plain[i].ndims)
            plan->wanted[i] = *dnnl_primitive_desc_query_md(
                description, queries[i], i == DNNL_OPERAND_BIAS ? 1 : 0);
    *out_scratch = dnnl_memory_desc_get_size(
        dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0));
    Error *error =
        check(dnnl_primitive_create(&plan->variants[count].primitive, description), "a primitive");
    (void)dnnl_primitive_desc_destroy(description);
    TRY(error);
    plan->variants[count].threads = threads;
    atomic_store_explicit(&plan->variant_count, count + 1, memory_order_release);
    return NULL;
}

static Error *make_reorder(CpuDevice *device, const dnnl_memory_desc_t *from,
    const dnnl_memory_desc_t *to, dnnl_primitive_t *out) {
    dnnl_primitive_attr_t attributes;
    dnnl_primitive_desc_t description = NULL;
    dnnl_engine_t engine = device->dnnl_engine;
    TRY(check(dnnl_primitive_attr_create(&attributes), "attributes"));
    Error *error = check(
        dnnl_reorder_primitive_desc_create(&description, from, engine, to, engine, attributes),
        "a reorder");
    if (!error) error = check(dnnl_primitive_create(out, description), "a reorder");
    if (description) (void)dnnl_primitive_desc_destroy(description);
    (void)dnnl_primitive_attr_destroy(attributes);
    return error;
}

/* Reorders of operands that oneDNN wants otherwise, and where they go in the workspace. */
static Error *add_reorders(DnnlPlan *plan, uint64_t *inout_bytes) {
    cpu_dnnl_set_threads(1);
    for (uint32_t i = 0; i < DNNL_OPERANDS_MAX; i++) {
        const dnnl_memory_desc_t *plain = &plan->plain[i], *wanted = &plan->wanted[i];
        if (!plain->ndims || dnnl_memory_desc_equal(plain, wanted)) continue;
        bool is_result = i == DNNL_OPERAND_RESULT;
        TRY(make_reorder(plan->device, is_result ? wanted : plain, is_result ? plain : wanted,
            &plan->reorders[i]));
        plan->offsets[i] = *inout_bytes;
        *inout_bytes += (dnnl_memory_desc_get_size(wanted) + DEVICE_ALIGNMENT - 1) &
                        ~(uint64_t)(DEVICE_ALIGNMENT - 1);
    }
    if (plan->adds_residual && plan->reorders[DNNL_OPERAND_RESULT])
        TRY(make_reorder(plan->device, &plan->plain[DNNL_OPERAND_RESULT],
            &plan->wanted[DNNL_OPERAND_RESULT], &plan->residual_reorder));
    return NULL;
}

static void destroy(Plan *base) {
    DnnlPlan *plan = plan_state(base);
    uint32_t count = atomic_load(&plan->variant_count);
    for (uint32_t i = 0; i < count; i++) (void)dnnl_primitive_destroy(plan->variants[i].primitive);
    for (uint32_t i = 0; i < DNNL_OPERANDS_MAX; i++)
        if (plan->reorders[i]) (void)dnnl_primitive_destroy(plan->reorders[i]);
    if (plan->residual_reorder) (void)dnnl_primitive_destroy(plan->residual_reorder);
    if (plan->attributes) (void)dnnl_primitive_attr_destroy(plan->attributes);
    pthread_mutex_destroy(&plan->mutex);
    plan_free(base);
}

typedef struct Argument {
    int index;
    const dnnl_memory_desc_t *form;
    void *address;
} Argument;

static Error *execute(
    const DnnlPlan *plan, dnnl_primitive_t primitive, const Argument *arguments, uint32_t count) {
    enum { ARGUMENTS_MAX = 5 };
    dnnl_exec_arg_t given[ARGUMENTS_MAX];
    dnnl_stream_t stream = NULL;
    Error *error =
        check(dnnl_stream_create(&stream, plan->device->dnnl_engine, dnnl_stream_default_flags),
            "a stream");
    uint32_t made = 0;
    for (; made < count && !error; made++) {
        given[made].arg = arguments[made].index;
        error = check(dnnl_memory_create(&given[made].memory, arguments[made].form,
                          plan->device->dnnl_engine, arguments[made].address),
            "memory");
    }
    if (error) made = made ? made - 1 : 0;
    if (!error)
        error = check(dnnl_primitive_execute(primitive, stream, (int)count, given), "a primitive");
    for (uint32_t i = 0; i < made; i++) (void)dnnl_memory_destroy(given[i].memory);
    if (stream) (void)dnnl_stream_destroy(stream);
    return error;
}

static Error *reorder(const DnnlPlan *plan, dnnl_primitive_t primitive,
    const dnnl_memory_desc_t *from_form, const void *from, const dnnl_memory_desc_t *to_form,
    void *to) {
    const Argument arguments[] = {
        {DNNL_ARG_FROM, from_form, (void *)(uintptr_t)from}, {DNNL_ARG_TO, to_form, to}};
    return execute(plan, primitive, arguments, 2);
}

/* The variant for that many threads, made now if it is new. */
static Error *find_variant(DnnlPlan *plan, uint32_t threads, dnnl_primitive_t *out) {
    uint32_t count = atomic_load_explicit(&plan->variant_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (plan->variants[i].threads == threads) {
            *out = plan->variants[i].primitive;
            return NULL;
        }
    *out = plan->variants[0].primitive; /* where no more can be made, one thread does it all */
    pthread_mutex_lock(&plan->mutex);
    Error *error = NULL;
    uint64_t scratch = 0;
    uint32_t now = atomic_load_explicit(&plan->variant_count, memory_order_relaxed);
    if (now == count && now < DNNL_VARIANTS_MAX)
        error = add_variant(plan, threads, false, &scratch);
    now = atomic_load_explicit(&plan->variant_count, memory_order_relaxed);
    for (uint32_t i = 0; i < now && !error; i++)
        if (plan->variants[i].threads == threads) *out = plan->variants[i].primitive;
    pthread_mutex_unlock(&plan->mutex);
    return error;
}

/* Operands to where the primitive finds them; the residual to where the result will be. */
static Error *prepare(
    const DnnlPlan *plan, const Launch *launch, void *addresses[DNNL_OPERANDS_MAX]) {
    char *workspace = cpu_workspace(launch);
    for (uint32_t i = 0; i < DNNL_OPERAND_RESULT; i++) {
        if (!plan->plain[i].ndims) continue;
        addresses[i] = (void *)(uintptr_t)cpu_input(launch, i);
        if (!plan->reorders[i]) continue;
        TRY(reorder(plan, plan->reorders[i], &plan->plain[i], addresses[i], &plan->wanted[i],
            workspace + plan->offsets[i]));
        addresses[i] = workspace + plan->offsets[i];
    }
    void *result = cpu_output(launch, 0);
    bool reorders = plan->reorders[DNNL_OPERAND_RESULT] != NULL;
    addresses[DNNL_OPERAND_RESULT] =
        reorders ? workspace + plan->offsets[DNNL_OPERAND_RESULT] : result;
    if (!plan->adds_residual) return NULL;
    const void *residual = cpu_input(launch, 3);
    const dnnl_memory_desc_t *plain = &plan->plain[DNNL_OPERAND_RESULT];
    if (reorders)
        return reorder(plan, plan->residual_reorder, plain, residual,
            &plan->wanted[DNNL_OPERAND_RESULT], addresses[DNNL_OPERAND_RESULT]);
    if (residual != result) memcpy(result, residual, dnnl_memory_desc_get_size(plain));
    return NULL;
}

static Error *launch_plan(
    const Plan *base, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    (void)output_shapes;
    DnnlPlan *plan = plan_state(base);
    void *addresses[DNNL_OPERANDS_MAX] = {0};
    dnnl_primitive_t primitive;
    uint32_t threads = launch->threads ? launch->threads : 1;
    if (threads > plan->device->threads_max) threads = plan->device->threads_max;
    *out_abandoned = false;
    TRY(find_variant(plan, threads, &primitive));
    cpu_dnnl_set_threads(threads);
    TRY(prepare(plan, launch, addresses));
    static const int indices[DNNL_OPERANDS_MAX] = {
        DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
    Argument arguments[DNNL_OPERANDS_MAX + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < DNNL_OPERANDS_MAX; i++)
        if (plan->plain[i].ndims)
            arguments[count++] = (Argument){indices[i], &plan->wanted[i], addresses[i]};
    dnnl_memory_desc_t scratch = {0};
    const dnnl_dims_t scratch_size = {(int64_t)(base->workspace_bytes - plan->scratch_offset)};
    if (scratch_size[0] > 0) {
        const dnnl_dims_t stride = {1};
        (void)dnnl_memory_desc_init_by_strides(&scratch, 1, scratch_size, dnnl_u8, stride);
        arguments[count++] = (Argument){
            DNNL_ARG_SCRATCHPAD, &scratch, (char *)cpu_workspace(launch) + plan->scratch_offset};
    }
    TRY(execute(plan, primitive, arguments, count));
    if (!plan->reorders[DNNL_OPERAND_RESULT]) return NULL;
    return reorder(plan, plan->reorders[DNNL_OPERAND_RESULT], &plan->wanted[DNNL_OPERAND_RESULT],
        addresses[DNNL_OPERAND_RESULT], &plan->plain[DNNL_OPERAND_RESULT], cpu_output(launch, 0));
}

static Error *fill(DnnlPlan *plan, const DnnlProblem *problem, Plan *base, bool *out_made) {
    uint64_t bytes = 0, scratch = 0, more = 0;
    *out_made = false;
    TRY(make_attributes(problem, &plan->attributes));
    TRY(add_variant(plan, 1, true, &scratch));
    if (atomic_load(&plan->variant_count) == 0) return NULL;
    /* the scratch of all thread counts: what one of them asks for must fit whoever launches */
    if (plan->device->threads_max > 1) {
        TRY(add_variant(plan, plan->device->threads_max, false, &more));
        if (more > scratch) scratch = more;
    }
    TRY(add_reorders(plan, &bytes));
    plan->scratch_offset = bytes;
    base->workspace_bytes = bytes + scratch;
    *out_made = true;
    return NULL;
}

Error *cpu_dnnl_plan(
    Device *device, const PlanRequest *request, const DnnlProblem *problem, Plan **out) {
    OWN(Plan, base) = NULL;
    size_t head = (sizeof(DnnlPlan) + 15) & ~(size_t)15;
    bool made;
    TRY(plan_create(device, request, problem->name, head + problem->size, &base));
    DnnlPlan *plan = plan_state(base);
    memcpy((char *)plan + head, problem->data, problem->size);
    plan->device = cpu_device(device);
    plan->describe = problem->describe;
    plan->problem = (char *)plan + head;
    plan->adds_residual = problem->adds_residual;
    memcpy(plan->plain, problem->plain, sizeof plan->plain);
    pthread_mutex_init(&plan->mutex, NULL);
    base->destroy = destroy;
    base->launch = launch_plan;
    TRY(fill(plan, problem, base, &made));
    *out = made ? TAKE(base) : NULL;
    return NULL;
}
