#include "kernels/cpu/dnnl/cpu_dnnl.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/cpu/movement/cpu_copy.h"

void cpu_dnnl_use_one_thread(void) { dnnl.set_thread_count(1); }

/* Moves an operand from one form into another. If both forms are plain strides, our own copy runs
 * on all of a launch's threads; otherwise oneDNN's reorder runs on one thread. On one thread both
 * take equally long. */
typedef struct DnnlMove {
    dnnl_memory_desc_t from, to;
    CpuCopy copy;
    dnnl_primitive_t reorder; /* NULL: copied */
} DnnlMove;

/* A plan's state. */
typedef struct DnnlPlan {
    CpuDevice *device;
    dnnl_primitive_t primitives[DNNL_KINDS_MAX];
    dnnl_memory_desc_t forms[DNNL_KINDS_MAX][DNNL_OPERANDS_MAX]; /* forms of a band's operands */
    dnnl_memory_desc_t plain[DNNL_OPERANDS_MAX];
    /* whether the primitives need the operand in another form */
    bool moves[DNNL_OPERANDS_MAX];
    DnnlMove operands[DNNL_OPERANDS_MAX];   /* from plain to that form; the result's: back */
    DnnlMove residual;                      /* from plain to the result's form */
    uint64_t offsets[DNNL_OPERANDS_MAX];    /* in the workspace, for moved operands */
    uint64_t scratch_offset, scratch_bytes; /* scratch_bytes for each thread */
    DnnlBand bands[DNNL_BANDS_MAX];
    uint32_t band_count;
    uint64_t image_count;
    uint64_t image_bytes[DNNL_OPERANDS_MAX];
    bool adds_residual;
} DnnlPlan;

static Error *check(dnnl_status_t status, const char *what) {
    if (status == dnnl_out_of_memory) FAIL(OUT_OF_MEMORY, "oneDNN: no memory for %s", what);
    if (status != dnnl_success) FAIL(INTERNAL, "oneDNN: %s failed with %d", what, (int)status);
    return NULL;
}

dnnl_memory_desc_t cpu_dnnl_plain(uint32_t rank, const int64_t *dims) {
    dnnl_memory_desc_t made = {0};
    dnnl_dims_t strides;
    int64_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
        strides[i] = stride;
        stride *= dims[i];
    }
    /* cannot fail: dims are those of a tensor without zero dimensions */
    (void)dnnl.memory_desc_init_by_strides(&made, (int)rank, dims, dnnl_f32, strides);
    return made;
}

uint32_t cpu_dnnl_band_count(const CpuRules *rules, double multiply_adds, int64_t cuttable) {
    /* a band should be worth a thread: some 20 µs */
    uint32_t count = multiply_adds >= (double)cpu_rule(rules, CPU_RULE_DNNL_BANDS_FOUR)  ? 4
                     : multiply_adds >= (double)cpu_rule(rules, CPU_RULE_DNNL_BANDS_TWO) ? 2
                                                                                         : 1;
    while (cpu_dnnl_is_long(rules, multiply_adds, count) && count * 2 <= DNNL_BANDS_MAX) count *= 2;
    while (count > 1 && cuttable < 2 * (int64_t)count) count /= 2;
    return count;
}

bool cpu_dnnl_is_long(const CpuRules *rules, double multiply_adds, uint32_t band_count) {
    return multiply_adds / band_count > (double)cpu_rule(rules, CPU_RULE_DNNL_BAND_MAX);
}

static bool is_slow(const_dnnl_primitive_desc_t description) {
    const char *name = "";
    if (dnnl.primitive_desc_query(description, dnnl_query_impl_info_str, 0, (void *)&name) !=
        dnnl_success)
        return true;
    return strstr(name, "ref") != NULL;
}

Error *cpu_dnnl_describe(const_dnnl_op_desc_t operation, const_dnnl_primitive_attr_t attributes,
    dnnl_primitive_desc_t *out) {
    dnnl_primitive_desc_t made = NULL;
    *out = NULL;
    cpu_dnnl_use_one_thread();
    if (dnnl.primitive_desc_create(&made, operation, attributes, cpu_dnnl_engine(), NULL) !=
        dnnl_success)
        return NULL;
    if (is_slow(made))
        (void)dnnl.primitive_desc_destroy(made);
    else
        *out = made;
    return NULL;
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
    case ACTIVATION_SCALED_HARD_SWISH:
        return dnnl_eltwise_hardswish;
    case ACTIVATION_GELU_ERF:
        return dnnl_eltwise_gelu_erf;
    case ACTIVATION_GELU_TANH:
        return dnnl_eltwise_gelu_tanh;
    case ACTIVATION_SWISH:
        return dnnl_eltwise_swish;
    case ACTIVATION_MISH:
        return dnnl_eltwise_mish;
    case ACTIVATION_NONE:
    case ACTIVATION_COUNT:
        break;
    }
    return dnnl_alg_kind_undef;
}

