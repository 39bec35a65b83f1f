#include <string.h>

#include "kernels/operator/attributes.h"
#include "kernels/scalar/scalar_half.h"
#include "kernels/shape_rules/operator_infer.h"
#include "vm/execution/execution_state.h"
#include "vm/relax/relax_paged.h"

enum { FIRST_PAGES = 7 /* the kernel's first input with pages */ };

void paged_load(DType dtype, const void *from, int64_t count, float *to) {
    const uint16_t *halves = from;
    if (dtype == DTYPE_FLOAT32)
        memcpy(to, from, (size_t)count * sizeof *to);
    else if (dtype == DTYPE_FLOAT16)
        for (int64_t i = 0; i < count; i++) to[i] = scalar_widen_float16(halves[i]);
    else
        for (int64_t i = 0; i < count; i++) to[i] = scalar_widen_bfloat16(halves[i]);
}

void paged_store(DType dtype, const float *from, int64_t count, void *to) {
    uint16_t *halves = to;
    if (dtype == DTYPE_FLOAT32)
        memcpy(to, from, (size_t)count * sizeof *from);
    else if (dtype == DTYPE_FLOAT16)
        for (int64_t i = 0; i < count; i++) halves[i] = scalar_narrow_float16(from[i]);
    else
        for (int64_t i = 0; i < count; i++) halves[i] = scalar_narrow_bfloat16(from[i]);
}

/* The sequence of a turn is as the round left it. */
static Error *check_turn(const Paged *paged, const PagedTurn *turn) {
    const PagedSequence *sequence = &paged->sequences[turn->place];
    if (!sequence->used || (!turn->context && sequence->length != turn->before + turn->appended) ||
        sequence->tree_count > turn->before + turn->appended ||
        (sequence->tree_count > 0 && sequence->tree_count < turn->appended))
        FAIL(CONFLICT, "a sequence of the round has changed since it began");
    return NULL;
}

/* The tensors of one launch. */
typedef struct Inputs {
    const Tensor *tensors[PLAN_INPUTS_MAX]; /* NULL: absent */
    uint32_t count;
} Inputs;

/* The segments of a layer as the kernel's last inputs. Those that no key is in are not read:
 * another one stands for them. */
static Error *add_segments(
    PackedCall *call, Paged *paged, int64_t layer, Inputs *inputs, bool *out_open) {
    const Tensor *some = NULL;
    Value *segments = paged->segments + layer * paged->segment_count;
    *out_open = true;
    for (uint32_t i = 0; i < paged->segment_count && *out_open; i++) {
        const int32_t row = (int32_t)(i * paged->segment_pages * paged->config.page_size);
        if (!paged->tables.used[i]) continue;
        if (!value_is(&segments[i], OBJECT_TENSOR)) /* its keys are 0 */
            TRY(paged_open_rows(call, paged, layer, &row, 1, out_open));
        if (*out_open) some = segments[i].tensor;
    }
    for (uint32_t i = 0; i < paged->segment_count && some; i++)
        inputs->tensors[inputs->count++] = paged->tables.used[i] ? segments[i].tensor : some;
    return NULL;
}

/* Everything the kernel reads. *out_ready false: memory is needed. */
static Error *gather_inputs(
    PackedCall *call, Paged *paged, const PagedQuery *query, Inputs *inputs, bool *out_ready) {
    const uint8_t kind = paged->kinds[query->layer];
    const bool inlined = paged->config.rope == PAGED_ROPE_INLINE && kind != PAGED_MLA;
    const PagedTables wanted = {.context = query->context,
        .own = query->keys != NULL,
        .from_rows = query->from_rows,
        .sliding = kind == PAGED_MHA_SLIDING};
    TRY(paged_make_tables(call, paged, &wanted, out_ready));
    if (!*out_ready) return NULL;
    if (inlined)
        TRY(paged_make_angles(
            call, paged, wanted.sliding, query->key_size, paged->tables.positions, out_ready));
    if (!*out_ready) return NULL;
    *inputs = (Inputs){
        .tensors = {query->queries, paged->tables.rows, paged->tables.bounds, query->keys,
            query->values, inlined ? paged->angles[wanted.sliding] : NULL, paged->tables.tree},
        .count = FIRST_PAGES};
    return add_segments(call, paged, query->layer, inputs, out_ready);
}

static PagedPlan key_of(const Paged *paged, const PagedQuery *query, const Inputs *inputs) {
    return (PagedPlan){.scale = query->scale,
        .value_size = query->value_size,
        .rows = inputs->tensors[1]->shape.dims[0],
        .queries = query->queries->shape.dims[0],
        .heads = query->heads,
        .kv_heads = query->kv_heads,
        .key_size = query->key_size,
        .angles = inputs->tensors[5] ? inputs->tensors[5]->shape.dims[0] : 0,
        .segments = inputs->count - FIRST_PAGES,
        .own = query->keys != NULL,
        .tree = inputs->tensors[6] ? inputs->tensors[6]->shape.dims[1] : 0,
        .lse = query->lse != NULL,
        .kind = paged->kinds[query->layer]};
}

