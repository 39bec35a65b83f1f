#include "vm/execution/stateful.h"

#include <string.h>

#include "base/allocator.h"
#include "vm/objects/closure.h"
#include "vm/execution/execution_state.h"

/* Inputs are kept by name: "function#parameter"; saved calls, as closures, "=name". Packed
 * functions keep values by names with other first characters (vm/relax/relax_names.h). */
static SnapshotInput *find(const Execution *execution, const char *name) {
    for (uint32_t i = 0; i < execution->input_count; i++)
        if (strcmp(execution->inputs[i].name, name) == 0) return &execution->inputs[i];
    return NULL;
}

const Value *stateful_find_named(const Execution *execution, const char *name) {
    const SnapshotInput *input = find(execution, name);
    return input ? &input->value : NULL;
}

void stateful_remove_named(Execution *execution, const char *prefix, const char *name) {
    uint32_t kept = 0;
    size_t size = strlen(prefix);
    for (uint32_t i = 0; i < execution->input_count; i++) {
        SnapshotInput *input = &execution->inputs[i];
        bool remove = strncmp(input->name, prefix, size) == 0 &&
                      (!name || strcmp(input->name + size, name) == 0);
        if (!remove) {
            execution->inputs[kept++] = *input;
            continue;
        }
        memory_free(input->name);
        value_release(&input->value);
    }
    execution->input_count = kept;
}

Error *stateful_set_named(Execution *execution, const char *name, Value owned_value) {
    SnapshotInput *input = find(execution, name);
    Error *error = NULL;
    if (!input) {
        if (strlen(name) > FUNCTION_NAME_MAX)
            error = error_make(ERROR_INVALID, __FILE__, __LINE__,
                "a name of %zu bytes; there may be %d", strlen(name), FUNCTION_NAME_MAX);
        if (!error && execution->input_count >= STATEFUL_INPUTS_MAX)
            error = error_make(ERROR_EXHAUSTED, __FILE__, __LINE__, "more than %d inputs are set",
                STATEFUL_INPUTS_MAX);
        void *inputs = execution->inputs;
        if (!error)
            error = memory_grow(
                &inputs, execution->input_count, &execution->input_capacity, sizeof(SnapshotInput));
        execution->inputs = inputs;
        char *copy = NULL;
        if (!error) error = memory_copy_text(name, &copy);
        if (error) {
            value_release(&owned_value);
            return error;
        }
        input = &execution->inputs[execution->input_count++];
        *input = (SnapshotInput){copy, value_nil()};
    }
    value_release(&input->value);
    input->value = owned_value;
    return NULL;
}

static Error *get_function(
    const Execution *execution, uint32_t index, const Function **out_function) {
    const Executable *executable = execution->executable;
    if (index >= executable->function_count ||
        executable->functions[index].kind != FUNCTION_BYTECODE)
        FAIL(INVALID, "function %u is not one that can be run", index);
    *out_function = &executable->functions[index];
    return NULL;
}

Error *stateful_find_input(
    const Executable *executable, uint32_t function, const char *name, uint32_t *out_parameter) {
    const Function *in = &executable->functions[function];
    TextBuilder OWN_TEXT(known) = {0};
    for (uint32_t i = 0; in->parameters && i < in->parameter_count; i++) {
        if (strcmp(in->parameters[i].name, name) == 0) {
            *out_parameter = i;
            return NULL;
        }
        text_appendf(&known, "%s%s", i ? ", " : "", in->parameters[i].name);
    }
    FAIL(NOT_FOUND, "function %s has no input %s; it has %s", in->name, name,
        known.size ? text_builder_get(&known) : "none with a name");
}

Error *stateful_set_input(
    Execution *execution, uint32_t function, uint32_t parameter, const Value *value) {
    const Function *in;
    TRY(get_function(execution, function, &in));
    if (parameter >= in->parameter_count)
        FAIL(INVALID, "function %s has no input %u", in->name, parameter);
    TextBuilder OWN_TEXT(name) = {0};
    text_appendf(&name, "%s#%u", in->name, parameter);
    TRY(text_builder_check(&name));
    const Port *port = in->parameters ? &in->parameters[parameter] : NULL;
    Value bound;
    TRY(execution_bind(
        execution, port, port ? port->name : text_builder_get(&name), value, &bound));
    return stateful_set_named(execution, text_builder_get(&name), bound);
}

