#include "tools/run/remote_signature.h"

#include <string.h>

#include "base/allocator.h"
#include "tools/client/remote_models.h"
#include "tools/remote/model_request.h"

void remote_signature_deinit(RemoteSignature *signature) {
    for (uint32_t i = 0; i < signature->executable.function_count; i++)
        memory_free(signature->executable.functions[i].parameters);
    memory_free(signature->executable.functions);
    json_object_put(signature->model);
    *signature = (RemoteSignature){0};
}

static size_t length_of(json_object *list) {
    return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* Borrows a text of the description. */
static char *text_of(json_object *object, const char *name) {
    return (char *)(uintptr_t)remote_text(object, name); /* functions own their names elsewhere */
}

static Error *read_shape(json_object *input, Port *port) {
    json_object *shape = remote_field(input, "shape"), *symbols = remote_field(input, "symbols");
    port->rank_known = json_object_is_type(shape, json_type_array);
    if (length_of(shape) > SHAPE_RANK_MAX)
        FAIL(CORRUPT, "the daemon describes input %s with %zu dimensions", port->name,
            length_of(shape));
    for (size_t axis = 0; axis < length_of(shape); axis++) {
        const int64_t size = json_object_get_int64(json_object_array_get_idx(shape, axis));
        json_object *symbol =
            axis < length_of(symbols) ? json_object_array_get_idx(symbols, axis) : NULL;
        port->shape.dims[port->shape.rank++] = size < 0 ? -1 : size;
        if (json_object_is_type(symbol, json_type_string))
            port->symbols[axis] = (char *)(uintptr_t)json_object_get_string(symbol);
    }
    return NULL;
}

static Error *read_port(json_object *input, Port *port) {
    const char *form = remote_text(input, "form");
    port->name = text_of(input, "name");
    port->dtype = dtype_find(remote_text(input, "dtype"));
    port->form = PORT_TENSOR;
    for (PortForm i = PORT_LIST; i <= PORT_OPTIONAL_LIST; i++)
        if (strcmp(form, port_form_name(i)) == 0) port->form = i;
    return read_shape(input, port);
}

static Error *read_function(json_object *from, Function *function) {
    json_object *inputs = remote_field(from, "inputs");
    const size_t count = length_of(inputs);
    void *memory;
    if (count > EXECUTABLE_CONSTANTS_MAX) FAIL(CORRUPT, "the daemon describes %zu inputs", count);
    function->name = text_of(from, "name");
    function->flags = FUNCTION_EXPORTED;
    if (count == 0) return NULL;
    TRY(memory_alloc(count, sizeof(Port), &memory));
    function->parameters = memory;
    function->parameter_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        TRY(read_port(json_object_array_get_idx(inputs, i), &function->parameters[i]));
    return NULL;
}

Error *remote_signature_fetch(HttpClient *client, const char *reference, RemoteSignature *out) {
    RemoteSignature OWN_SIGNATURE(signature) = {0};
    void *memory;
    TRY(model_request_get(client, reference, &signature.model));
    json_object *functions = remote_field(signature.model, "functions");
    const size_t count = length_of(functions);
    if (count == 0 || count > EXECUTABLE_CONSTANTS_MAX)
        FAIL(CORRUPT, "the daemon describes %zu functions", count);
    TRY(memory_alloc(count, sizeof(Function), &memory));
    signature.executable.functions = memory;
    signature.executable.function_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        TRY(read_function(
            json_object_array_get_idx(functions, i), &signature.executable.functions[i]));
    *out = signature;
    signature = (RemoteSignature){0};
    return NULL;
}
