/* Functions of layover.h: handles, calls from the host, calls from bytecode. */
#include <string.h>

#include "base/allocator.h"
#include "tools/library/library_internal.h"
#include "vm/objects/closure.h"
#include "vm/objects/object.h"

/* Host functions that run on this thread. */
static _Thread_local uint32_t host_depth;

Error *library_check_outside_host(void) {
    if (host_depth)
        FAIL(CONFLICT, "a host function must not run a model; return what is to be called instead");
    return NULL;
}

void library_enter_host(void) { host_depth++; }

void library_leave_host(void) { host_depth--; }

static Error *make_function(const char *name, LayoverFunction **out) {
    void *memory;
    const size_t size = strlen(name) + 1;
    TRY(memory_alloc(1, sizeof(LayoverFunction) + size, &memory));
    LayoverFunction *function = memory;
    refcount_init(&function->refcount);
    memcpy(function->name, name, size);
    *out = function;
    return NULL;
}

Error *library_function_create(const char *name, int32_t arity, LayoverPackedFunction *function,
    void *context, void (*release)(void *context), LayoverFunction **out) {
    if (!name || !*name || !function) FAIL(INVALID, "a host function without a name or a function");
    if (strlen(name) > FUNCTION_NAME_MAX)
        FAIL(INVALID, "a host function's name of %zu bytes; at most %d", strlen(name),
            FUNCTION_NAME_MAX);
    if (arity < -1) FAIL(INVALID, "host function %s has arity %d; -1 is any", name, arity);
    LayoverFunction *made;
    TRY(make_function(name, &made));
    made->host = function;
    made->context = context;
    made->release = release;
    made->arity = arity;
    *out = made;
    return NULL;
}

Error *library_function_of_value(
    LayoverModel *model, const char *name, const Value *value, LayoverFunction **out) {
    LayoverFunction *made;
    TRY(make_function(name, &made));
    refcount_retain(&model->refcount);
    made->model = model;
    made->value = value_copy(*value);
    *out = made;
    return NULL;
}

LayoverFunction *library_function_retain(LayoverFunction *function) {
    refcount_retain(&function->refcount);
    return function;
}

void layover_function_release(LayoverFunction *function) {
    if (!function || !refcount_release(&function->refcount)) return;
    if (function->release) function->release(function->context);
    value_release(&function->value);
    layover_model_close(function->model);
    memory_free(function);
}

const char *layover_function_name(const LayoverFunction *function) { return function->name; }

/* ---- calls from bytecode ---- */

/* What a model's registry keeps of a host function. */
typedef struct Link {
    LayoverModel *model; /* borrowed: it holds the registry, and executions hold the model */
    LayoverFunction *function;
} Link;

static void release_link(void *context) {
    Link *link = context;
    layover_function_release(link->function);
    memory_free(link);
}

static Error *call_host(const LayoverFunction *function, const LayoverValue *arguments,
    uint32_t count, LayoverValue *out_result) {
    *out_result = (LayoverValue){LAYOVER_NIL, {0}};
    library_enter_host();
    const char *message = function->host(function->context, arguments, count, out_result);
    library_leave_host();
    if (message) FAIL(FAILED, "%s", message);
    return NULL;
}

static Error *call_with(const Link *link, PackedCall *call, const LayoverValue *arguments,
    uint32_t count, Value *out_result) {
    LayoverValue result;
    TRY(call_host(link->function, arguments, count, &result));
    return error_wrap(
        library_value_take(link->model, call->meter, &result, out_result), "its result");
}

static Error *call_from_bytecode(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    void *memory;
    const Link *link = context;
    Error *error = NULL;
    TRY(memory_alloc(count, sizeof(LayoverValue), &memory));
    LayoverValue *given = memory;
    for (uint32_t i = 0; i < count && !error; i++)
        error = error_wrap(
            library_value_give(link->model, &arguments[i], LIBRARY_SHARE_WRITABLE, &given[i]),
            "argument %u", i);
    if (!error) error = call_with(link, call, given, count, out_result);
    for (uint32_t i = 0; i < count && !error; i++)
        error = library_value_settle(&arguments[i], &given[i], i);
    if (error) value_release(out_result);
    for (uint32_t i = 0; i < count; i++) layover_value_release(&given[i]);
    memory_free(memory);
    return error;
}

