/* Executions of layover.h with values of any kind, and their stateful interface. */
#include "tools/library/library_internal.h"
#include "vm/execution/stateful.h"
#include "vm/objects/adt.h"
#include "vm/objects/list.h"

static Error *make_list(const Adt *adt, Value *out) {
    OWN(List, list) = NULL;
    TRY(list_create(NULL, adt->count, &list));
    for (uint32_t i = 0; i < adt->count; i++) TRY(list_append(list, value_copy(adt->fields[i])));
    *out = value_object(OBJECT_LIST, TAKE(list));
    return NULL;
}

/* Makes a list of a tuple where the parameter is a list: programs have no other form of one. */
static Error *fit_list(const Function *function, uint32_t parameter, Value *inout) {
    Value list;
    if (!function->parameters || parameter >= function->parameter_count ||
        !port_is_list(&function->parameters[parameter]) || !value_is(inout, OBJECT_ADT))
        return NULL;
    TRY(make_list(inout->adt, &list));
    value_release(inout);
    *inout = list;
    return NULL;
}

Error *library_values_fit(const Function *function, Value *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) TRY(fit_list(function, i, &values[i]));
    return NULL;
}

static const Function *function_at(const LayoverModel *model, uint32_t index) {
    return &model->residency->executable->functions[index];
}

static Error *start(LayoverModel *model, const char *function, const LayoverValue *arguments,
    uint32_t count, LayoverExecution **out_execution) {
    uint32_t index;
    Value *values;
    OWN(LayoverExecution, execution) = NULL;
    const ExecutionOptions options = library_options(model);
    TRY(library_values_take(model, arguments, count, &values));
    Error *error = executable_find_function(model->residency->executable, function, &index);
    if (!error) error = library_values_fit(function_at(model, index), values, count);
    if (!error) error = library_make_execution(model, &execution);
    if (!error)
        error = execution_create(
            model->residency, &options, index, values, count, &execution->execution);
    library_values_free(values, count);
    if (!error) *out_execution = TAKE(execution);
    return error;
}

LayoverError *layover_execution_start_values(LayoverModel *model, const char *function,
    const LayoverValue *arguments, uint32_t argument_count, LayoverExecution **out_execution) {
    return library_error(start(model, function, arguments, argument_count, out_execution));
}

static Error *create(LayoverModel *model, LayoverExecution **out_execution) {
    OWN(LayoverExecution, execution) = NULL;
    const ExecutionOptions options = library_options(model);
    TRY(library_make_execution(model, &execution));
    TRY(execution_create_empty(model->residency, &options, &execution->execution));
    *out_execution = TAKE(execution);
    return NULL;
}

LayoverError *layover_execution_create(LayoverModel *model, LayoverExecution **out_execution) {
    return library_error(create(model, out_execution));
}

static Error *find(const LayoverExecution *execution, const char *function, uint32_t *out_index) {
    return executable_find_function(execution->model->residency->executable, function, out_index);
}

static Error *set_input(LayoverExecution *execution, const char *function, uint32_t parameter,
    const LayoverValue *value) {
    uint32_t index;
    Value *taken;
    TRY(library_values_take(execution->model, value, 1, &taken));
    Error *error = find(execution, function, &index);
    if (!error) error = fit_list(function_at(execution->model, index), parameter, taken);
    if (!error) error = stateful_set_input(execution->execution, index, parameter, taken);
    library_values_free(taken, 1);
    return error;
}

LayoverError *layover_execution_set_input(LayoverExecution *execution, const char *function,
    uint32_t parameter, const LayoverValue *value) {
    return library_error(set_input(execution, function, parameter, value));
}

static Error *find_input(const LayoverExecution *execution, const char *function, const char *name,
    uint32_t *out_parameter) {
    uint32_t index;
    TRY(find(execution, function, &index));
    return stateful_find_input(execution->model->residency->executable, index, name, out_parameter);
}

LayoverError *layover_execution_find_input(
    LayoverExecution *execution, const char *function, const char *name, uint32_t *out_parameter) {
    return library_error(find_input(execution, function, name, out_parameter));
}

static Error *invoke(LayoverExecution *execution, const char *function) {
    uint32_t index;
    TRY(find(execution, function, &index));
    return stateful_invoke(execution->execution, index);
}

LayoverError *layover_execution_invoke_stateful(LayoverExecution *execution, const char *function) {
    return library_error(invoke(execution, function));
}

static Error *save(LayoverExecution *execution, const char *name, const char *function,
    const LayoverValue *arguments, uint32_t count) {
    uint32_t index;
    Value *values;
    TRY(library_values_take(execution->model, arguments, count, &values));
    Error *error = find(execution, function, &index);
    if (!error) error = library_values_fit(function_at(execution->model, index), values, count);
    if (!error) error = stateful_save_function(execution->execution, name, index, values, count);
    library_values_free(values, count);
    return error;
}

LayoverError *layover_execution_save_function(LayoverExecution *execution, const char *name,
    const char *function, const LayoverValue *arguments, uint32_t argument_count) {
    return library_error(save(execution, name, function, arguments, argument_count));
}

LayoverError *layover_execution_invoke_saved(LayoverExecution *execution, const char *name) {
    return library_error(stateful_invoke_saved(execution->execution, name));
}

static Error *get_output(const LayoverExecution *execution, const uint32_t *path, uint32_t count,
    LayoverValue *out_value) {
    Value value;
    TRY(stateful_get_output(execution->execution, path, count, &value));
    Error *error = library_value_give(execution->model, &value, LIBRARY_COPY, out_value);
    value_release(&value);
    return error;
}

LayoverError *layover_execution_get_output(LayoverExecution *execution, const uint32_t *path,
    uint32_t path_count, LayoverValue *out_value) {
    return library_error(get_output(execution, path, path_count, out_value));
}
