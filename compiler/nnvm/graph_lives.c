#include "base/allocator.h"
#include "compiler/nnvm/graph_plan.h"

/* What a storage of the graph holds while its nodes run. */
typedef struct Holder {
    uint32_t content; /* a result; GRAPH_NONE: nothing was written yet */
    uint32_t life;    /* GRAPH_NONE: of a variable */
} Holder;

typedef struct Search {
    GraphPlan *plan;
    Holder *holders;  /* by storage */
    uint32_t *needed; /* by content: the last node that reads it; 0: nobody */
} Search;

static const char *name_of(const Search *self, uint32_t node) {
    return self->plan->graph->nodes[node].name;
}

/* ---- contents ---- */

/* The input of a __nop that a result shows. */
static Error *find_shown(const GraphPlan *plan, uint32_t node, uint32_t index, uint32_t *out) {
    const NnvmNode *source = &plan->graph->nodes[node];
    const GraphResult *result = &plan->results[plan->nodes[node].first_result + index];
    for (uint32_t i = 0; i < source->input_count; i++) {
        *out = graph_plan_result(plan, source->inputs[i]);
        const GraphResult *input = &plan->results[*out];
        if (input->storage != result->storage) continue;
        if (input->dtype == result->dtype && input->bytes == result->bytes) return NULL;
        FAIL(UNSUPPORTED, "result %u is %llu bytes of %s, and input %u is %llu bytes of %s", index,
            (unsigned long long)result->bytes, dtype_name(result->dtype), i,
            (unsigned long long)input->bytes, dtype_name(input->dtype));
    }
    FAIL(INVALID, "result %u is in storage %u, where no input is: nothing writes it", index,
        result->storage);
}

static Error *check_copy(GraphPlan *plan, uint32_t node) {
    const GraphResult *to = &plan->results[plan->nodes[node].first_result];
    const GraphResult *from =
        &plan->results[graph_plan_result(plan, plan->graph->nodes[node].inputs[0])];
    if (from->dtype != to->dtype || from->bytes != to->bytes)
        FAIL(INVALID, "copies %llu bytes of %s to %llu bytes of %s",
            (unsigned long long)from->bytes, dtype_name(from->dtype), (unsigned long long)to->bytes,
            dtype_name(to->dtype));
    if (from->storage == to->storage) plan->nodes[node].kind = GRAPH_NOP;
    return NULL;
}

static Error *set_contents(GraphPlan *plan, uint32_t node) {
    GraphNode *made = &plan->nodes[node];
    if (made->kind == GRAPH_COPY) TRY(check_copy(plan, node));
    for (uint32_t i = 0; i < made->result_count; i++) {
        const uint32_t index = made->first_result + i;
        GraphResult *result = &plan->results[index];
        uint32_t shown = index;
        if (made->kind == GRAPH_NOP) TRY(find_shown(plan, node, i, &shown));
        result->content = shown == index ? index : plan->results[shown].content;
        result->life = GRAPH_NONE;
    }
    return NULL;
}

static void note_read(Search *self, uint32_t result, uint32_t reader) {
    GraphResult *read = &self->plan->results[result];
    read->last_read = reader;
    self->needed[read->content] = reader;
}

/* Nodes read in their order, and heads behind them, so the last note stays. */
static Error *find_contents(Search *self) {
    const NnvmGraph *graph = self->plan->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        TRY(graph_plan_wrap(self->plan, i, set_contents(self->plan, i)));
        for (uint32_t k = 0; k < graph->nodes[i].input_count; k++)
            note_read(self, graph_plan_result(self->plan, graph->nodes[i].inputs[k]), i);
    }
    for (uint32_t i = 0; i < graph->head_count; i++)
        note_read(self, graph_plan_result(self->plan, graph->heads[i]), graph->node_count);
    return NULL;
}

/* ---- lives ---- */

/* Variables are set before the first node runs. */
static Error *hold_variable(Search *self, uint32_t node) {
    const uint32_t index = self->plan->nodes[node].first_result;
    Holder *holder = &self->holders[self->plan->results[index].storage];
    if (holder->content != GRAPH_NONE) {
        const uint32_t other = self->plan->results[holder->content].node;
        FAIL(INVALID, "storage %u, which node %u (%s) has, too: one value for two variables",
            self->plan->results[index].storage, other, name_of(self, other));
    }
    *holder = (Holder){index, GRAPH_NONE};
    return NULL;
}

