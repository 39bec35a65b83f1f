/* Values that go out by ports. What stands in an item of a level is written first, then the item
 * itself: so children stand before their parent. */
#include "compiler/relay/relay_build_internal.h"
#include "compiler/relay/relay_lower_internal.h"

typedef struct PortWriter {
    RelayLower *lower;
    const RelayPortShape *shape;
    IrVariable **columns;   /* what is written so far: a value, an optional, or a list */
    IrVariable **pending;   /* by column: what the item being written has */
    IrType *types;          /* of the columns */
    IrFunction **functions; /* by level of a nested value: writes one; NULL until wanted */
} PortWriter;

static Error *write_node(
    PortWriter *writer, IrBlock *block, const RelayPortNode *node, IrVariable *value);

/* ---- columns ---- */

static IrType item_type(const RelayPortColumn *column) {
    IrType type;
    if (column->kind == RELAY_PORT_TENSOR)
        relay_ir_type(column->type, &type);
    else
        type =
            ir_type_shaped(column->kind == RELAY_PORT_OPTION ? DTYPE_BOOL : DTYPE_INT64, 0, NULL);
    return type;
}

/* How a column is kept while it is written. Numbers become a vector at the end. */
static IrTypeKind column_kind(const PortWriter *writer, const RelayPortColumn *column) {
    const RelayLevelForm form = writer->shape->levels[column->level].form;
    if (form == RELAY_LEVEL_ONE) return IR_TYPE_TENSOR;
    const bool optional = form == RELAY_LEVEL_OPTIONAL && column->kind == RELAY_PORT_TENSOR;
    return optional ? IR_TYPE_OPTIONAL : IR_TYPE_LIST;
}

/* A column with nothing in it. Level 0 is written once and begins with nothing at all. */
static Error *begin_column(PortWriter *writer, IrBlock *block, uint32_t index) {
    const RelayPortColumn *column = &writer->shape->columns[index];
    const IrTypeKind kind = column_kind(writer, column);
    const IrType item = item_type(column);
    IrVariable **out = &writer->columns[index];
    writer->types[index] = item;
    if (kind == IR_TYPE_TENSOR) return NULL;
    TRY(ir_type_container(writer->lower->module, kind, &item, &writer->types[index]));
    if (kind == IR_TYPE_LIST)
        TRY(ir_build_list(ir_at_end(block), 0, NULL, out));
    else
        TRY(ir_build_optional(ir_at_end(block), NULL, out));
    (*out)->type = writer->types[index];
    return NULL;
}

/* The item of a level is complete: writes what it has in each column of the level. */
static Error *end_item(PortWriter *writer, IrBlock *block, uint32_t level) {
    const IrCursor at = ir_at_end(block);
    for (uint32_t i = 0; i < writer->shape->column_count; i++) {
        const RelayPortColumn *column = &writer->shape->columns[i];
        IrVariable **made = &writer->columns[i], *item = writer->pending[i];
        if (column->level != level) continue;
        const IrTypeKind kind = column_kind(writer, column);
        if (kind == IR_TYPE_LIST)
            TRY(ir_build_list_append(at, *made, item, made));
        else if (kind == IR_TYPE_OPTIONAL)
            TRY(ir_build_optional(at, item, made));
        else
            *made = item;
    }
    return NULL;
}

/* ---- what goes through branches and functions ---- */

/* The columns that change where a node is written: *out_first to the end. */
static uint32_t reach(const RelayPortNode *node, uint32_t *out_first) {
    *out_first = relay_port_reach(node)->columns_first;
    return relay_port_reach(node)->columns_end - *out_first;
}

/* Some variables (NULL: none), then the columns. */
static Error *state(PortWriter *writer, const RelayPortNode *node, uint32_t before,
    IrVariable *const *variables, IrVariable ***out) {
    uint32_t first;
    const uint32_t count = reach(node, &first);
    TRY(relay_new(writer->lower->program, (size_t)before + count, sizeof **out, out));
    for (uint32_t i = 0; variables && i < before; i++) (*out)[i] = variables[i];
    for (uint32_t i = 0; i < count; i++) (*out)[before + i] = writer->columns[first + i];
    return NULL;
}

