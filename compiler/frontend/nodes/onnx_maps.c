/* ZipMap, DictVectorizer and CastMap, and the ports of maps. */
#include "compiler/frontend/nodes/onnx_maps.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/allocator.h"

enum { PART_KEYS, PART_VALUES };

static bool is_map(const Onnx__TypeProto *type) {
    return type && type->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE && type->map_type;
}

static bool is_list_of_maps(const Onnx__TypeProto *type) {
    return type && type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE &&
           type->sequence_type && is_map(type->sequence_type->elem_type);
}

bool onnx_type_is_map(const Onnx__TypeProto *type) { return is_map(type) || is_list_of_maps(type); }

/* ---- ports ---- */

Error *onnx_map_port(IrModule *module, const char *name, const char *part, const char **out) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "%s.%s", name, part);
    TRY(text_builder_check(&text));
    return ir_module_text(module, text_builder_get(&text), out);
}

Error *onnx_map_types(const Onnx__TypeProto *type, IrType out[2]) {
    const bool list = is_list_of_maps(type);
    const Onnx__TypeProto__Map *map =
        list ? type->sequence_type->elem_type->map_type : type->map_type;
    const int64_t unknown[2] = {IR_DIM_UNKNOWN, IR_DIM_UNKNOWN};
    DType keys, values = DTYPE_NONE;
    TRY(onnx_dtype(map->key_type, &keys));
    if (map->value_type && map->value_type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
        map->value_type->tensor_type->elem_type)
        TRY(onnx_dtype(map->value_type->tensor_type->elem_type, &values));
    if (keys != DTYPE_INT64 && keys != DTYPE_STRING)
        FAIL(UNSUPPORTED, "a map with keys of %s; keys are int64 or strings", dtype_name(keys));
    out[PART_KEYS] = ir_type_shaped(keys, 1, unknown);
    out[PART_VALUES] = ir_type_shaped(values, list ? 2 : 1, unknown);
    return NULL;
}

static Error *make_map(IrCursor at, IrVariable *keys, IrVariable *values, IrVariable **out) {
    IrVariable *const parts[2] = {keys, values};
    return ir_build_construct(at, NULL, 2, parts, out);
}

Error *onnx_map_open(IrCursor at, IrVariable *map, IrVariable **out_keys, IrVariable **out_values) {
    const IrBinding *binding = map->binding;
    if (binding && binding->kind == IR_CONSTRUCT && !binding->constructor &&
        binding->operand_count == 2) {
        *out_keys = binding->operands[PART_KEYS];
        *out_values = binding->operands[PART_VALUES];
        return NULL;
    }
    if (map->type.kind != IR_TYPE_DATA && map->type.kind != IR_TYPE_UNKNOWN)
        FAIL(INVALID, "%s is a tensor or a sequence, not a map", map->name ? map->name : "a value");
    TRY(ir_build_get_field(at, map, PART_KEYS, out_keys));
    return ir_build_get_field(at, map, PART_VALUES, out_values);
}

/* The keys, if all of them differ; otherwise the run fails. */
static Error *check_keys(IrBlock *block, const char *name, IrVariable *keys, IrVariable **out) {
    TextBuilder OWN_TEXT(text) = {0};
    OWN(Attributes, attributes) = NULL;
    IrVariable *count, *found, *same, **results, **unused, **made;
    IrBlock *then_block, *else_block;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "sorted", 0));
    TRY(ir_build_operator(ir_at_end(block), "Unique", attributes, 1, &keys, 1, &made));
    TRY(ir_build_simple(ir_at_end(block), "Size", NULL, made[0], NULL, NULL, &found));
    TRY(ir_build_simple(ir_at_end(block), "Size", NULL, keys, NULL, NULL, &count));
    TRY(ir_build_simple(ir_at_end(block), "Equal", NULL, found, count, NULL, &same));
    TRY(ir_build_if(ir_at_end(block), same, 1, &then_block, &else_block, &results));
    TRY(ir_block_set_results(then_block, 1, &keys));
    text_appendf(&text, "two keys of the map %s are equal; give each key once", name);
    TRY(text_builder_check(&text));
    TRY(ir_build_fatal(ir_at_end(else_block), text_builder_get(&text), 1, &unused));
    TRY(ir_block_set_results(else_block, 1, unused));
    results[0]->type = keys->type;
    *out = results[0];
    return NULL;
}