static Error *append_activation(const DnnlEpilogue *epilogue, dnnl_post_ops_t post_ops) {
    const dnnl_alg_kind_t kind = activation_kind(epilogue->activation);
    const float alpha = (float)epilogue->alpha, beta = (float)epilogue->beta;
    const bool scales = epilogue->activation == ACTIVATION_SCALED_HARD_SWISH;
    const bool takes = epilogue->activation != ACTIVATION_RELU && !scales;
    if (kind == dnnl_alg_kind_undef) return NULL;
    TRY(check(dnnl.post_ops_append_eltwise(post_ops, 1, kind, takes ? alpha : 0, takes ? beta : 0),
        "an activation"));
    if (!scales) return NULL;
    return check(
        dnnl.post_ops_append_eltwise(post_ops, 1, dnnl_eltwise_linear, alpha, beta), "a scale");
}

static Error *append_post_ops(const DnnlEpilogue *epilogue, dnnl_post_ops_t post_ops) {
    if (epilogue->adds_residual) TRY(check(dnnl.post_ops_append_sum(post_ops, 1), "a residual"));
    return append_activation(epilogue, post_ops);
}

static Error *fill_attributes(const DnnlEpilogue *epilogue, dnnl_primitive_attr_t attributes) {
    dnnl_post_ops_t post_ops;
    TRY(check(dnnl.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
        "attributes"));
    if (epilogue->scale != 1)
        TRY(check(
            dnnl.primitive_attr_set_output_scales(attributes, 1, 0, &epilogue->scale), "a scale"));
    TRY(check(dnnl.post_ops_create(&post_ops), "attributes"));
    Error *error = append_post_ops(epilogue, post_ops);
    if (!error) error = check(dnnl.primitive_attr_set_post_ops(attributes, post_ops), "attributes");
    (void)dnnl.post_ops_destroy(post_ops);
    return error;
}

Error *cpu_dnnl_attributes(const DnnlEpilogue *epilogue, dnnl_primitive_attr_t *out) {
    dnnl_primitive_attr_t made;
    TRY(check(dnnl.primitive_attr_create(&made), "attributes"));
    Error *error = fill_attributes(epilogue, made);
    if (error)
        (void)dnnl.primitive_attr_destroy(made);
    else
        *out = made;
    return error;
}

void cpu_dnnl_problem_deinit(DnnlProblem *problem) {
    for (uint32_t i = 0; i < DNNL_KINDS_MAX; i++) {
        if (problem->kinds[i]) (void)dnnl.primitive_desc_destroy(problem->kinds[i]);
        problem->kinds[i] = NULL;
    }
}

static void destroy(Plan *base) {
    DnnlPlan *plan = plan_state(base);
    for (uint32_t i = 0; i < DNNL_KINDS_MAX; i++)
        if (plan->primitives[i]) (void)dnnl.primitive_destroy(plan->primitives[i]);
    for (uint32_t i = 0; i < DNNL_OPERANDS_MAX; i++)
        if (plan->operands[i].reorder) (void)dnnl.primitive_destroy(plan->operands[i].reorder);
    if (plan->residual.reorder) (void)dnnl.primitive_destroy(plan->residual.reorder);
    plan_free(base);
}

typedef struct Argument {
    int index;
    const dnnl_memory_desc_t *form;
    void *address;
} Argument;

static Error *execute(dnnl_primitive_t primitive, const Argument *arguments, uint32_t count) {
    dnnl_exec_arg_t given[DNNL_OPERANDS_MAX + 1];
    dnnl_stream_t stream = NULL;
    cpu_dnnl_use_one_thread();
    Error *error = check(
        dnnl.stream_create(&stream, cpu_dnnl_engine(), dnnl_stream_default_flags), "a stream");
    uint32_t made = 0;
    while (made < count && !error) {
        given[made].arg = arguments[made].index;
        error = check(dnnl.memory_create(&given[made].memory, arguments[made].form,
                          cpu_dnnl_engine(), arguments[made].address),
            "memory");
        if (!error) made++;
    }
    if (!error)
        error = check(dnnl.primitive_execute(primitive, stream, (int)count, given), "a primitive");
    for (uint32_t i = 0; i < made; i++) (void)dnnl.memory_destroy(given[i].memory);
    if (stream) (void)dnnl.stream_destroy(stream);
    return error;
}

static Error *move(
    const DnnlPlan *plan, const Launch *launch, const DnnlMove *what, const void *from, void *to) {
    if (!what->reorder) return cpu_copy_run(plan->device, launch->threads, &what->copy, to, from);
    const Argument arguments[] = {
        {DNNL_ARG_FROM, &what->from, (void *)(uintptr_t)from}, {DNNL_ARG_TO, &what->to, to}};
    return execute(what->reorder, arguments, 2);
}

