#include "compiler/nnvm/graph_translate.h"

#include <string.h>

#include "base/allocator.h"
#include "base/name_map.h"
#include "compiler/nnvm/graph_emit.h"
#include "compiler/nnvm/nnvm_params.h"
#include "kernels/device/device.h"
#include "vm/code/liveness.h"

typedef struct Translation {
    GraphPlan *plan;
    NnvmParams *params;
    const GraphFiles *files;
    GraphEmit *emit;
    uint32_t main;
} Translation;

/* ---- ports ---- */

static Port make_port(const GraphResult *result, char *name) {
    return (Port){.name = name,
        .form = PORT_TENSOR,
        .dtype = result->dtype,
        .rank_known = true,
        .shape = result->shape};
}

/* A name that no earlier port has. */
static Error *name_port(NameMap *taken, const char *wanted, char **out) {
    TextBuilder OWN_TEXT(name) = {0};
    text_append(&name, wanted);
    while (!name.failed && name_map_find(taken, text_builder_get(&name))) text_append(&name, "_");
    TRY(text_builder_check(&name));
    TRY(name_map_set(taken, text_builder_get(&name), taken));
    return text_builder_take(&name, out);
}

static void release_ports(Port *ports, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) memory_free(ports[i].name);
    memory_free(ports);
}

static Error *fill_results(const Translation *self, Port *ports) {
    OWN(NameMap, taken) = NULL;
    const NnvmGraph *graph = self->plan->graph;
    TRY(name_map_create(&taken));
    for (uint32_t i = 0; i < graph->head_count; i++) {
        const GraphResult *result =
            &self->plan->results[graph_plan_result(self->plan, graph->heads[i])];
        ports[i] = make_port(result, NULL);
        TRY(name_port(taken, graph->nodes[result->node].name, &ports[i].name));
    }
    return NULL;
}

static Error *set_results(const Translation *self) {
    void *memory;
    const uint32_t count = self->plan->graph->head_count;
    TRY(memory_alloc(count, sizeof(Port), &memory));
    Error *error = fill_results(self, memory);
    if (!error)
        error = executable_builder_set_results(self->emit->builder, self->main, memory, count);
    release_ports(memory, count);
    return error;
}

/* ---- variables ---- */

static const GraphResult *result_of(const Translation *self, uint32_t node) {
    return &self->plan->results[self->plan->nodes[node].first_result];
}

static Error *check_param(const GraphResult *wanted, const Tensor *tensor) {
    TextBuilder OWN_TEXT(text) = {0};
    if (wanted->dtype == tensor->dtype && shape_equal(&wanted->shape, &tensor->shape)) return NULL;
    text_append(&text, dtype_name(tensor->dtype));
    shape_print(&tensor->shape, &text);
    text_appendf(&text, " in the params and %s", dtype_name(wanted->dtype));
    shape_print(&wanted->shape, &text);
    FAIL(INVALID, "%s in the graph", text_builder_get(&text));
}

static Error *add_param(Translation *self, uint32_t node, NnvmParam *param) {
    uint32_t constant;
    param->used = true;
    TRY(check_param(result_of(self, node), param->tensor));
    const Value value = value_object(OBJECT_TENSOR, tensor_retain(param->tensor));
    TRY(executable_builder_add_constant(self->emit->builder, value, 0, &constant));
    graph_emit_place(
        self->emit, self->plan->nodes[node].first_result, operand_make(OPERAND_CONSTANT, constant));
    return NULL;
}

static Error *check_names(const Translation *self) {
    OWN(NameMap, taken) = NULL;
    const GraphPlan *plan = self->plan;
    TRY(name_map_create(&taken));
    for (uint32_t i = 0; i < plan->argument_count; i++) {
        const char *name = plan->graph->nodes[plan->arguments[i]].name;
        if (name_map_find(taken, name))
            FAIL(INVALID, "arg_nodes, item %u: two variables are called %s", i, name);
        TRY(name_map_set(taken, name, taken));
    }
    for (uint64_t i = 0; i < self->params->count; i++)
        if (!name_map_find(taken, self->params->items[i].name))
            FAIL(INVALID, "the params have %s, which is no variable of the graph",
                self->params->items[i].name);
    return NULL;
}