Error *onnx_map_add_parameters(
    IrFunction *function, const Onnx__ValueInfoProto *info, IrVariable **out_map) {
    const char *const parts[2] = {"keys", "values"}, *port;
    IrVariable *tensors[2];
    IrType types[2];
    uint32_t length;
    if (!is_map(info->type)) FAIL(UNSUPPORTED, "a sequence of maps; give one map");
    TRY(onnx_map_types(info->type, types));
    TRY(onnx_map_port(function->module, info->name, "length", &port));
    TRY(ir_module_symbol(function->module, port, &length));
    for (uint32_t i = 0; i < 2; i++) {
        types[i].dims[0] = ir_dim_symbol(length);
        TRY(onnx_map_port(function->module, info->name, parts[i], &port));
        TRY(ir_function_add_parameter(function, port, &types[i], &tensors[i]));
    }
    TRY(check_keys(function->body, info->name, tensors[PART_KEYS], &tensors[PART_KEYS]));
    return make_map(ir_at_end(function->body), tensors[0], tensors[1], out_map);
}

/* ---- lists of keys in a node ---- */

/* A node's list of keys: integers or strings. */
typedef struct KeyList {
    const int64_t *ints;                /* NULL: strings */
    const ProtobufCBinaryData *strings; /* NULL: integers */
    size_t count;
} KeyList;

static Error *read_keys(const OnnxNode *node, const char *ints, const char *strings, KeyList *out) {
    const Onnx__AttributeProto *list, *texts = onnx_attribute_find(node, strings);
    TRY(onnx_attribute_ints(node, ints, &list));
    const size_t int_count = list ? list->n_ints : 0, text_count = texts ? texts->n_strings : 0;
    if (int_count && text_count) FAIL(UNSUPPORTED, "both %s and %s", ints, strings);
    if (int_count + text_count == 0) FAIL(UNSUPPORTED, "neither %s nor %s", ints, strings);
    *out = int_count ? (KeyList){.ints = list->ints, .count = int_count}
                     : (KeyList){.strings = texts->strings, .count = text_count};
    return NULL;
}

static Error *make_keys(const OnnxNode *node, const KeyList *keys, IrVariable **out) {
    return keys->ints ? onnx_constant_ints(node, keys->ints, keys->count, out)
                      : onnx_constant_strings(node, 1, keys->count, keys->strings, out);
}

/* ---- ZipMap ---- */

typedef struct Place {
    const KeyList *keys;
    int64_t index;
} Place;