/* Moves operands to the addresses that the primitives read, and the residual to the result's
 * address. */
static Error *prepare(
    const DnnlPlan *plan, const Launch *launch, char *addresses[DNNL_OPERANDS_MAX]) {
    char *workspace = cpu_workspace(launch);
    for (uint32_t i = 0; i < DNNL_OPERAND_RESULT; i++) {
        if (!plan->plain[i].ndims) continue;
        addresses[i] = (void *)(uintptr_t)cpu_input(launch, i);
        if (!plan->moves[i]) continue;
        TRY(move(plan, launch, &plan->operands[i], addresses[i], workspace + plan->offsets[i]));
        addresses[i] = workspace + plan->offsets[i];
    }
    void *result = cpu_output(launch, 0);
    bool moves = plan->moves[DNNL_OPERAND_RESULT];
    addresses[DNNL_OPERAND_RESULT] =
        moves ? workspace + plan->offsets[DNNL_OPERAND_RESULT] : result;
    if (!plan->adds_residual) return NULL;
    const void *residual = cpu_input(launch, 3);
    if (moves) return move(plan, launch, &plan->residual, residual, addresses[DNNL_OPERAND_RESULT]);
    return cpu_copy_bytes(plan->device, launch->threads, result, residual,
        dnnl.memory_desc_get_size(&plan->plain[DNNL_OPERAND_RESULT]));
}

/* The state that the threads of a launch share. */
typedef struct Bands {
    const DnnlPlan *plan;
    char *addresses[DNNL_OPERANDS_MAX];
    char *scratch;
} Bands;