Error *library_function_link(
    PackedRegistry *registry, LayoverModel *model, LayoverFunction *function) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Link), &memory));
    Link *link = memory;
    *link = (Link){model, library_function_retain(function)};
    Error *error = packed_registry_add(
        registry, function->name, function->arity, call_from_bytecode, link, release_link);
    if (error) release_link(link);
    return error;
}

LayoverFunction *library_function_linked(const PackedRegistry *registry, const char *name) {
    const PackedTarget *target = packed_registry_find(registry, name);
    if (!target || target->function != call_from_bytecode) return NULL;
    return ((Link *)target->context)->function;
}

/* ---- calls from the host ---- */

static Error *call_directly(const LayoverFunction *function, const LayoverValue *arguments,
    uint32_t count, LayoverValue *out_result) {
    LayoverValue result;
    if (function->arity >= 0 && (uint32_t)function->arity != count)
        FAIL(INVALID, "%s takes %d arguments, not %u", function->name, function->arity, count);
    TRY_WRAP(call_host(function, arguments, count, &result), "%s", function->name);
    return error_wrap(library_value_adopt(&result, out_result), "%s: its result", function->name);
}

static Error *find_target(const LayoverFunction *function, const Closure **out_closure) {
    const Executable *executable = function->model->residency->executable;
    if (!value_is(&function->value, OBJECT_CLOSURE))
        FAIL(UNSUPPORTED, "%s is a packed function that only bytecode calls", function->name);
    const Closure *closure = function->value.closure;
    if (closure->function >= executable->function_count ||
        executable->functions[closure->function].kind != FUNCTION_BYTECODE)
        FAIL(UNSUPPORTED, "a closure of a packed function, which only bytecode calls");
    *out_closure = closure;
    return NULL;
}

/* The bound values stand before or behind the arguments. */
static Error *start_closure(const LayoverFunction *function, const Closure *closure,
    const Value *arguments, uint32_t count, Execution **out) {
    void *memory;
    LayoverModel *model = function->model;
    const ExecutionOptions options = library_options(model);
    const uint32_t all = count + closure->count;
    TRY(memory_alloc(all, sizeof(Value), &memory));
    Value *values = memory;
    const bool first = closure->side == CLOSURE_FIRST;
    const uint32_t bound_at = first ? 0 : count, given_at = first ? closure->count : 0;
    for (uint32_t i = 0; i < closure->count; i++) values[bound_at + i] = closure->bound[i];
    for (uint32_t i = 0; i < count; i++) values[given_at + i] = arguments[i];
    Error *error =
        execution_create(model->residency, &options, closure->function, values, all, out);
    memory_free(memory);
    return error;
}

static Error *call_closure(const LayoverFunction *function, const Closure *closure,
    const Value *arguments, uint32_t count, LayoverValue *out_result) {
    LayoverState state;
    OWN(LayoverExecution, execution) = NULL;
    TRY(library_make_execution(function->model, &execution));
    TRY(start_closure(function, closure, arguments, count, &execution->execution));
    TRY(library_run(execution, 0, &state));
    return library_value_give(
        function->model, execution_get_result(execution->execution), LIBRARY_COPY, out_result);
}

static Error *call_model(const LayoverFunction *function, const LayoverValue *arguments,
    uint32_t count, LayoverValue *out_result) {
    Value *values;
    const Closure *closure;
    TRY(library_values_take(function->model, arguments, count, &values));
    Error *error = library_check_outside_host();
    if (!error) error = find_target(function, &closure);
    if (!error) error = call_closure(function, closure, values, count, out_result);
    library_values_free(values, count);
    return error;
}

LayoverError *layover_function_call(LayoverFunction *function, const LayoverValue *arguments,
    uint32_t argument_count, LayoverValue *out_result) {
    if (!function->host)
        return library_error(call_model(function, arguments, argument_count, out_result));
    Error *error = call_directly(function, arguments, argument_count, out_result);
    for (uint32_t i = 0; i < argument_count; i++) library_value_drop(&arguments[i]);
    return library_error(error);
}
