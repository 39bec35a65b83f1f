#include "compiler/relay/relay_port_levels.h"

#include "compiler/relay/relay_build_internal.h"

/* ---- checks ---- */

Error *relay_port_check(
    IrBlock *block, IrVariable *condition, const TextBuilder *text, IrVariable **inout) {
    IrBlock *blocks[2];
    IrVariable **results, **never;
    TRY(text_builder_check(text));
    TRY(ir_build_if(ir_at_end(block), condition, 1, &blocks[0], &blocks[1], &results));
    TRY(ir_block_set_results(blocks[0], 1, inout));
    TRY(ir_build_fatal(ir_at_end(blocks[1]), text_builder_get(text), 1, &never));
    TRY(ir_block_set_results(blocks[1], 1, never));
    results[0]->type = (*inout)->type;
    *inout = results[0];
    return NULL;
}

Error *relay_port_compute(IrBlock *block, IntOpKind kind, IrVariable *a, int64_t number,
    bool number_first, IrVariable **out) {
    IrVariable *constant;
    TRY(ir_constant_int(block->function->module, number, &constant));
    return ir_build_int_op(
        ir_at_end(block), kind, number_first ? constant : a, number_first ? a : constant, out);
}

static const char *first_name(const RelayPortReader *reader, uint32_t level) {
    const RelayPortShape *shape = reader->shape;
    for (uint32_t i = 0; i < shape->column_count; i++)
        if (shape->columns[i].level == level) return shape->columns[i].name;
    return "";
}

/* Says that a level has more or fewer items than the values that they belong to. */
static void write_mismatch(const RelayPortReader *reader, uint32_t level, TextBuilder *text) {
    const RelayPortNode *maker = reader->shape->levels[level].maker;
    const char *items = first_name(reader, level), *own = "";
    if (maker->column != RELAY_PORT_NONE) own = reader->shape->columns[maker->column].name;
    if (maker->kind == RELAY_PORT_NESTED)
        text_appendf(text, "input %s has more or fewer items than one value of type %s", items,
            maker->type->data->name);
    else if (maker->column == RELAY_PORT_NONE)
        text_appendf(text, "input %s has more than one item", items);
    else if (maker->kind == RELAY_PORT_LIST)
        text_appendf(text,
            "the numbers in input %s do not add up to the number of items of input %s", own, items);
    else if (maker->kind == RELAY_PORT_OPTION)
        text_appendf(text, "input %s is not true as often as input %s has items", own, items);
    else
        text_appendf(text, "input %s does not name a constructor as often as input %s has items",
            own, items);
}

Error *relay_port_levels_check(RelayPortReader *reader, IrBlock *block, uint32_t level,
    IrVariable *condition, IrVariable **inout) {
    TextBuilder OWN_TEXT(text) = {0};
    write_mismatch(reader, level, &text);
    return relay_port_check(block, condition, &text, inout);
}

Error *relay_port_levels_take(
    RelayPortReader *reader, IrBlock *block, uint32_t level, IrVariable **out) {
    TRY(relay_port_compute(block, INT_OP_SUB, reader->left[level], 1, false, out));
    reader->left[level] = *out;
    return NULL;
}

Error *relay_port_levels_take_checked(
    RelayPortReader *reader, IrBlock *block, uint32_t level, IrVariable **out) {
    IrVariable *some;
    TRY(relay_port_compute(block, INT_OP_LT, reader->left[level], 0, true, &some));
    TRY(relay_port_levels_check(reader, block, level, some, &reader->left[level]));
    return relay_port_levels_take(reader, block, level, out);
}

/* ---- ports ---- */

static Error *add_port(RelayPortReader *reader, uint32_t index) {
    const RelayPortColumn *column = &reader->shape->columns[index];
    const RelayLevelForm form = reader->shape->levels[column->level].form;
    const int64_t any[] = {IR_DIM_UNKNOWN};
    IrType type, item;
    if (column->kind == RELAY_PORT_TENSOR) {
        relay_ir_type(column->type, &item);
        for (uint32_t i = 0; i < column->type->rank; i++)
            item.dims[i] = column->type->dims[i] < 0 ? IR_DIM_UNKNOWN : column->type->dims[i];
        type = item;
        if (form != RELAY_LEVEL_ONE)
            TRY(ir_type_container(reader->lower->module,
                form == RELAY_LEVEL_MANY ? IR_TYPE_LIST : IR_TYPE_OPTIONAL, &item, &type));
    } else {
        type = ir_type_shaped(column->kind == RELAY_PORT_OPTION ? DTYPE_BOOL : DTYPE_INT64,
            form == RELAY_LEVEL_ONE ? 0 : 1, any);
    }
    return ir_function_add_parameter(
        reader->function, column->name, &type, &reader->columns[index]);
}