/* Starts a call with arguments that are bound already. */
static Error *start(
    Execution *execution, uint32_t function, const Value *arguments, uint32_t count) {
    if (execution->failed) FAIL(CONFLICT, "this execution has failed");
    if (execution->frame_count > 0) FAIL(CONFLICT, "a call is under way");
    TRY(execution_push_frame(execution, function, UINT32_MAX));
    for (uint32_t i = 0; i < count; i++) execution->registers[i] = value_copy(arguments[i]);
    value_release(&execution->result);
    execution->finished = false;
    return NULL;
}

/* Checks all arguments against the ports again, since they must agree on shared dimensions. */
static Error *bind_and_start(
    Execution *execution, uint32_t function, const Value *arguments, uint32_t count) {
    void *memory;
    TRY(memory_alloc(count, sizeof(Value), &memory));
    Value *bound = memory;
    Error *error = execution_bind_all(execution, function, arguments, count, bound);
    if (!error) error = start(execution, function, bound, count);
    for (uint32_t i = 0; i < count; i++) value_release(&bound[i]);
    memory_free(bound);
    return error;
}

Error *stateful_invoke(Execution *execution, uint32_t function) {
    const Function *in;
    TRY(get_function(execution, function, &in));
    void *memory;
    TRY(memory_alloc(in->parameter_count, sizeof(Value), &memory));
    Value *arguments = memory; /* borrowed from the inputs */
    Error *error = NULL;
    for (uint32_t i = 0; !error && i < in->parameter_count; i++) {
        TextBuilder OWN_TEXT(name) = {0};
        text_appendf(&name, "%s#%u", in->name, i);
        const SnapshotInput *input = find(execution, text_builder_get(&name));
        if (input)
            arguments[i] = input->value;
        else
            error = error_make(ERROR_INVALID, __FILE__, __LINE__,
                "input %u of function %s is not set", i, in->name);
    }
    if (!error) error = bind_and_start(execution, function, arguments, in->parameter_count);
    memory_free(arguments);
    return error;
}

Error *stateful_get_output(
    const Execution *execution, const uint32_t *path, uint32_t count, Value *out) {
    if (!execution->finished) FAIL(CONFLICT, "no call has finished");
    const Value *value = &execution->result;
    for (uint32_t i = 0; i < count; i++) {
        if (!value_is(value, OBJECT_ADT) && !value_is(value, OBJECT_LIST))
            FAIL(INVALID, "output %u is inside a %s", path[i], value_kind_name(value));
        uint32_t child_count;
        const Value *children = value_children(value, &child_count);
        if (path[i] >= child_count) FAIL(INVALID, "output %u of %u", path[i], child_count);
        value = &children[path[i]];
    }
    *out = value_copy(*value);
    return NULL;
}

Error *stateful_save_function(Execution *execution, const char *name, uint32_t function,
    const Value *arguments, uint32_t argument_count) {
    const Function *in;
    TRY(get_function(execution, function, &in));
    OWN(Closure, closure) = NULL;
    TRY(closure_create(execution->meter, function, CLOSURE_FIRST, argument_count, &closure));
    TRY(execution_bind_all(execution, function, arguments, argument_count, closure->bound));
    TextBuilder OWN_TEXT(key) = {0};
    text_appendf(&key, "=%s", name);
    TRY(text_builder_check(&key));
    return stateful_set_named(
        execution, text_builder_get(&key), value_object(OBJECT_CLOSURE, TAKE(closure)));
}

Error *stateful_invoke_saved(Execution *execution, const char *name) {
    TextBuilder OWN_TEXT(key) = {0};
    text_appendf(&key, "=%s", name);
    const SnapshotInput *input = find(execution, text_builder_get(&key));
    if (!input || !value_is(&input->value, OBJECT_CLOSURE))
        FAIL(NOT_FOUND, "no function was saved as %s", name);
    const Closure *closure = input->value.closure;
    const Function *in;
    TRY(get_function(execution, closure->function, &in)); /* the closure may come from a
                                                           * checkpoint */
    return bind_and_start(execution, closure->function, closure->bound, closure->count);
}
