#include "scheduler/http/inference/inference_request.h"

#include <inttypes.h>
#include <string.h>

#include <json-c/linkhash.h>

#include "base/allocator.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/inference/inference_tensor.h"

/* The bytes behind the JSON that no input has taken yet. */
typedef struct Rest {
    const uint8_t *bytes;
    uint64_t size;
} Rest;

void inference_request_deinit(InferenceRequest *request) {
    array_list_deinit(&request->inputs);
    memory_free(request->outputs);
    json_object_put(request->json);
    *request = (InferenceRequest){0};
}

bool inference_request_wants(
    const InferenceRequest *request, const char *name, InferenceOutput *out_output) {
    *out_output = (InferenceOutput){.name = name, .binary = request->binary_outputs};
    for (size_t i = 0; i < request->output_count; i++)
        if (strcmp(request->outputs[i].name, name) == 0) {
            *out_output = request->outputs[i];
            return true;
        }
    return request->output_count == 0;
}

/* ---- parameters ---- */

/* NULL: there are none. Errors: INVALID they are no object. */
static Error *get_parameters(json_object *from, json_object **out) {
    *out = NULL;
    if (!json_object_object_get_ex(from, "parameters", out) || !*out) return NULL;
    if (!json_object_is_type(*out, json_type_object))
        FAIL(INVALID, "parameters: an object is wanted");
    return NULL;
}

/* Parameters are texts, numbers, true or false; those without a meaning here are the model's, and
 * change nothing. */
static Error *check_parameters(json_object *parameters) {
    json_object_object_foreach(parameters, key, value) {
        if (json_object_is_type(value, json_type_object) ||
            json_object_is_type(value, json_type_array) || !value)
            FAIL(INVALID, "parameter %.64s: a text, a number, true or false is wanted", key);
    }
    return NULL;
}

/* A sequence's requests are independent here: a model keeps nothing between them. */
static Error *check_sequence(json_object *parameters) {
    json_object *id = NULL;
    bool flag = false;
    TRY(json_body_flag(parameters, "sequence_start", &flag));
    TRY(json_body_flag(parameters, "sequence_end", &flag));
    if (json_object_object_get_ex(parameters, "sequence_id", &id) &&
        !json_object_is_type(id, json_type_string) && !json_object_is_type(id, json_type_int))
        FAIL(INVALID, "sequence_id: a text or a whole number is wanted");
    return NULL;
}

static Error *read_parameters(json_object *parameters, InferenceRequest *out) {
    static const PolicyClass classes[] = {POLICY_HIGH, POLICY_HIGH, POLICY_NORMAL, POLICY_LOW};
    enum { LAST = sizeof classes / sizeof *classes - 1 };
    int64_t priority = 0, timeout = 0;
    TRY(check_parameters(parameters));
    TRY(check_sequence(parameters));
    TRY(json_body_number(parameters, "priority", 0, INT64_MAX, &priority));
    TRY(json_body_number(parameters, "timeout", 0, INT64_MAX, &timeout));
    TRY(json_body_flag(parameters, "binary_data_output", &out->binary_outputs));
    TRY(json_body_text(parameters, "function", &out->function));
    out->priority = classes[priority < LAST ? priority : LAST];
    out->timeout_us = (uint64_t)timeout;
    return NULL;
}

/* ---- inputs ---- */

static Error *read_shape(json_object *from, const char *name, Shape *out) {
    json_object *list = NULL;
    if (!json_object_object_get_ex(from, "shape", &list) ||
        !json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) > SHAPE_RANK_MAX)
        FAIL(INVALID, "input %.128s: shape: a list of at most %d lengths is wanted", name,
            SHAPE_RANK_MAX);
    *out = (Shape){.rank = (uint32_t)json_object_array_length(list)};
    for (uint32_t i = 0; i < out->rank; i++) {
        json_object *length = json_object_array_get_idx(list, i);
        out->dims[i] = json_object_get_int64(length);
        if (!json_object_is_type(length, json_type_int) || out->dims[i] < 0 ||
            out->dims[i] == INT64_MAX)
            FAIL(INVALID, "input %.128s: shape: lengths of at least 0 are wanted", name);
    }
    return NULL;
}

/* out_size: of the input's bytes; -1: it has none. */
static Error *read_input_parameters(json_object *parameters, const char *name, int64_t *out_size) {
    json_object *region;
    *out_size = -1;
    if (!parameters) return NULL;
    TRY(check_parameters(parameters));
    if (json_object_object_get_ex(parameters, "shared_memory_region", &region))
        FAIL(UNSUPPORTED, "input %.128s: shared memory is not taken", name);
    return json_body_number(parameters, "binary_data_size", 0, INT64_MAX, out_size);
}

static Error *take_bytes(Rest *rest, const char *name, int64_t size, const uint8_t **out) {
    if ((uint64_t)size > rest->size)
        FAIL(INVALID,
            "input %.128s: unexpected size %" PRId64 ": %" PRIu64 " bytes are left of the body",
            name, size, rest->size);
    *out = rest->bytes;
    rest->bytes += size;
    rest->size -= (uint64_t)size;
    return NULL;
}