static Error *check_read(const Search *self, uint32_t index) {
    const GraphResult *read = &self->plan->results[index];
    const Holder *holder = &self->holders[read->storage];
    if (holder->content == read->content) return NULL;
    const uint32_t by = self->plan->results[holder->content].node;
    FAIL(INVALID,
        "result %u of node %u (%s) is read from storage %u, which node %u (%s) has overwritten",
        index - self->plan->nodes[read->node].first_result, read->node, name_of(self, read->node),
        read->storage, by, name_of(self, by));
}

static void begin_life(Search *self, Holder *holder, uint32_t node) {
    GraphPlan *plan = self->plan;
    holder->life = plan->life_count++;
    plan->lives[holder->life] = (GraphLife){.first = node};
}

/* A storage whose bytes this node still reads goes on: the function works in place. */
static Error *write_result(Search *self, uint32_t node, uint32_t index) {
    GraphPlan *plan = self->plan;
    GraphResult *result = &plan->results[index];
    Holder *holder = &self->holders[result->storage];
    const uint32_t before = holder->content;
    const uint32_t owner = before == GRAPH_NONE ? 0 : plan->results[before].node;
    if (before != GRAPH_NONE && holder->life == GRAPH_NONE)
        FAIL(INVALID, "it is written to storage %u, which holds the variable of node %u (%s)",
            result->storage, owner, name_of(self, owner));
    if (before != GRAPH_NONE && owner == node)
        FAIL(INVALID, "it is written to storage %u, as result %u of the same node is",
            result->storage, before - plan->nodes[node].first_result);
    if (before == GRAPH_NONE || self->needed[before] < node) begin_life(self, holder, node);
    holder->content = index;
    GraphLife *life = &plan->lives[holder->life];
    life->last = node;
    if (life->bytes < result->bytes) life->bytes = result->bytes;
    result->life = holder->life;
    return NULL;
}

static Error *run_node(Search *self, uint32_t node) {
    const NnvmNode *source = &self->plan->graph->nodes[node];
    const GraphNode *made = &self->plan->nodes[node];
    for (uint32_t i = 0; i < source->input_count; i++)
        TRY_WRAP(check_read(self, graph_plan_result(self->plan, source->inputs[i])), "input %u", i);
    for (uint32_t i = 0; i < made->result_count && made->kind != GRAPH_NOP; i++)
        TRY_WRAP(write_result(self, node, made->first_result + i), "result %u", i);
    return NULL;
}

static Error *find_lives(Search *self) {
    GraphPlan *plan = self->plan;
    const NnvmGraph *graph = plan->graph;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (plan->nodes[i].kind == GRAPH_VARIABLE)
            TRY(graph_plan_wrap(plan, i, hold_variable(self, i)));
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (plan->nodes[i].kind != GRAPH_VARIABLE) TRY(graph_plan_wrap(plan, i, run_node(self, i)));
    for (uint32_t i = 0; i < graph->head_count; i++)
        TRY_WRAP(check_read(self, graph_plan_result(plan, graph->heads[i])), "head %u", i);
    return NULL;
}

static Error *make_holders(Search *self) {
    void *memory;
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->plan->result_count; i++)
        if (count <= self->plan->results[i].storage) count = self->plan->results[i].storage + 1;
    TRY(memory_alloc(count, sizeof *self->holders, &memory));
    self->holders = memory;
    for (uint32_t i = 0; i < count; i++) self->holders[i] = (Holder){GRAPH_NONE, GRAPH_NONE};
    return NULL;
}

static Error *search(Search *self) {
    void *memory;
    TRY(memory_alloc(self->plan->result_count, sizeof *self->plan->lives, &memory));
    self->plan->lives = memory;
    TRY(make_holders(self));
    TRY(memory_alloc(self->plan->result_count, sizeof *self->needed, &memory));
    self->needed = memory;
    TRY(find_contents(self));
    return find_lives(self);
}

Error *graph_lives_find(GraphPlan *plan) {
    Search self = {.plan = plan};
    Error *error = search(&self);
    memory_free(self.holders);
    memory_free(self.needed);
    return error;
}