static bool same_key(const PagedPlan *a, const PagedPlan *b) {
    return a->scale == b->scale && a->value_size == b->value_size && a->rows == b->rows &&
           a->queries == b->queries && a->heads == b->heads && a->kv_heads == b->kv_heads &&
           a->key_size == b->key_size && a->angles == b->angles && a->segments == b->segments &&
           a->own == b->own && a->tree == b->tree && a->lse == b->lse && a->kind == b->kind;
}

static Error *make_plan(Device *device, const PagedQuery *query, const Inputs *inputs, Plan **out) {
    OWN(Attributes, attributes) = NULL;
    TensorSpec specs[PLAN_INPUTS_MAX];
    const void *values[PLAN_INPUTS_MAX] = {0};
    TRY(attributes_create(&attributes));
    TRY(attributes_set_float(attributes, "scale", query->scale));
    TRY(attributes_set_int(attributes, "value_size", query->value_size));
    for (uint32_t i = 0; i < inputs->count; i++)
        specs[i] = inputs->tensors[i] ? tensor_spec(inputs->tensors[i]) : (TensorSpec){0};
    PlanRequest request = {.operator_info = operator_get(OPERATOR_PAGED_ATTENTION),
        .attributes = attributes,
        .input_count = inputs->count,
        .output_count = query->lse ? 2 : 1,
        .inputs = specs,
        .values = values};
    TRY(operator_infer(&request));
    if (!device->class_->plan) FAIL(UNSUPPORTED, "%s has no kernels", device->name);
    return device->class_->plan(device, &request, out);
}

/* Borrowed from the cache. */
static Error *find_plan(
    Device *device, Paged *paged, const PagedQuery *query, const Inputs *inputs, const Plan **out) {
    PagedPlan key = key_of(paged, query, inputs);
    for (uint32_t i = 0; i < PAGED_PLANS_MAX; i++) {
        const PagedPlan *known = &paged->plans[i];
        if (!known->plan || known->plan->device != device || !same_key(known, &key)) continue;
        *out = known->plan;
        return NULL;
    }
    TRY(make_plan(device, query, inputs, &key.plan));
    PagedPlan *place = &paged->plans[paged->next_plan++ % PAGED_PLANS_MAX];
    plan_release(place->plan);
    *place = key;
    *out = key.plan;
    return NULL;
}

void paged_forget_plans(Paged *paged) {
    for (uint32_t i = 0; i < PAGED_PLANS_MAX; i++) plan_release(paged->plans[i].plan);
    memset(paged->plans, 0, sizeof paged->plans);
}

static Error *launch(PackedCall *call, MemoryPool *pool, const Plan *plan, const Inputs *inputs,
    const PagedQuery *query, uint64_t workspace) {
    uint64_t input_addresses[PLAN_INPUTS_MAX];
    const uint64_t output_addresses[2] = {
        tensor_address(query->out), query->lse ? tensor_address(query->lse) : 0};
    const Shape shapes[2] = {plan->outputs[0].shape, query->lse ? query->lse->shape : (Shape){0}};
    for (uint32_t i = 0; i < inputs->count; i++)
        input_addresses[i] = inputs->tensors[i] ? tensor_address(inputs->tensors[i]) : 0;
    const Launch one = {.inputs = input_addresses,
        .outputs = output_addresses,
        .stream = memory_pool_get_stream(pool),
        .workspace = workspace,
        .threads = call->execution ? call->execution->options.threads : 1};
    TRY(plan->launch(plan, &one, shapes));
    return device_stream_synchronize(plan->device, one.stream);
}

Error *paged_attend(PackedCall *call, Paged *paged, const PagedQuery *query, bool *out_done) {
    for (uint32_t i = 0; i < paged->turn_count; i++) TRY(check_turn(paged, &paged->turns[i]));
    MemoryPool *pool = call->pools[paged->config.slot];
    const Plan *plan;
    Inputs inputs;
    TRY(gather_inputs(call, paged, query, &inputs, out_done));
    if (!*out_done) return NULL;
    TRY(find_plan(memory_pool_get_device(pool), paged, query, &inputs, &plan));
    uint64_t workspace = 0;
    if (plan->workspace_bytes > 0) {
        MemoryAnswer answer;
        TRY(memory_pool_alloc(pool, plan->workspace_bytes, &answer, &workspace));
        if (answer.kind != MEMORY_GRANTED) {
            call->memory = answer;
            call->memory_slot = paged->config.slot;
            *out_done = false;
            return NULL;
        }
    }
    Error *error = launch(call, pool, plan, &inputs, query, workspace);
    if (workspace) memory_pool_free(pool, workspace, plan->workspace_bytes);
    query->out->written = true;
    if (query->lse) query->lse->written = true;
    return error;
}
