#include "scheduler/http/routes/model_json.h"

#include <string.h>

#include "kernels/operator/operator_lower.h"
#include "scheduler/http/client/json_fields.h"

/* Names of the free dimensions; NULL if none has a name. */
static json_object *symbols_json(const Port *port) {
    json_object *symbols = NULL;
    for (uint32_t d = 0; port->rank_known && d < port->shape.rank; d++) {
        if (port->shape.dims[d] >= 0 || !port->symbols[d]) continue;
        if (!symbols) symbols = json_object_new_array();
        json_object_array_put_idx(symbols, d, json_object_new_string(port->symbols[d]));
    }
    return symbols;
}

static Error *ports_json(const Port *ports, uint32_t count, json_object **out) {
    json_object *array = json_object_new_array();
    if (!array) FAIL(OUT_OF_MEMORY, "no memory for the answer");
    for (uint32_t i = 0; ports && i < count; i++) {
        const Port *port = &ports[i];
        json_object *item = json_object_new_object();
        json_fields_text(item, "name", port->name);
        json_fields_text(item, "dtype", port->dtype == DTYPE_NONE ? NULL : dtype_name(port->dtype));
        if (port->form != PORT_TENSOR) json_fields_text(item, "form", port_form_name(port->form));
        json_object *shape = port->rank_known ? json_object_new_array() : NULL;
        for (uint32_t d = 0; port->rank_known && d < port->shape.rank; d++)
            json_object_array_add(shape, json_object_new_int64(port->shape.dims[d]));
        json_object_object_add(item, "shape", shape);
        json_object *symbols = symbols_json(port);
        if (symbols) json_object_object_add(item, "symbols", symbols);
        json_object_array_add(array, item);
    }
    *out = array;
    return NULL;
}

Error *model_functions_json(const Executable *executable, json_object **out) {
    json_object *array = json_object_new_array();
    if (!array) FAIL(OUT_OF_MEMORY, "no memory for the answer");
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        if (!(function->flags & FUNCTION_EXPORTED)) continue;
        json_object *item = json_object_new_object(), *inputs = NULL, *outputs = NULL;
        Error *error = ports_json(function->parameters, function->parameter_count, &inputs);
        if (!error) error = ports_json(function->results, function->result_count, &outputs);
        json_fields_text(item, "name", function->name);
        json_object_object_add(item, "inputs", inputs);
        json_object_object_add(item, "outputs", outputs);
        json_object_array_add(array, item);
        if (error) {
            json_object_put(array);
            return error;
        }
    }
    *out = array;
    return NULL;
}

Error *model_version_json(const ModelVersion *version, json_object **out) {
    char identity[DIGEST_TEXT_SIZE];
    json_object *object, *aliases = json_object_new_array();
    TRY(json_fields_create(&object));
    digest_print(&version->executable, identity);
    for (size_t i = 0; i < version->alias_count; i++)
        json_object_array_add(aliases, json_object_new_string(version->aliases[i]));
    json_fields_text(object, "model", version->model);
    json_fields_int(object, "version", version->version);
    json_object_object_add(object, "aliases", aliases);
    json_fields_text(object, "executable", identity);
    json_fields_int(object, "bytes_raw", (int64_t)version->bytes_raw);
    json_fields_int(object, "bytes_stored", (int64_t)version->bytes_stored);
    json_fields_real(object, "created", version->created);
    *out = object;
    return NULL;
}

/* The precision below float32 that the model was compiled for with --precision; NULL: none, or no
 * part is lowered. */
static const char *lowered_to(const Executable *executable) {
    for (uint32_t i = 0; i < executable->primitive_count; i++) {
        const OperatorLower *lower =
            operator_lower_get(executable->primitives[i].operator_info->id);
        if (lower) return lower->weights == DTYPE_INT8 ? "int8" : "bf16";
    }
    return NULL;
}

Error *model_json(const ModelVersion *version, const Executable *executable, json_object **out) {
    json_object *object, *functions;
    TRY(model_version_json(version, &object));
    Error *error = model_functions_json(executable, &functions);
    if (error) {
        json_object_put(object);
        return error;
    }
    json_object_object_add(object, "functions", functions);
    const char *lowered = lowered_to(executable);
    if (lowered) json_fields_text(object, "lowered_to", lowered);
    *out = object;
    return NULL;
}

void model_warnings_json(const TextBuilder *lines, json_object *inout_object) {
    json_object *array = json_object_new_array();
    for (const char *line = text_builder_get(lines); *line;) {
        const int size = (int)strcspn(line, "\n");
        json_object_array_add(array, json_object_new_string_len(line, size));
        line += size + (line[size] == '\n');
    }
    if (json_object_array_length(array) > 0)
        json_object_object_add(inout_object, "warnings", array);
    else
        json_object_put(array);
}

Error *model_fsck_json(const FsckResult *result, json_object **out) {
    uint64_t kept = result->error_count < FSCK_ERRORS_MAX ? result->error_count : FSCK_ERRORS_MAX;
    json_object *object, *errors = json_object_new_array();
    TRY(json_fields_create(&object));
    for (uint64_t i = 0; i < kept; i++)
        json_object_array_add(errors, json_object_new_string(result->errors[i]));
    json_fields_int(object, "chunks", (int64_t)result->chunks);
    json_fields_int(object, "bytes", (int64_t)result->bytes);
    json_fields_int(object, "executables", (int64_t)result->executables);
    json_fields_int(object, "repaired", (int64_t)result->repaired);
    json_fields_int(object, "orphan_chunks", (int64_t)result->orphan_chunks);
    json_fields_int(object, "weight_files", (int64_t)result->weight_files);
    json_fields_int(object, "weight_files_removed", (int64_t)result->weight_files_removed);
    json_fields_int(object, "error_count", (int64_t)result->error_count);
    json_object_object_add(object, "errors", errors);
    *out = object;
    return NULL;
}

Error *model_removed_json(uint64_t count, json_object **out) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_int(object, "removed", (int64_t)count);
    *out = object;
    return NULL;
}

Error *model_gc_json(const GcResult *result, json_object **out) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_int(object, "executables", (int64_t)result->executables);
    json_fields_int(object, "chunks", (int64_t)result->chunks);
    json_fields_int(object, "bytes", (int64_t)result->bytes);
    *out = object;
    return NULL;
}