static void resume(PortWriter *writer, const RelayPortNode *node, IrVariable *const *columns) {
    uint32_t first;
    const uint32_t count = reach(node, &first);
    for (uint32_t i = 0; i < count; i++) writer->columns[first + i] = columns[i];
}

static Error *state_types(PortWriter *writer, const RelayPortNode *node, uint32_t before,
    const IrType *types, IrType **out) {
    uint32_t first;
    const uint32_t count = reach(node, &first);
    TRY(relay_new(writer->lower->program, (size_t)before + count, sizeof **out, out));
    for (uint32_t i = 0; i < before; i++) (*out)[i] = types[i];
    for (uint32_t i = 0; i < count; i++) (*out)[before + i] = writer->types[first + i];
    return NULL;
}

/* Makes a function of some values and the columns, and goes on inside. out_parameters: all. */
static Error *begin_function(PortWriter *writer, const RelayPortNode *node, const char *name,
    uint32_t before, const IrType *types, IrFunction **out, IrVariable ***out_parameters) {
    IrType *all;
    uint32_t first;
    const uint32_t count = before + reach(node, &first);
    TRY(state_types(writer, node, before, types, &all));
    TRY(ir_function_create(writer->lower->module, name, false, NULL, out));
    TRY(relay_new(writer->lower->program, count, sizeof **out_parameters, out_parameters));
    for (uint32_t i = 0; i < count; i++)
        TRY(ir_function_add_parameter(*out, NULL, &all[i], &(*out_parameters)[i]));
    resume(writer, node, *out_parameters + before);
    return NULL;
}

/* ---- values ---- */

static Error *write_fields(
    PortWriter *writer, IrBlock *block, const RelayPortCase *made, IrVariable *value) {
    for (uint32_t i = 0; i < made->count; i++) {
        IrVariable *field;
        TRY(ir_build_get_field(ir_at_end(block), value, i, &field));
        relay_ir_type(made->fields[i]->type, &field->type);
        TRY(write_node(writer, block, made->fields[i], field));
    }
    return NULL;
}

/* walk(list, count, columns) = match (list) { full(fields, rest) => walk(rest, count + 1, columns
 * with the fields), _ => (count, columns) }. Without sizes there is no count. */
static Error *make_walk(PortWriter *writer, const RelayPortNode *node, IrFunction **out) {
    const RelayPortCase *items = &node->cases[0];
    const uint32_t counts = node->column == RELAY_PORT_NONE ? 0 : 1;
    const IrType types[] = {ir_type_scalar(IR_TYPE_DATA), ir_type_scalar(IR_TYPE_INT)};
    IrConstructor *const cases[] = {items->constructor->made, NULL};
    IrVariable **parameters, **results, **next, *rest, *one;
    IrType *result_types;
    IrBlock **blocks;
    uint32_t first;
    const uint32_t count = counts + reach(node, &first);
    TRY(begin_function(writer, node, "items", 1 + counts, types, out, &parameters));
    TRY(state_types(writer, node, counts, types + 1, &result_types));
    TRY(ir_function_declare_results(*out, count, result_types));
    TRY(ir_build_match(ir_at_end((*out)->body), parameters[0], 2, cases, count, &blocks, &results));
    TRY(ir_block_set_results(blocks[1], count, parameters + 1));
    TRY(write_fields(writer, blocks[0], items, parameters[0]));
    TRY(end_item(writer, blocks[0], items->level));
    const IrCursor at = ir_at_end(blocks[0]);
    TRY(ir_build_get_field(at, parameters[0], items->count, &rest));
    rest->type = types[0];
    TRY(state(writer, node, 1 + counts, NULL, &next));
    next[0] = rest;
    TRY(ir_constant_int(writer->lower->module, 1, &one));
    if (counts > 0) TRY(ir_build_int_op(at, INT_OP_ADD, parameters[1], one, &next[1]));
    IrVariable **walked;
    TRY(ir_build_call(at, *out, 1 + count, next, &walked));
    TRY(ir_block_set_results(blocks[0], count, walked));
    return ir_function_set_results(*out, count, results, NULL, result_types);
}