/* Makes constants of the params, and ports of the other variables. */
static Error *place_variables(Translation *self, Port *ports, uint32_t *out_count) {
    const GraphPlan *plan = self->plan;
    for (uint32_t i = 0; i < plan->argument_count; i++) {
        const uint32_t node = plan->arguments[i];
        const char *name = plan->graph->nodes[node].name;
        NnvmParam *param = nnvm_params_find(self->params, name);
        if (param) {
            TRY(graph_plan_wrap(plan, node, add_param(self, node, param)));
            continue;
        }
        const uint32_t place = (*out_count)++;
        ports[place] = make_port(result_of(self, node), NULL);
        TRY(memory_copy_text(name, &ports[place].name));
        graph_emit_place(
            self->emit, plan->nodes[node].first_result, operand_make(OPERAND_REGISTER, place));
    }
    return NULL;
}

static Error *add_main(Translation *self, const Port *ports, uint32_t count) {
    TRY(executable_builder_add_function(
        self->emit->builder, "main", FUNCTION_BYTECODE, FUNCTION_EXPORTED, count, &self->main));
    if (count)
        TRY(executable_builder_set_parameters(self->emit->builder, self->main, ports, count));
    self->emit->register_count = count;
    return set_results(self);
}

static Error *add_variables(Translation *self) {
    void *memory;
    uint32_t count = 0;
    TRY(check_names(self));
    TRY(memory_alloc(self->plan->argument_count + 1, sizeof(Port), &memory));
    Error *error = place_variables(self, memory, &count);
    if (!error) error = add_main(self, memory, count);
    release_ports(memory, count);
    return error;
}

/* ---- the library ---- */

static Error *add_library(const Translation *self) {
    OWN(Tensor, tensor) = NULL;
    uint32_t index;
    const int64_t size = (int64_t)self->files->library_size;
    const Shape shape = shape_make(1, &size);
    if (size < 4 || memcmp(self->files->library,
                        "\x7f"
                        "ELF",
                        4) != 0)
        FAIL(CORRUPT, "no shared library: its %lld bytes do not begin like an ELF file",
            (long long)size);
    TRY(tensor_create_on_host(device_host(), DTYPE_UINT8, &shape, &tensor));
    uint8_t *bytes = tensor_data(tensor);
    memcpy(bytes, self->files->library, (size_t)size);
    memset(bytes + self->files->hole_begin, 0, self->files->hole_size);
    TRY(executable_builder_add_constant(
        self->emit->builder, value_object(OBJECT_TENSOR, TAKE(tensor)), 0, &index));
    return executable_builder_set_native_library(self->emit->builder, index, NULL);
}

/* ---- all ---- */

static Error *finish(const Translation *self, Executable **out) {
    OWN(Executable, executable) = NULL;
    TRY(executable_builder_finish(self->emit->builder, &executable));
    const Function *main = &executable->functions[self->main];
    /* the executable is still ours alone */
    uint64_t *words = (uint64_t *)(uintptr_t)executable->code + main->first_word;
    TRY(liveness_mark_last_uses(executable, self->main, words));
    *out = TAKE(executable);
    return NULL;
}

static Error *translate(Translation *self, Executable **out) {
    TRY(add_variables(self));
    TRY(graph_emit_functions(self->emit));
    TRY_WRAP(add_library(self), "the library");
    TRY(graph_emit_main(self->emit, self->main));
    return finish(self, out);
}

Error *graph_translate(const NnvmGraph *graph, const GraphFiles *files, Executable **out) {
    OWN(GraphPlan, plan) = NULL;
    OWN(NnvmParams, params) = NULL;
    OWN(GraphEmit, emit) = NULL;
    TRY(graph_plan_read(graph, &plan));
    TRY(graph_lives_find(plan));
    TRY((files->inner_params ? nnvm_params_read_inner : nnvm_params_read)(
        files->params, files->params_size, &params));
    TRY(graph_emit_create(plan, &emit));
    Translation self = {.plan = plan, .params = params, .files = files, .emit = emit};
    return translate(&self, out);
}
