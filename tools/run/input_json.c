#include "tools/run/input_json.h"

#include <math.h>
#include <string.h>

#include "kernels/tensor/dtype_bits.h"
#include "scheduler/http/inference/inference_tensor.h"
#include "tools/run/input_shape.h"

static bool is_list(json_object *data) { return json_object_is_type(data, json_type_array); }

/* Returns the first element; NULL: there is none. The parser bounds the depth. */
static json_object *first_of(json_object *data) {
    while (is_list(data) && json_object_array_length(data) > 0)
        data = json_object_array_get_idx(data, 0);
    return is_list(data) ? NULL : data;
}

static int64_t count_of(json_object *data) {
    int64_t count = 0;
    if (!is_list(data)) return 1;
    for (size_t i = 0; i < json_object_array_length(data); i++)
        count += count_of(json_object_array_get_idx(data, i));
    return count;
}

/* The lengths of the first lists of each depth. Lists of other lengths are refused later. */
static Error *read_lengths(const char *name, json_object *data, Shape *out) {
    Shape shape = {0};
    for (json_object *at = data; is_list(at); at = json_object_array_get_idx(at, 0)) {
        if (shape.rank == SHAPE_RANK_MAX)
            FAIL(INVALID, "input %s: more than %d nested lists", name, SHAPE_RANK_MAX);
        shape.dims[shape.rank++] = (int64_t)json_object_array_length(at);
        if (json_object_array_length(at) == 0) break;
    }
    *out = shape;
    return NULL;
}

/* out_more: how many lists must be put around the data so that they are nested as the shape says.
 */
static Error *find_shape(const CommandContext *context, const Port *port, const char *name,
    json_object *data, Shape *out, uint32_t *out_more) {
    Shape nested;
    *out_more = 0;
    TRY(read_lengths(name, data, &nested));
    if (!port->rank_known) {
        *out = nested;
        return NULL;
    }
    TRY(input_shape_of(context, port, out));
    if (nested.rank <= 1) return input_shape_fit(name, count_of(data), out);
    if (nested.rank > out->rank)
        FAIL(INVALID, "input %s: %u nested lists, but the model's input has %u dimensions", name,
            nested.rank, out->rank);
    const uint32_t more = out->rank - nested.rank;
    for (uint32_t i = 0; i < out->rank; i++) out->dims[i] = i < more ? 1 : nested.dims[i - more];
    *out_more = more;
    return NULL;
}

/* Puts a list around the data, and releases the data where that fails. */
static Error *wrap(json_object *owned_data, json_object **out) {
    json_object *list = json_object_new_array();
    if (!list || json_object_array_add(list, owned_data) != 0) {
        json_object_put(owned_data);
        json_object_put(list);
        FAIL(OUT_OF_MEMORY, "no memory for the input");
    }
    *out = list;
    return NULL;
}

/* Whether a number of the lists is no integer. */
static bool has_reals(json_object *data) {
    bool found = json_object_is_type(data, json_type_double);
    for (size_t i = 0; is_list(data) && !found && i < json_object_array_length(data); i++)
        found = has_reals(json_object_array_get_idx(data, i));
    return found;
}

static DType guess_dtype(json_object *data) {
    json_object *first = first_of(data);
    if (json_object_is_type(first, json_type_string)) return DTYPE_STRING;
    if (json_object_is_type(first, json_type_boolean)) return DTYPE_BOOL;
    return first && !has_reals(data) ? DTYPE_INT64 : DTYPE_FLOAT32;
}

/* Replaces the texts for numbers that JSON lacks. */
static Error *replace_specials(json_object *list) {
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *item = json_object_array_get_idx(list, i);
        double value;
        if (is_list(item)) TRY(replace_specials(item));
        if (!json_object_is_type(item, json_type_string)) continue;
        const char *text = json_object_get_string(item);
        if (strcmp(text, "NaN") == 0)
            value = NAN;
        else if (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0)
            value = *text == '-' ? -INFINITY : INFINITY;
        else
            continue;
        if (json_object_array_put_idx(list, i, json_object_new_double(value)) != 0)
            FAIL(OUT_OF_MEMORY, "no memory for the input");
    }
    return NULL;
}

/* Converts elements of float64 or int64 to a type that JSON has no reader for. */
static Error *narrow(const NamedArray *wide, DType dtype, NamedArray *out_array) {
    NamedArray array;
    TRY(named_array_init(&array, wide->name, dtype, &wide->shape));
    for (int64_t i = 0; i < shape_count_unchecked(&wide->shape); i++) {
        double value = 0, read = 0;
        (void)dtype_bits_read_element(wide->dtype, wide->data, (uint64_t)i, &value);
        (void)dtype_bits_write_element(dtype, array.data, (uint64_t)i, value);
        (void)dtype_bits_read_element(dtype, array.data, (uint64_t)i, &read);
        if (dtype_is_integer(dtype) && read != value) {
            named_array_deinit(&array);
            FAIL(INVALID, "input %s: %.17g is no %s", wide->name, value, dtype_name(dtype));
        }
    }
    *out_array = array;
    return NULL;
}

/* Reads data that are nested as the shape says. */
static Error *read_elements(
    json_object *data, const char *name, DType dtype, const Shape *shape, NamedArray *out_array) {
    NamedArray wide = {0};
    const bool is_float = dtype_is_float(dtype);
    const uint64_t count = (uint64_t)count_of(data);
    if (is_float && is_list(data)) TRY(replace_specials(data));
    if (inference_type_has_json(dtype))
        return inference_tensor_read_json(data, name, dtype, shape, count, out_array);
    TRY(inference_tensor_read_json(
        data, name, is_float ? DTYPE_FLOAT64 : DTYPE_INT64, shape, count, &wide));
    Error *error = narrow(&wide, dtype, out_array);
    named_array_deinit(&wide);
    return error;
}

Error *input_json_read(const CommandContext *context, const Port *port, const char *name,
    json_object *data, NamedArray *out_array) {
    Shape shape;
    uint32_t more;
    const DType dtype = port->dtype == DTYPE_NONE ? guess_dtype(data) : port->dtype;
    TRY(find_shape(context, port, name, data, &shape, &more));
    json_object *nested = json_object_get(data);
    for (uint32_t i = 0; i < more; i++) TRY(wrap(nested, &nested));
    Error *error = read_elements(nested, name, dtype, &shape, out_array);
    json_object_put(nested);
    return error;
}