static Error *write_list(
    PortWriter *writer, IrBlock *block, const RelayPortNode *node, IrVariable *value) {
    const uint32_t counts = node->column == RELAY_PORT_NONE ? 0 : 1;
    IrVariable **arguments, **results, *start[2] = {value, NULL};
    IrFunction *walk;
    uint32_t first;
    const uint32_t count = 1 + counts + reach(node, &first);
    TRY(ir_constant_int(writer->lower->module, 0, &start[1]));
    TRY(state(writer, node, 1 + counts, start, &arguments));
    TRY(make_walk(writer, node, &walk));
    TRY(ir_build_call(ir_at_end(block), walk, count, arguments, &results));
    resume(writer, node, results + counts);
    if (counts == 0) return NULL;
    return ir_build_make_tensor(
        ir_at_end(block), results[0], DTYPE_INT64, &writer->pending[node->column]);
}

/* The presence or tag of a case. */
static Error *write_tag(PortWriter *writer, IrBlock *block, const RelayPortNode *node,
    uint32_t index, IrVariable **out) {
    IrVariable *tag;
    if (node->kind == RELAY_PORT_CHOICE) {
        TRY(ir_constant_int(writer->lower->module, index, &tag));
        return ir_build_make_tensor(ir_at_end(block), tag, DTYPE_INT64, out);
    }
    TRY(ir_constant_bool(writer->lower->module, index == 0, &tag));
    return ir_build_make_tensor(ir_at_end(block), tag, DTYPE_BOOL, out);
}

static Error *write_choice(
    PortWriter *writer, IrBlock *block, const RelayPortNode *node, IrVariable *value) {
    const uint32_t tags = node->column == RELAY_PORT_NONE ? 0 : 1;
    const IrType tag_type =
        ir_type_shaped(node->kind == RELAY_PORT_OPTION ? DTYPE_BOOL : DTYPE_INT64, 0, NULL);
    IrVariable **before, **results, **written, *tag = NULL;
    IrConstructor **cases;
    IrBlock **blocks;
    IrType *types;
    uint32_t first;
    const uint32_t count = tags + reach(node, &first);
    TRY(relay_new(writer->lower->program, node->case_count, sizeof *cases, &cases));
    for (uint32_t i = 0; i + 1 < node->case_count; i++)
        cases[i] = node->cases[i].constructor->made; /* the last needs no test */
    TRY(state_types(writer, node, tags, &tag_type, &types));
    TRY(state(writer, node, 0, NULL, &before));
    TRY(ir_build_match(ir_at_end(block), value, node->case_count, cases, count, &blocks, &results));
    for (uint32_t i = 0; i < node->case_count; i++) {
        const RelayPortCase *made = &node->cases[i];
        resume(writer, node, before);
        TRY(write_fields(writer, blocks[i], made, value));
        if (made->count > 0) TRY(end_item(writer, blocks[i], made->level));
        if (tags > 0) TRY(write_tag(writer, blocks[i], node, i, &tag));
        TRY(state(writer, node, tags, &tag, &written));
        TRY(ir_block_set_results(blocks[i], count, written));
    }
    for (uint32_t i = 0; i < count; i++) results[i]->type = types[i];
    resume(writer, node, results + tags);
    if (tags > 0) writer->pending[node->column] = results[0];
    return NULL;
}

