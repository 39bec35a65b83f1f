#include "compiler/frontend/onnx_import.h"

#include <string.h>

#include "compiler/frontend/base/onnx_internal.h"
#include "compiler/frontend/base/onnx_sparse.h"
#include "compiler/frontend/base/onnx_wire.h"
#include "compiler/frontend/nodes/onnx_maps.h"
#include "compiler/frontend/onnx_given.h"
#include "kernels/device/device.h"

Error *onnx_import_opset(Onnx__OperatorSetIdProto *const *imports, size_t count, int64_t *out) {
    int64_t version = 0;
    for (size_t i = 0; i < count; i++) {
        if (!onnx_is_default_domain(imports[i]->domain)) continue;
        version = imports[i]->version;
        if (version < ONNX_OPSET_MIN || version > ONNX_OPSET_MAX)
            FAIL(UNSUPPORTED, "ONNX opset %lld; %d to %d are read", (long long)version,
                ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    }
    *out = version;
    return NULL;
}

static Error *model_opset(const Onnx__ModelProto *model, int64_t *out) {
    if (model->n_opset_import == 0) FAIL(CORRUPT, "not an ONNX model: it imports no operator set");
    TRY(onnx_import_opset(model->opset_import, model->n_opset_import, out));
    /* the model lists other domains only: local functions have their own versions */
    if (*out == 0) *out = ONNX_OPSET_MAX;
    return NULL;
}

static bool finds_nan_keys(const Onnx__ModelProto *model) {
    for (size_t i = 0; i < model->n_opset_import; i++)
        if (model->opset_import[i]->domain &&
            strcmp(model->opset_import[i]->domain, "ai.onnx.ml") == 0)
            return model->opset_import[i]->version >= 4;
    return false;
}

static Error *check_ir_version(const Onnx__ModelProto *model) {
    if (!model->has_ir_version) FAIL(CORRUPT, "not an ONNX model: it has no IR version");
    if (model->ir_version < ONNX_IR_MIN || model->ir_version > ONNX_IR_MAX)
        FAIL(UNSUPPORTED, "ONNX IR version %lld; %d to %d are read", (long long)model->ir_version,
            ONNX_IR_MIN, ONNX_IR_MAX);
    return NULL;
}

static bool is_initializer(const NameMap *initializers, const char *name) {
    return name_map_find(initializers, name) != NULL;
}

/* The graph inputs without an initializer are the function's parameters, and those that may be
 * given. */
static Error *add_parameters(OnnxImport *import, const Onnx__GraphProto *graph,
    IrFunction *function, OnnxScope *scope, const NameMap *initializers) {
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name ? graph->input[i]->name : "";
        if (name[0] == '\0') continue; /* nothing reads it, and no caller can give it */
        if (onnx_given_is_wanted(import, scope, name)) {
            TRY_WRAP(
                onnx_given_add(import, scope, graph->input[i], name_map_find(import->given, name)),
                "input %s", name);
            continue;
        }
        if (is_initializer(initializers, name)) continue;
        IrType type;
        IrVariable *parameter;
        if (onnx_type_is_map(graph->input[i]->type)) {
            TRY_WRAP(
                onnx_map_add_parameters(function, graph->input[i], &parameter), "input %s", name);
            TRY(onnx_scope_set(scope, name, parameter));
            continue;
        }
        TRY_WRAP(onnx_graph_type(function->module, graph->input[i], &type), "input %s", name);
        TRY(ir_function_add_parameter(function, name, &type, &parameter));
        TRY(onnx_scope_set(scope, name, parameter));
    }
    return NULL;
}

/* The results of the function so far. */
typedef struct Results {
    IrVariable **variables;
    const char **names;
    IrType *types;
    uint32_t count;
    NameMap *taken;
} Results;

static Error *add_result(
    Results *results, const char *name, IrVariable *variable, const IrType *type) {
    if (name_map_find(results->taken, name))
        FAIL(INVALID, "two outputs of the graph are named %s; results are told by name", name);
    TRY(name_map_set(results->taken, name, variable));
    results->names[results->count] = name;
    results->types[results->count] = *type;
    results->variables[results->count++] = variable;
    return NULL;
}

/* A map is two results. */
static Error *add_map(IrFunction *function, const Onnx__ValueInfoProto *info, const char *name,
    IrVariable *map, Results *results) {
    const char *keys_name, *values_name;
    IrVariable *keys, *values;
    IrType types[2] = {ir_type_tensor(DTYPE_NONE), ir_type_tensor(DTYPE_NONE)};
    TRY(onnx_map_open(ir_at_end(function->body), map, &keys, &values));
    if (onnx_type_is_map(info->type)) TRY(onnx_map_types(info->type, types));
    TRY(onnx_map_port(function->module, name, "keys", &keys_name));
    TRY(onnx_map_port(function->module, name, "values", &values_name));
    TRY(add_result(results, keys_name, keys, &types[0]));
    return add_result(results, values_name, values, &types[1]);
}

static Error *add_output(IrFunction *function, const Onnx__ValueInfoProto *info,
    IrVariable *variable, Results *results) {
    const char *name = info->name ? info->name : "";
    IrType type;
    if (onnx_type_is_map(info->type) || variable->type.kind == IR_TYPE_DATA)
        return add_map(function, info, name, variable, results);
    TRY(onnx_graph_type(function->module, info, &type));
    return add_result(results, name, variable, &type);
}