static int compare_texts(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b) {
    const size_t shorter = a->len < b->len ? a->len : b->len;
    const int order = shorter ? memcmp(a->data, b->data, shorter) : 0;
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_places(const void *a, const void *b) {
    const Place *x = a, *y = b;
    const KeyList *keys = x->keys;
    if (keys->strings) return compare_texts(&keys->strings[x->index], &keys->strings[y->index]);
    return (keys->ints[x->index] > keys->ints[y->index]) -
           (keys->ints[x->index] < keys->ints[y->index]);
}

static Error *fail_twice(const KeyList *keys, int64_t index) {
    if (keys->ints) FAIL(INVALID, "two class labels are %" PRId64, keys->ints[index]);
    const ProtobufCBinaryData *text = &keys->strings[index];
    FAIL(INVALID, "two class labels are \"%.*s\"", (int)(text->len < 40 ? text->len : 40),
        (const char *)text->data);
}

/* Sorts the labels, as the keys of a map are. */
static Error *sort_places(const KeyList *keys, Place *places, bool *out_sorted) {
    *out_sorted = true;
    for (size_t i = 0; i < keys->count; i++) places[i] = (Place){keys, (int64_t)i};
    qsort(places, keys->count, sizeof *places, compare_places);
    for (size_t i = 0; i < keys->count; i++) {
        if (i > 0 && compare_places(&places[i - 1], &places[i]) == 0)
            return fail_twice(keys, places[i].index);
        *out_sorted = *out_sorted && places[i].index == (int64_t)i;
    }
    return NULL;
}

static Error *take(
    const OnnxNode *node, int64_t axis, IrVariable *from, IrVariable *places, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return ir_build_simple(onnx_at(node), "Gather", attributes, from, places, NULL, out);
}

static Error *order_columns(const OnnxNode *node, const Place *places, size_t count,
    IrVariable **inout_keys, IrVariable **inout_values) {
    IrVariable *order;
    void *memory;
    TRY(memory_alloc(count, sizeof(int64_t), &memory));
    int64_t *indices = memory;
    for (size_t i = 0; i < count; i++) indices[i] = places[i].index;
    Error *error = onnx_constant_ints(node, indices, count, &order);
    memory_free(memory);
    if (error) return error;
    TRY(take(node, 0, *inout_keys, order, inout_keys));
    return take(node, 1, *inout_values, order, inout_values);
}

/* Rows of one score for each label. */
static Error *read_rows(const OnnxNode *node, size_t count, IrVariable **out) {
    OWN(Attributes, flat) = NULL;
    OWN(Attributes, split) = NULL;
    IrVariable *rows, *lengths, **parts, *operands[2];
    const int64_t length = (int64_t)count;
    TRY(attributes_create(&flat));
    TRY(attributes_set_int(flat, "axis", -1));
    TRY(attributes_create(&split));
    TRY(attributes_set_int(split, "axis", 1));
    TRY(ir_build_simple(onnx_at(node), "Flatten", flat, node->inputs[0], NULL, NULL, &rows));
    TRY(onnx_constant_ints(node, &length, 1, &lengths));
    operands[0] = rows;
    operands[1] = lengths;
    TRY(ir_build_operator(onnx_at(node), "Split", split, 2, operands, 1, &parts));
    *out = parts[0];
    return NULL;
}

Error *onnx_convert_zip_map(const OnnxNode *node) {
    static const char *const known[] = {"classlabels_int64s", "classlabels_strings", NULL};
    KeyList labels;
    IrVariable *keys, *values, *map;
    void *memory;
    bool sorted;
    TRY(onnx_attribute_check(node, known));
    if (!onnx_input(node, 0)) FAIL(INVALID, "input 0 is missing");
    TRY(read_keys(node, known[0], known[1], &labels));
    TRY(make_keys(node, &labels, &keys));
    TRY(read_rows(node, labels.count, &values));
    TRY(memory_alloc(labels.count, sizeof(Place), &memory));
    Error *error = sort_places(&labels, memory, &sorted);
    if (!error && !sorted) error = order_columns(node, memory, labels.count, &keys, &values);
    memory_free(memory);
    if (error) return error;
    TRY(make_map(onnx_at(node), keys, values, &map));
    return onnx_node_set_output(node, 0, map);
}

/* ---- DictVectorizer ---- */

static Error *open_input(const OnnxNode *node, IrVariable **out_keys, IrVariable **out_values) {
    if (!onnx_input(node, 0)) FAIL(INVALID, "input 0 is missing");
    return onnx_map_open(onnx_at(node), node->inputs[0], out_keys, out_values);
}

/* One element that stands for a key that is not there: 0, or the empty text. */
static Error *make_nothing(const OnnxNode *node, DType dtype, IrVariable **out) {
    const ProtobufCBinaryData empty = {0, NULL};
    const int64_t zero = 0;
    if (dtype == DTYPE_STRING) return onnx_constant_strings(node, 1, 1, &empty, out);
    TRY(onnx_constant_ints(node, &zero, 1, out));
    return ir_build_cast(onnx_at(node), *out, dtype, out);
}

static Error *join(
    const OnnxNode *node, int64_t axis, IrVariable *a, IrVariable *b, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return ir_build_simple(onnx_at(node), "Concat", attributes, a, b, NULL, out);
}

/* The place of each vocabulary entry among the map's keys; for others the place behind them. */
static Error *find_places(
    const OnnxNode *node, const KeyList *vocabulary, IrVariable *keys, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    OWN(Tensor, ones) = NULL;
    IrVariable *column, *known, *behind;
    const int64_t dims[2] = {(int64_t)vocabulary->count, 1};
    const Shape shape = shape_make(2, dims);
    TRY(make_keys(node, vocabulary, &column));
    TRY(onnx_reshape(node, column, 2, dims, &column));
    TRY(ir_build_simple(onnx_at(node), "Equal", NULL, column, keys, NULL, &known));
    TRY(ir_build_cast(onnx_at(node), known, DTYPE_INT32, &known));
    TRY(tensor_create_on_host(node->import->device, DTYPE_INT32, &shape, &ones));
    for (int64_t i = 0; i < dims[0]; i++) ((int32_t *)tensor_data(ones))[i] = 1;
    TRY(ir_constant_tensor(node->import->module, ones, &behind));
    TRY(join(node, 1, known, behind, &known));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 1));
    TRY(attributes_set_int(attributes, "keepdims", 0));
    return ir_build_simple(onnx_at(node), "ArgMax", attributes, known, NULL, NULL, out);
}

/* The values of a vocabulary's entries as one row. */
Error *onnx_convert_dict_vectorizer(const OnnxNode *node) {
    static const char *const known[] = {"int64_vocabulary", "string_vocabulary", NULL};
    KeyList vocabulary;
    IrVariable *keys, *values, *nothing, *places, *row;
    TRY(onnx_attribute_check(node, known));
    TRY(read_keys(node, known[0], known[1], &vocabulary));
    TRY(open_input(node, &keys, &values));
    const DType dtype = values->type.dtype;
    if (dtype == DTYPE_NONE) FAIL(UNSUPPORTED, "a map whose type is not told");
    if (keys->type.dtype != (vocabulary.ints ? DTYPE_INT64 : DTYPE_STRING))
        FAIL(INVALID, "a map with keys of %s and a vocabulary of %s", dtype_name(keys->type.dtype),
            vocabulary.ints ? "int64" : "strings");
    TRY(find_places(node, &vocabulary, keys, &places));
    TRY(make_nothing(node, dtype, &nothing));
    TRY(join(node, 0, values, nothing, &values));
    TRY(take(node, 0, values, places, &row));
    const int64_t dims[2] = {1, (int64_t)vocabulary.count};
    TRY(onnx_reshape(node, row, 2, dims, &row));
    return onnx_node_set_output(node, 0, row);
}