static Error *count_items(RelayPortReader *reader, uint32_t index, IrVariable **out) {
    const RelayPortColumn *column = &reader->shape->columns[index];
    IrBlock *block = reader->function->body, *blocks[2];
    const IrCursor at = ir_at_end(block);
    IrVariable *port = reader->columns[index], *shape, *has, **results, *number;
    if (column->kind != RELAY_PORT_TENSOR) {
        TRY(ir_build_shape_of(at, port, &shape));
        return ir_build_read_scalar(at, shape, IR_TYPE_INT, out);
    }
    if (reader->shape->levels[column->level].form == RELAY_LEVEL_MANY)
        return ir_build_call_packed(at, IR_PACKED_LIST_SIZE, &port, out);
    TRY(ir_build_call_packed(at, IR_PACKED_OPTIONAL_HAS_ELEMENT, &port, &has));
    TRY(ir_build_if(at, has, 1, &blocks[0], &blocks[1], &results));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(ir_constant_int(reader->lower->module, i == 0, &number));
        TRY(ir_block_set_results(blocks[i], 1, &number));
    }
    *out = results[0];
    (*out)->type = ir_type_scalar(IR_TYPE_INT);
    return NULL;
}

/* Counts the items of a level, of which each port has to have as many. */
static Error *count_level(RelayPortReader *reader, uint32_t level) {
    const RelayPortShape *shape = reader->shape;
    const char *first = NULL;
    IrVariable *count, *same;
    TRY(ir_constant_int(reader->lower->module, 0, &reader->left[level]));
    for (uint32_t i = 0; i < shape->column_count; i++) {
        TextBuilder OWN_TEXT(text) = {0};
        if (shape->columns[i].level != level) continue;
        TRY(count_items(reader, i, &count));
        if (!first) {
            first = shape->columns[i].name;
            reader->left[level] = count;
            continue;
        }
        text_appendf(&text, "inputs %s and %s have different numbers of items", first,
            shape->columns[i].name);
        TRY(ir_build_int_op(
            ir_at_end(reader->function->body), INT_OP_EQ, reader->left[level], count, &same));
        TRY(relay_port_check(reader->function->body, same, &text, &reader->left[level]));
    }
    return NULL;
}

Error *relay_port_levels_begin(RelayPortReader *reader) {
    const RelayPortShape *shape = reader->shape;
    RelayProgram *program = reader->lower->program;
    TRY(relay_new(program, shape->column_count, sizeof *reader->columns, &reader->columns));
    TRY(relay_new(program, shape->level_count, sizeof *reader->left, &reader->left));
    TRY(relay_new(program, shape->level_count, sizeof *reader->functions, &reader->functions));
    for (uint32_t i = 0; i < shape->column_count; i++) TRY(add_port(reader, i));
    for (uint32_t i = 1; i < shape->level_count; i++) TRY(count_level(reader, i));
    return NULL;
}

static bool is_one_tensor(const RelayPortShape *shape, uint32_t level) {
    bool tensor = false;
    for (uint32_t i = 0; i < shape->column_count; i++)
        tensor |= shape->columns[i].level == level && shape->columns[i].kind == RELAY_PORT_TENSOR;
    return tensor && shape->levels[level].form == RELAY_LEVEL_OPTIONAL;
}

/* Whether something may be left of a level. Of the outermost list all items are read, and an
 * outermost option has one item at most where one of its ports is an optional. */
static bool may_be_left(const RelayPortShape *shape, uint32_t level) {
    const RelayPortNode *maker = shape->levels[level].maker;
    if (!shape->levels[level].has_columns) return false;
    if (maker->column != RELAY_PORT_NONE || maker->kind == RELAY_PORT_NESTED) return true;
    return maker->kind != RELAY_PORT_LIST && !is_one_tensor(shape, level);
}

Error *relay_port_levels_end(RelayPortReader *reader, IrVariable **inout) {
    IrBlock *block = reader->function->body;
    IrVariable *none;
    for (uint32_t i = 1; i < reader->shape->level_count; i++) {
        if (!may_be_left(reader->shape, i)) continue;
        TRY(relay_port_compute(block, INT_OP_EQ, reader->left[i], 0, false, &none));
        TRY(relay_port_levels_check(reader, block, i, none, inout));
    }
    return NULL;
}