static Error *run_band(const Bands *bands, uint64_t unit, uint32_t part) {
    static const int indices[DNNL_OPERANDS_MAX] = {
        DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
    const DnnlPlan *plan = bands->plan;
    const DnnlBand *band = &plan->bands[unit % plan->band_count];
    const uint64_t image = unit / plan->band_count;
    Argument arguments[DNNL_OPERANDS_MAX + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < DNNL_OPERANDS_MAX; i++)
        if (plan->plain[i].ndims)
            arguments[count++] = (Argument){indices[i], &plan->forms[band->kind][i],
                bands->addresses[i] + image * plan->image_bytes[i] + band->offsets[i]};
    dnnl_memory_desc_t scratch = {0};
    const dnnl_dims_t size = {(int64_t)plan->scratch_bytes}, stride = {1};
    if (plan->scratch_bytes > 0) {
        (void)dnnl.memory_desc_init_by_strides(&scratch, 1, size, dnnl_u8, stride);
        arguments[count++] =
            (Argument){DNNL_ARG_SCRATCHPAD, &scratch, bands->scratch + part * plan->scratch_bytes};
    }
    return execute(plan->primitives[band->kind], arguments, count);
}

static Error *run_bands(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    for (uint64_t unit = begin; unit < end; unit++) TRY(run_band(context, unit, part));
    return NULL;
}

static Error *launch_plan(const Plan *base, const Launch *launch, const Shape *output_shapes) {
    (void)output_shapes;
    const DnnlPlan *plan = plan_state(base);
    Bands bands = {.plan = plan};
    if (plan->scratch_bytes > 0)
        bands.scratch = (char *)cpu_workspace(launch) + plan->scratch_offset;
    TRY(prepare(plan, launch, bands.addresses));
    TRY(cpu_for_each(
        plan->device, launch->threads, plan->image_count * plan->band_count, 1, run_bands, &bands));
    if (!plan->moves[DNNL_OPERAND_RESULT]) return NULL;
    return move(plan, launch, &plan->operands[DNNL_OPERAND_RESULT],
        bands.addresses[DNNL_OPERAND_RESULT], cpu_output(launch, 0));
}

static bool is_strided(const dnnl_memory_desc_t *form) {
    return form->format_kind == dnnl_blocked && form->format_desc.blocking.inner_nblks == 0;
}

/* A copy's dimensions must be in the order of the written form. */
static void copy_of(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to, CpuCopy *out) {
    int64_t dims[DNNL_MAX_NDIMS], from_steps[DNNL_MAX_NDIMS], to_steps[DNNL_MAX_NDIMS];
    const int64_t *given = to->format_desc.blocking.strides;
    for (int i = 0; i < to->ndims; i++) {
        int at = i;
        for (; at > 0 && to_steps[at - 1] < given[i]; at--) {
            dims[at] = dims[at - 1];
            from_steps[at] = from_steps[at - 1], to_steps[at] = to_steps[at - 1];
        }
        dims[at] = to->dims[i];
        from_steps[at] = from->format_desc.blocking.strides[i], to_steps[at] = given[i];
    }
    cpu_copy_make((uint32_t)to->ndims, dims, from_steps, 0, to_steps, 0, sizeof(float), out);
}

static Error *make_move(
    const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to, DnnlMove *out) {
    dnnl_primitive_desc_t description = NULL;
    dnnl_engine_t engine = cpu_dnnl_engine();
    out->from = *from, out->to = *to;
    if (is_strided(from) && is_strided(to)) {
        copy_of(from, to, &out->copy);
        return NULL;
    }
    cpu_dnnl_use_one_thread();
    TRY(check(dnnl.reorder_primitive_desc_create(&description, from, engine, to, engine, NULL),
        "a reorder"));
    Error *error = check(dnnl.primitive_create(&out->reorder, description), "a reorder");
    (void)dnnl.primitive_desc_destroy(description);
    return error;
}

static uint64_t align(uint64_t bytes) {
    return (bytes + DEVICE_ALIGNMENT - 1) & ~(uint64_t)(DEVICE_ALIGNMENT - 1);
}

/* Adds the operands that oneDNN needs in another form, and their places in the workspace. */
static Error *add_moves(DnnlPlan *plan, const dnnl_memory_desc_t *forms, uint64_t *inout_bytes) {
    for (uint32_t i = 0; i < DNNL_OPERANDS_MAX; i++) {
        const dnnl_memory_desc_t *plain = &plan->plain[i], *wanted = &forms[i];
        if (!plain->ndims || dnnl.memory_desc_equal(plain, wanted)) continue;
        bool is_result = i == DNNL_OPERAND_RESULT;
        TRY(make_move(is_result ? wanted : plain, is_result ? plain : wanted, &plan->operands[i]));
        plan->moves[i] = true;
        plan->offsets[i] = *inout_bytes;
        *inout_bytes += align(dnnl.memory_desc_get_size(wanted));
    }
    if (plan->adds_residual && plan->moves[DNNL_OPERAND_RESULT])
        TRY(make_move(
            &plan->plain[DNNL_OPERAND_RESULT], &forms[DNNL_OPERAND_RESULT], &plan->residual));
    return NULL;
}

static Error *add_kind(DnnlPlan *plan, uint32_t kind, const_dnnl_primitive_desc_t description) {
    static const dnnl_query_t queries[DNNL_OPERANDS_MAX] = {
        dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_weights_md, dnnl_query_dst_md};
    for (uint32_t i = 0; i < DNNL_OPERANDS_MAX; i++)
        if (plan->plain[i].ndims)
            plan->forms[kind][i] = *dnnl.primitive_desc_query_md(
                description, queries[i], i == DNNL_OPERAND_BIAS ? 1 : 0);
    uint64_t scratch = align(dnnl.memory_desc_get_size(
        dnnl.primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0)));
    if (scratch > plan->scratch_bytes) plan->scratch_bytes = scratch;
    cpu_dnnl_use_one_thread();
    return check(dnnl.primitive_create(&plan->primitives[kind], description), "a primitive");
}

static Error *fill(DnnlPlan *plan, const DnnlProblem *problem, Plan *base) {
    for (uint32_t i = 0; i < DNNL_KINDS_MAX && problem->kinds[i]; i++)
        TRY(add_kind(plan, i, problem->kinds[i]));
    TRY(add_moves(plan, problem->wanted, &plan->scratch_offset));
    uint32_t parts = cpu_part_count(
        plan->device, plan->device->threads_max, plan->image_count * plan->band_count, 1);
    base->workspace_bytes = plan->scratch_offset + plan->scratch_bytes * parts;
    return NULL;
}

Error *cpu_dnnl_plan(
    Device *device, const PlanRequest *request, DnnlProblem *owned_problem, Plan **out) {
    OWN(Plan, base) = NULL;
    Error *error = plan_create(device, request, owned_problem->name, sizeof(DnnlPlan), &base);
    if (!error) {
        DnnlPlan *plan = plan_state(base);
        base->destroy = destroy;
        base->launch = launch_plan;
        plan->device = cpu_device(device);
        plan->adds_residual = owned_problem->adds_residual;
        plan->band_count = owned_problem->band_count;
        plan->image_count = owned_problem->image_count;
        memcpy(plan->plain, owned_problem->plain, sizeof plan->plain);
        memcpy(plan->bands, owned_problem->bands, sizeof plan->bands);
        memcpy(plan->image_bytes, owned_problem->image_bytes, sizeof plan->image_bytes);
        error = fill(plan, owned_problem, base);
    }
    cpu_dnnl_problem_deinit(owned_problem);
    if (!error) *out = TAKE(base);
    return error;
}