/* ---- CastMap ---- */

static Error *read_word(const OnnxNode *node, const char *name, const char *const *words,
    uint32_t count, uint32_t *out) {
    const Onnx__AttributeProto *given = onnx_attribute_find(node, name);
    *out = 0;
    if (!given) return NULL;
    for (*out = 0; *out < count; (*out)++)
        if (onnx_text_is(&given->s, words[*out])) return NULL;
    FAIL(UNSUPPORTED, "this %s", name);
}

/* The values in the order of their keys. */
static Error *order_values(
    const OnnxNode *node, IrVariable *keys, IrVariable *values, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    IrVariable **sorted, *places, *operands[2];
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "largest", 0));
    operands[0] = keys;
    TRY(ir_build_simple(onnx_at(node), "Shape", NULL, keys, NULL, NULL, &operands[1]));
    TRY(ir_build_operator(onnx_at(node), "TopK", attributes, 2, operands, 2, &sorted));
    places = sorted[1];
    return take(node, 0, values, places, out);
}

/* Places values by their keys in a row of `size`; keys from `size` on are left out. A negative key
 * ends the run. */
static Error *spread_values(const OnnxNode *node, IrVariable *keys, IrVariable *values,
    int64_t size, DType dtype, IrVariable **out) {
    const ProtobufCBinaryData text = {3, (uint8_t *)(uintptr_t) "0.f"};
    IrVariable *row, *least, *most, *length, *inside;
    const int64_t after = size + 1, zero = 0, minus = -size - 2;
    const int64_t axis = 0;
    if (size < 1 || size > INT32_MAX) FAIL(INVALID, "max_map is %" PRId64, size);
    if (dtype == DTYPE_STRING)
        TRY(onnx_constant_strings(node, 1, 1, &text, &row));
    else
        TRY(make_nothing(node, dtype, &row));
    TRY(onnx_constant_ints(node, &after, 1, &length));
    TRY(ir_build_simple(onnx_at(node), "Expand", NULL, row, length, NULL, &row));
    /* negative keys become a place before the first, which ScatterElements refuses */
    TRY(onnx_constant_ints(node, &zero, 1, &least));
    TRY(onnx_constant_ints(node, &minus, 1, &most));
    TRY(ir_build_simple(onnx_at(node), "Less", NULL, keys, least, NULL, &inside));
    TRY(ir_build_simple(onnx_at(node), "Where", NULL, inside, most, keys, &keys));
    TRY(onnx_constant_ints(node, &size, 1, &most));
    TRY(ir_build_simple(onnx_at(node), "Min", NULL, keys, most, NULL, &keys));
    TRY(ir_build_simple(onnx_at(node), "ScatterElements", NULL, row, keys, values, &row));
    IrVariable *operands[4] = {row, least, most, NULL}, **cut;
    TRY(onnx_constant_ints(node, &axis, 1, &operands[3]));
    TRY(ir_build_operator(onnx_at(node), "Slice", NULL, 4, operands, 1, &cut));
    *out = cut[0];
    return NULL;
}

Error *onnx_convert_cast_map(const OnnxNode *node) {
    static const char *const known[] = {"cast_to", "map_form", "max_map", NULL};
    static const char *const casts[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_STRING, DTYPE_INT64};
    static const char *const forms[] = {"DENSE", "SPARSE"};
    IrVariable *keys, *values, *row;
    uint32_t cast, form;
    int64_t size;
    TRY(onnx_attribute_check(node, known));
    TRY(read_word(node, "cast_to", casts, 3, &cast));
    TRY(read_word(node, "map_form", forms, 2, &form));
    TRY(onnx_attribute_int(node, "max_map", 1, &size));
    TRY(open_input(node, &keys, &values));
    if (keys->type.dtype != DTYPE_INT64)
        FAIL(INVALID, "a map with keys of %s, not int64", dtype_name(keys->type.dtype));
    if (values->type.dtype != dtypes[cast])
        TRY(ir_build_cast(onnx_at(node), values, dtypes[cast], &values));
    if (form == 0)
        TRY(order_values(node, keys, values, &row));
    else
        TRY(spread_values(node, keys, values, size, dtypes[cast], &row));
    const int64_t dims[2] = {1, -1};
    TRY(onnx_reshape(node, row, 2, dims, &row));
    return onnx_node_set_output(node, 0, row);
}
