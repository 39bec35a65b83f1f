#include "tools/run/input_value.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <json-c/linkhash.h>

#include "base/allocator.h"
#include "base/file.h"
#include "kernels/tensor/dtype_bits.h"
#include "kernels/tensor/philox.h"
#include "scheduler/http/client/json_body.h"
#include "serialize/arrays/array_values.h"
#include "tools/run/input_image.h"
#include "tools/run/input_json.h"
#include "tools/run/input_shape.h"

enum {
    JSON_FILE_SIZE_MAX = 64 << 20, /* parsed it takes some fifty times as much memory */
    RANDOM_INTEGERS = 8,
};

/* ---- forms ---- */

static bool is_made(const char *text) {
    return strcmp(text, "random") == 0 || strcmp(text, "zeros") == 0 || strcmp(text, "ones") == 0;
}

static bool is_json_file(const char *text) {
    return text[0] == '@' && text_ends_with(text, ".json");
}

/* Reads one element of a list without brackets; NULL: it is no number, true or false. */
static json_object *parse_element(const char *text) {
    int64_t whole;
    uint64_t natural;
    double real;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_object_new_boolean(*text == 't');
    if (text_parse_i64(text, &whole)) return json_object_new_int64(whole);
    if (text_parse_u64(text, &natural)) return json_object_new_uint64(natural);
    return text_parse_f64(text, &real) ? json_object_new_double(real) : NULL;
}

/* Reads elements between commas; *out NULL: one of them is none. */
static Error *parse_elements(const char *text, json_object **out) {
    char *copy, *rest;
    json_object *list = json_object_new_array(), *element = NULL;
    *out = NULL;
    TRY(memory_copy_text(text, &copy));
    rest = copy;
    for (char *word; list && (word = strsep(&rest, ","));) {
        element = parse_element(word);
        if (!element || json_object_array_add(list, element) != 0) {
            json_object_put(list);
            list = NULL;
        }
    }
    memory_free(copy);
    *out = list;
    return NULL;
}

static bool is_elements(const char *text) {
    json_object *list = NULL;
    error_free(parse_elements(text, &list)); /* without memory the reader fails, too */
    const bool is = list != NULL;
    json_object_put(list);
    return is;
}

bool input_value_is_inline(const char *option) {
    struct stat status;
    const char *equals = strchr(option, '=');
    if (is_json_file(option)) return true;
    if (option[0] == '@' || !equals || equals == option) return false;
    const char *value = equals + 1;
    if (is_json_file(value) || input_image_is_name(value)) return true;
    if (value[0] == '@') return false;
    if (is_made(value) || value[0] == '[' || value[0] == '"' || is_elements(value)) return true;
    /* a text, unless somebody means a file */
    return !strchr(value, '/') && !text_ends_with(value, ".npy") && stat(value, &status) != 0;
}

bool input_value_any_inline(const CommandContext *context) {
    const char *option;
    for (uint32_t i = 0; (option = command_option_at(context, "input", i)); i++)
        if (input_value_is_inline(option)) return true;
    return false;
}

/* ---- made values ---- */

static uint64_t hash_name(const char *name) {
    uint64_t hash = 0xCBF29CE484222325; /* FNV-1a: inputs of one run have different numbers */
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001B3;
    return hash;
}

static void fill(NamedArray *array, const char *how, uint64_t key) {
    const int64_t count = shape_count_unchecked(&array->shape);
    const uint32_t integers =
        array->dtype == DTYPE_BOOL || dtype_bits(array->dtype) < 4 ? 2 : RANDOM_INTEGERS;
    const bool is_random = strcmp(how, "random") == 0, is_float = dtype_is_float(array->dtype);
    if (strcmp(how, "zeros") == 0) return;
    for (uint64_t i = 0; i < (uint64_t)count; i++) {
        const double value = !is_random ? 1
                             : is_float ? philox_number(key, 0, i, 1)
                                        : philox_draw(key, i) % integers;
        (void)dtype_bits_write_element(array->dtype, array->data, i, value);
    }
}

static Error *make_value(const CommandContext *context, const Port *port, const char *name,
    const char *how, NamedArray *out_array) {
    Shape shape;
    int64_t seed;
    if (port->dtype == DTYPE_NONE || port->dtype == DTYPE_STRING)
        FAIL(UNSUPPORTED, "input %s: its elements are no numbers; nothing is made up for them",
            name);
    TRY(command_integer(context, "seed", 0, INT64_MAX, 0, &seed));
    TRY(input_shape_of(context, port, &shape));
    input_shape_close(&shape);
    TRY_WRAP(named_array_init(out_array, name, port->dtype, &shape), "input %s", name);
    fill(out_array, how, (uint64_t)seed ^ hash_name(name));
    return NULL;
}

/* ---- one input ---- */

static Error *read_json_file(const char *path, json_object **out) {
    uint8_t *data;
    size_t size;
    TRY(file_read(path, JSON_FILE_SIZE_MAX, &data, &size));
    /* the parser reads objects */
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "{\"value\":");
    text_append_bytes(&text, (const char *)data, size);
    text_append(&text, "}");
    memory_unmap(data, size);
    TRY(text_builder_check(&text));
    TRY_WRAP(json_body_parse_floats(text_builder_get(&text), text.size, out), "%s", path);
    return NULL;
}