/* Makes the function that writes one value: the value, columns -> columns. */
static Error *make_writer(PortWriter *writer, const RelayPortNode *node) {
    const IrType type = ir_type_scalar(IR_TYPE_DATA);
    IrVariable **parameters, **outer, **results;
    IrType *types;
    IrFunction *made;
    uint32_t first;
    const uint32_t count = reach(node, &first);
    TRY(state(writer, node, 0, NULL, &outer));
    TRY(state_types(writer, node, 0, NULL, &types));
    TRY(begin_function(writer, node, "nested", 1, &type, &made, &parameters));
    TRY(ir_function_declare_results(made, count, types));
    writer->functions[node->inner->level] = made;
    TRY(write_node(writer, made->body, node->inner, parameters[0]));
    TRY(end_item(writer, made->body, node->inner->level));
    TRY(state(writer, node, 0, NULL, &results));
    resume(writer, node, outer);
    return ir_function_set_results(made, count, results, NULL, types);
}

static Error *write_nested(
    PortWriter *writer, IrBlock *block, const RelayPortNode *node, IrVariable *value) {
    const uint32_t level = node->inner->level;
    IrVariable **arguments, **results;
    uint32_t first;
    const uint32_t count = reach(node, &first);
    if (!writer->functions[level]) TRY(make_writer(writer, node));
    TRY(state(writer, node, 1, &value, &arguments));
    TRY(ir_build_call(ir_at_end(block), writer->functions[level], 1 + count, arguments, &results));
    resume(writer, node, results);
    return NULL;
}

/* Depth: as of the shape. */
static Error *write_node(
    PortWriter *writer, IrBlock *block, const RelayPortNode *node, IrVariable *value) {
    switch (node->kind) {
    case RELAY_PORT_TENSOR:
        writer->pending[node->column] = value;
        return NULL;
    case RELAY_PORT_RECORD:
        return write_fields(writer, block, &node->cases[0], value);
    case RELAY_PORT_LIST:
        return write_list(writer, block, node, value);
    case RELAY_PORT_OPTION:
    case RELAY_PORT_CHOICE:
        return write_choice(writer, block, node, value);
    case RELAY_PORT_NESTED:
        return write_nested(writer, block, node, value);
    case RELAY_PORT_AGAIN:
        break;
    }
    return write_nested(writer, block, node->target, value);
}

/* ---- ports ---- */

static Error *end_column(PortWriter *writer, IrBlock *block, uint32_t index) {
    const RelayPortColumn *column = &writer->shape->columns[index];
    const int64_t any[] = {IR_DIM_UNKNOWN};
    const IrType item = item_type(column);
    IrVariable **made = &writer->columns[index], *length;
    if (column->kind == RELAY_PORT_TENSOR) return NULL;
    if (writer->types[index].kind != IR_TYPE_LIST) return NULL;
    TRY(ir_build_call_packed(ir_at_end(block), IR_PACKED_LIST_SIZE, made, &length));
    TRY(ir_build_list_concat_declared(ir_at_end(block), *made, length, 0, true, &item, made));
    writer->types[index] = ir_type_shaped(item.dtype, 1, any);
    return NULL;
}

Error *relay_port_write(RelayLower *lower, IrBlock *block, const RelayPortShape *shape,
    IrVariable *value, IrVariable **out_ports, IrType *out_types) {
    PortWriter writer = {.lower = lower, .shape = shape, .columns = out_ports, .types = out_types};
    TRY(relay_new(lower->program, shape->column_count, sizeof *writer.pending, &writer.pending));
    TRY(relay_new(lower->program, shape->level_count, sizeof *writer.functions, &writer.functions));
    for (uint32_t i = 0; i < shape->column_count; i++) TRY(begin_column(&writer, block, i));
    TRY(write_node(&writer, block, shape->root, value));
    TRY(end_item(&writer, block, 0));
    for (uint32_t i = 0; i < shape->column_count; i++) TRY(end_column(&writer, block, i));
    return NULL;
}