static Error *read_input(json_object *from, Rest *rest, uint64_t size_max, NamedArray *out) {
    static const char *const fields[] = {"name", "shape", "datatype", "parameters", "data", NULL};
    const char *name = NULL, *type = NULL;
    json_object *parameters, *data = NULL;
    const uint8_t *bytes;
    Shape shape;
    int64_t size;
    if (!json_object_is_type(from, json_type_object)) FAIL(INVALID, "inputs: objects are wanted");
    TRY(json_body_check_fields(from, fields));
    TRY(json_body_text(from, "name", &name));
    if (!name) FAIL(INVALID, "inputs: an input without name");
    TRY(json_body_text(from, "datatype", &type));
    const DType dtype = type ? inference_type_find(type) : DTYPE_NONE;
    if (dtype == DTYPE_NONE)
        FAIL(INVALID, "input %.128s: datatype: there is no type %.32s", name, type ? type : "");
    TRY(read_shape(from, name, &shape));
    TRY(get_parameters(from, &parameters));
    TRY(read_input_parameters(parameters, name, &size));
    const bool has_data = json_object_object_get_ex(from, "data", &data);
    if (has_data == (size >= 0))
        FAIL(INVALID, "input %.128s: one of data and the parameter binary_data_size is wanted",
            name);
    if (has_data) return inference_tensor_read_json(data, name, dtype, &shape, size_max, out);
    TRY(take_bytes(rest, name, size, &bytes));
    return inference_tensor_read_bytes(bytes, (uint64_t)size, name, dtype, &shape, out);
}

static Error *read_inputs(json_object *from, Rest *rest, uint64_t size_max, InferenceRequest *out) {
    json_object *list = NULL;
    if (!json_object_object_get_ex(from, "inputs", &list) ||
        !json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) > INFERENCE_INPUTS_MAX)
        FAIL(INVALID, "inputs: a list of at most %d inputs is wanted", INFERENCE_INPUTS_MAX);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        NamedArray array = {0};
        TRY(read_input(json_object_array_get_idx(list, i), rest, size_max, &array));
        TRY(array_list_add(&out->inputs, &array));
    }
    if (rest->size)
        FAIL(INVALID, "unexpected additional input data: %" PRIu64 " bytes that no input has",
            rest->size);
    return array_list_check_names(&out->inputs);
}

/* ---- outputs ---- */

static Error *read_output(json_object *from, InferenceRequest *out) {
    static const char *const fields[] = {"name", "parameters", NULL};
    InferenceOutput output = {.binary = out->binary_outputs}, other;
    json_object *parameters, *region;
    int64_t classes = 0;
    if (!json_object_is_type(from, json_type_object)) FAIL(INVALID, "outputs: objects are wanted");
    TRY(json_body_check_fields(from, fields));
    TRY(json_body_text(from, "name", &output.name));
    if (!output.name) FAIL(INVALID, "outputs: an output without name");
    TRY(get_parameters(from, &parameters));
    if (parameters) {
        TRY(check_parameters(parameters));
        if (json_object_object_get_ex(parameters, "shared_memory_region", &region))
            FAIL(UNSUPPORTED, "output %.128s: shared memory is not taken", output.name);
        TRY(json_body_flag(parameters, "binary_data", &output.binary));
        TRY(json_body_number(parameters, "classification", 0, INT32_MAX, &classes));
    }
    output.classes = (uint64_t)classes;
    if (out->output_count && inference_request_wants(out, output.name, &other))
        FAIL(INVALID, "output %.128s is wanted twice", output.name);
    out->outputs[out->output_count++] = output;
    return NULL;
}

static Error *read_outputs(json_object *from, InferenceRequest *out) {
    json_object *list = NULL;
    void *memory;
    if (!json_object_object_get_ex(from, "outputs", &list)) return NULL;
    if (!json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) > INFERENCE_OUTPUTS_MAX)
        FAIL(INVALID, "outputs: a list of at most %d outputs is wanted", INFERENCE_OUTPUTS_MAX);
    const size_t count = json_object_array_length(list);
    if (!count) return NULL;
    TRY(memory_alloc(count, sizeof(InferenceOutput), &memory));
    out->outputs = memory;
    for (size_t i = 0; i < count; i++) TRY(read_output(json_object_array_get_idx(list, i), out));
    return NULL;
}

/* ---- the whole ---- */

static Error *read_body(const HttpRequest *from, InferenceRequest *out) {
    static const char *const fields[] = {"id", "parameters", "inputs", "outputs", NULL};
    const uint64_t head = from->has_json_length ? from->json_length : from->body_size;
    json_object *parameters;
    if (head > from->body_size)
        FAIL(INVALID, HTTP_JSON_LENGTH " is %" PRIu64 ", and the body has %" PRIu64 " bytes", head,
            from->body_size);
    if (from->has_json_length && head == 0)
        FAIL(UNSUPPORTED, HTTP_JSON_LENGTH " 0: a body without JSON is not taken");
    if (head > INFERENCE_JSON_MAX)
        FAIL(TOO_LARGE,
            "JSON of %" PRIu64 " bytes; at most %d are taken: send elements as bytes, with the "
            "parameter binary_data_size",
            head, INFERENCE_JSON_MAX);
    Rest rest = {from->body + head, from->body_size - head};
    TRY(json_body_parse_floats(from->body, (size_t)head, &out->json));
    TRY(json_body_check_fields(out->json, fields));
    TRY(json_body_text(out->json, "id", &out->id));
    TRY(get_parameters(out->json, &parameters));
    if (parameters) TRY(read_parameters(parameters, out));
    TRY(read_outputs(out->json, out));
    return read_inputs(out->json, &rest, head, out);
}

Error *inference_request_read(const HttpRequest *from, InferenceRequest *out_request) {
    InferenceRequest request = {.priority = POLICY_HIGH};
    Error *error = read_body(from, &request);
    if (error) {
        inference_request_deinit(&request);
        return error;
    }
    *out_request = request;
    return NULL;
}