static Error *parse_json(const char *name, const char *value, json_object **out) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "{\"value\":%s}", value);
    TRY(text_builder_check(&text));
    TRY_WRAP(json_body_parse_floats(text_builder_get(&text), text.size, out), "input %s", name);
    return NULL;
}

/* Makes {"value": V} of the option's V. */
static Error *parse_value(
    const Port *port, const char *name, const char *value, json_object **out) {
    json_object *list;
    if (is_json_file(value)) return read_json_file(value + 1, out);
    if (value[0] == '[' || value[0] == '"') return parse_json(name, value, out);
    TRY(parse_elements(value, &list));
    if (port->dtype == DTYPE_STRING) {
        json_object_put(list);
        list = json_object_new_string(value);
    } else if (list && json_object_array_length(list) == 1) {
        json_object *only = json_object_get(json_object_array_get_idx(list, 0));
        json_object_put(list);
        list = only;
    }
    if (!list)
        FAIL(USAGE, "--input %s=%.80s: this is neither a file nor numbers for an input of %s", name,
            value, dtype_name(port->dtype));
    *out = json_object_new_object();
    if (!*out || json_object_object_add(*out, "value", list) != 0)
        FAIL(OUT_OF_MEMORY, "no memory for the input");
    return NULL;
}

static Error *read_value(const CommandContext *context, const Port *port, const char *name,
    const char *value, NamedArray *out_array) {
    OWN_JSON(object) = NULL;
    if (is_made(value) && port->dtype != DTYPE_STRING)
        return make_value(context, port, name, value, out_array);
    if (input_image_is_name(value))
        return input_image_read(context, port, name, value + (value[0] == '@'), out_array);
    TRY(parse_value(port, name, value, &object));
    return input_json_read(context, port, name, json_object_object_get(object, "value"), out_array);
}

/* ---- options ---- */

/* Finds the port that an array of this name is for. */
static Error *find_port(
    const Executable *executable, uint32_t *inout_function, const char *name, const Port **out) {
    bool whole;
    *inout_function = executable_choose_function(executable, *inout_function, name);
    const Function *function = &executable->functions[*inout_function];
    if (!function->parameters)
        FAIL(UNSUPPORTED, "function %s: its inputs have no names", function->name);
    TRY(array_values_find_port(function, name, out, &whole));
    if (!*out) FAIL(UNSUPPORTED, "input %s: a count is given in a file", name);
    return NULL;
}

static Error *add_json(const CommandContext *context, const Executable *executable,
    uint32_t *inout_function, const char *name, json_object *data, ArrayList *list) {
    const Port *port;
    NamedArray array = {0};
    TRY(find_port(executable, inout_function, name, &port));
    TRY(input_json_read(context, port, name, data, &array));
    return array_list_add(list, &array);
}

/* Reads an item of the list that --output - prints. */
static Error *add_item(const CommandContext *context, const Executable *executable,
    uint32_t *inout_function, json_object *item, ArrayList *list) {
    const char *name = NULL;
    json_object *data = json_object_object_get(item, "data");
    if (!json_object_is_type(item, json_type_object))
        FAIL(INVALID, "\"outputs\" is no list of objects");
    TRY(json_body_text(item, "name", &name));
    if (!name || !data) FAIL(INVALID, "an output without \"name\" or \"data\"");
    return add_json(context, executable, inout_function, name, data, list);
}

static Error *read_all(const CommandContext *context, json_object *value,
    const Executable *executable, uint32_t *inout_function, ArrayList *list) {
    if (!json_object_is_type(value, json_type_object))
        FAIL(INVALID, "an object {\"NAME\": VALUE, ...} is wanted");
    json_object *outputs = json_object_object_get(value, "outputs");
    const bool is_answer =
        json_object_is_type(outputs, json_type_array) &&
        json_object_is_type(json_object_array_get_idx(outputs, 0), json_type_object);
    for (size_t i = 0; is_answer && i < json_object_array_length(outputs); i++)
        TRY(add_item(
            context, executable, inout_function, json_object_array_get_idx(outputs, i), list));
    if (is_answer) return NULL;
    json_object_object_foreach(value, name, data) {
        TRY(add_json(context, executable, inout_function, name, data, list));
    }
    return NULL;
}

Error *input_value_read(const CommandContext *context, const char *option,
    const Executable *executable, uint32_t *inout_function, ArrayList *list) {
    OWN_JSON(object) = NULL;
    NamedArray array = {0};
    const Port *port;
    char name[FUNCTION_NAME_MAX];
    if (option[0] == '@') {
        TRY(read_json_file(option + 1, &object));
        TRY_WRAP(read_all(context, json_object_object_get(object, "value"), executable,
                     inout_function, list),
            "%s", option + 1);
        return NULL;
    }
    const size_t length = strcspn(option, "=");
    if (length >= sizeof name) FAIL(USAGE, "--input %.80s...: no input has such a name", option);
    (void)snprintf(name, sizeof name, "%.*s", (int)length, option);
    TRY(find_port(executable, inout_function, name, &port));
    TRY(read_value(context, port, name, option + length + 1, &array));
    return array_list_add(list, &array);
}