static Error *set_results(
    const Onnx__GraphProto *graph, IrFunction *function, IrVariable *const *outputs) {
    OWN(NameMap, taken) = NULL;
    Arena *arena = &function->module->arena;
    const size_t room = 2 * graph->n_output;
    void *variables, *names, *types;
    TRY(name_map_create(&taken));
    TRY(arena_alloc(arena, room, sizeof(IrVariable *), &variables));
    TRY(arena_alloc(arena, room, sizeof(char *), &names));
    TRY(arena_alloc(arena, room, sizeof(IrType), &types));
    Results results = {variables, names, types, 0, taken};
    for (size_t i = 0; i < graph->n_output; i++)
        TRY_WRAP(add_output(function, graph->output[i], outputs[i], &results), "output %s",
            graph->output[i]->name ? graph->output[i]->name : "");
    if (results.count > IR_OPERANDS_MAX) FAIL(UNSUPPORTED, "%u outputs", results.count);
    return ir_function_set_results(
        function, results.count, results.variables, results.names, results.types);
}

static Error *import_main(
    OnnxImport *import, const Onnx__GraphProto *graph, OnnxScope *scope, IrFunction *function) {
    OWN(NameMap, initializers) = NULL;
    TRY(name_map_create(&initializers));
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (graph->initializer[i]->name)
            TRY(name_map_set(initializers, graph->initializer[i]->name, graph->initializer[i]));
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        TRY(name_map_set(initializers, onnx_sparse_name(graph->sparse_initializer[i]),
            graph->sparse_initializer[i]));
    TRY(add_parameters(import, graph, function, scope, initializers));
    IrVariable **results;
    TRY(onnx_graph_body(import, scope, graph, &results));
    return set_results(graph, function, results);
}

/* Makes a function of the main graph. */
static Error *import_function(OnnxImport *import, const Onnx__ModelProto *model, const char *name) {
    int64_t opset;
    IrFunction *function;
    OnnxScope scope;
    TRY(model_opset(model, &opset));
    TRY(ir_function_create(import->module, name, true, NULL, &function));
    TRY(onnx_scope_init(&scope, NULL, function->body));
    scope.opset = opset;
    Error *error = import_main(import, model->graph, &scope, function);
    onnx_scope_deinit(&scope);
    return error;
}

static Error *import_given(OnnxImport *import, const Onnx__ModelProto *model, bool *inout_given) {
    OWN(NameMap, initializers) = NULL;
    OWN(NameMap, given) = NULL;
    size_t count = 0;
    TRY(name_map_create(&initializers));
    TRY(name_map_create(&given));
    if (*inout_given) TRY(onnx_given_find(model, initializers, given, &count));
    *inout_given = count > 0;
    if (count == 0) return NULL;
    import->given = given;
    import->node_count = 0;
    Error *error = import_function(import, model, GIVEN_NAME);
    import->given = NULL;
    return error;
}

static Error *import_graph(OnnxImport *import, const Onnx__ModelProto *model, bool *inout_given) {
    if (!model->graph) FAIL(CORRUPT, "not an ONNX model: it has no graph");
    if (model->graph->n_output == 0) FAIL(INVALID, "the graph has no output");
    TRY(check_ir_version(model));
    TRY(onnx_dimensions_check(import->module, model->graph));
    TRY(onnx_dimensions_share(
        import->module, model->graph, import->dimension_names, &import->shared));
    TRY(onnx_given_check(import->module, model->graph));
    TRY(import_function(import, model, "main"));
    return import_given(import, model, inout_given);
}

static Error *import_model(OnnxImport *import, const Onnx__ModelProto *model, bool *inout_given) {
    OnnxLocalFunctions functions = {0};
    Error *error = onnx_functions_read(model, import->functions, &functions);
    if (!error) error = import_graph(import, model, inout_given);
    onnx_functions_deinit(&functions);
    return error;
}

Error *onnx_import(const uint8_t *data, size_t size, const OnnxFolder *folder, IrModule **out) {
    bool shared, given = false;
    return onnx_import_names(data, size, folder, ONNX_NAMES_BIND, &given, &shared, out);
}

Error *onnx_import_names(const uint8_t *data, size_t size, const OnnxFolder *folder,
    OnnxNames names, bool *inout_given, bool *out_shared, IrModule **out) {
    OWN(Onnx__ModelProto, model) = NULL;
    OWN(IrModule, module) = NULL;
    OWN(NameMap, functions) = NULL;
    OWN(NameMap, constants) = NULL;
    TRY(onnx_wire_unpack(data, size, &model));
    TRY(ir_module_create(&module));
    TRY(name_map_create(&functions));
    TRY(name_map_create(&constants));
    OnnxImport import = {.module = module,
        .device = device_host(),
        .folder = folder,
        .functions = functions,
        .constants = constants,
        .dimension_names = names,
        .nan_keys = finds_nan_keys(model),
        .sparse_left = ONNX_SPARSE_BYTES_MAX};
    TRY(import_model(&import, model, inout_given));
    *out_shared = import.shared;
    *out = TAKE(module);
    return NULL;
}
