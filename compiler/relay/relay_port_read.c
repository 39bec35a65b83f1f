/* Values that come in by ports, read from the end of each port to its start. */
#include "compiler/relay/relay_build_internal.h"
#include "compiler/relay/relay_port_levels.h"

static Error *read_node(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable **out);

/* ---- what goes through branches, loops and functions ---- */

/* The levels that change where a node is read: *out_first to the end. */
static uint32_t reach(const RelayPortNode *node, uint32_t *out_first) {
    *out_first = relay_port_reach(node)->levels_first;
    return relay_port_reach(node)->levels_end - *out_first;
}

/* A value, then what is left of the levels. */
static Error *state(
    RelayPortReader *reader, const RelayPortNode *node, IrVariable *value, IrVariable ***out) {
    uint32_t first;
    const uint32_t count = reach(node, &first);
    TRY(relay_new(reader->lower->program, (size_t)count + 1, sizeof **out, out));
    (*out)[0] = value;
    for (uint32_t i = 0; i < count; i++) (*out)[1 + i] = reader->left[first + i];
    return NULL;
}

/* Goes on with what a state has. Returns its value. */
static IrVariable *resume(
    RelayPortReader *reader, const RelayPortNode *node, IrVariable *const *variables) {
    uint32_t first;
    const uint32_t count = reach(node, &first);
    for (uint32_t i = 0; i < count; i++) reader->left[first + i] = variables[1 + i];
    return variables[0];
}

static Error *state_types(RelayPortReader *reader, uint32_t count, IrType **out) {
    TRY(relay_new(reader->lower->program, (size_t)count + 1, sizeof **out, out));
    (*out)[0] = ir_type_scalar(IR_TYPE_DATA);
    for (uint32_t i = 0; i < count; i++) (*out)[1 + i] = ir_type_scalar(IR_TYPE_INT);
    return NULL;
}

/* ---- values ---- */

static Error *read_tensor(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable **out) {
    IrVariable *column = reader->columns[node->column], *const operands[] = {column, position};
    const RelayLevelForm form = reader->shape->levels[node->level].form;
    *out = column;
    if (form == RELAY_LEVEL_ONE) return NULL;
    if (form == RELAY_LEVEL_OPTIONAL)
        TRY(ir_build_call_packed(ir_at_end(block), IR_PACKED_OPTIONAL_GET_ELEMENT, &column, out));
    else
        TRY(ir_build_call_packed(ir_at_end(block), IR_PACKED_SEQUENCE_AT, operands, out));
    (*out)->type = *column->type.element;
    return NULL;
}

/* Reads the size, presence or tag of a value as an int or a bool. */
static Error *read_own(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrTypeKind kind, IrVariable **out) {
    IrVariable *tensor = reader->columns[node->column], *place;
    const IrCursor at = ir_at_end(block);
    if (reader->shape->levels[node->level].form != RELAY_LEVEL_ONE) {
        TRY(ir_build_make_tensor(at, position, DTYPE_INT64, &place));
        TRY(ir_build_simple(at, "Gather", NULL, tensor, place, NULL, &tensor));
    }
    return ir_build_read_scalar(at, tensor, kind, out);
}

/* last: behind the fields, or NULL. The fields are read from the last to the first. */
static Error *read_fields(RelayPortReader *reader, IrBlock *block, const RelayPortCase *made,
    IrVariable *position, IrVariable *last, IrVariable **out) {
    const uint32_t count = made->count;
    IrVariable **fields;
    TRY(relay_new(reader->lower->program, (size_t)count + 1, sizeof *fields, &fields));
    for (uint32_t i = count; i > 0; i--)
        TRY(read_node(reader, block, made->fields[i - 1], position, &fields[i - 1]));
    fields[count] = last;
    return ir_build_construct(ir_at_end(block), made->constructor ? made->constructor->made : NULL,
        last ? count + 1 : count, fields, out);
}

/* How many items a list has: as its sizes say, or all that the level has. */
static Error *read_size(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable **out) {
    const uint32_t level = node->cases[0].level;
    TextBuilder OWN_TEXT(text) = {0};
    IrVariable *fits;
    *out = reader->left[level];
    if (node->column == RELAY_PORT_NONE) return NULL;
    TRY(read_own(reader, block, node, position, IR_TYPE_INT, out));
    TRY(relay_port_compute(block, INT_OP_LE, *out, 0, true, &fits));
    text_appendf(
        &text, "input %s has a negative number", reader->shape->columns[node->column].name);
    TRY(relay_port_check(block, fits, &text, out));
    if (!reader->shape->levels[level].has_columns) return NULL;
    TRY(ir_build_int_op(ir_at_end(block), INT_OP_LE, *out, reader->left[level], &fits));
    return relay_port_levels_check(reader, block, level, fits, out);
}

/* The list is built from its end. */
static Error *read_list(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable **out) {
    const RelayPortCase *items = &node->cases[0];
    IrVariable *size, *list, **variables;
    IrType *types;
    IrLoop loop;
    uint32_t first;
    const uint32_t count = reach(node, &first);
    TRY(read_size(reader, block, node, position, &size));
    TRY(ir_build_construct(ir_at_end(block), node->empty->made, 0, NULL, &list));
    TRY(state(reader, node, list, &variables));
    TRY(state_types(reader, count, &types));
    TRY(ir_build_loop(ir_at_end(block), "list", size, NULL, count + 1, variables, types, &loop));
    list = resume(reader, node, loop.carried);
    if (reader->shape->levels[items->level].has_columns)
        TRY(relay_port_levels_take(reader, loop.body, items->level, &position));
    TRY(read_fields(reader, loop.body, items, position, list, &list));
    TRY(state(reader, node, list, &variables));
    TRY(ir_build_loop_end(&loop, NULL, variables));
    *out = resume(reader, node, loop.results);
    return NULL;
}

static Error *read_case(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    uint32_t index, IrVariable *position, IrVariable **out) {
    const RelayPortCase *made = &node->cases[index];
    const bool checked = node->column != RELAY_PORT_NONE; /* or there is one: the condition */
    if (made->count > 0 && reader->shape->levels[made->level].has_columns)
        TRY((checked ? relay_port_levels_take_checked : relay_port_levels_take)(
            reader, block, made->level, &position));
    return read_fields(reader, block, made, position, NULL, out);
}

static Error *read_cases(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable *tag, uint32_t low, uint32_t high, IrVariable **out);

/* Reads one of the cases from low to middle where the condition holds, and else one of the others.
 */
static Error *read_branches(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable *tag, IrVariable *condition, const uint32_t bounds[3],
    IrVariable **out) {
    IrVariable **results, **before, **variables, *value;
    IrBlock *blocks[2];
    IrType *types;
    uint32_t first;
    const uint32_t count = reach(node, &first);
    TRY(state_types(reader, count, &types));
    TRY(state(reader, node, NULL, &before));
    TRY(ir_build_if(ir_at_end(block), condition, count + 1, &blocks[0], &blocks[1], &results));
    for (uint32_t i = 0; i < 2; i++) {
        (void)resume(reader, node, before);
        TRY(read_cases(reader, blocks[i], node, position, tag, bounds[i], bounds[i + 1], &value));
        TRY(state(reader, node, value, &variables));
        TRY(ir_block_set_results(blocks[i], count + 1, variables));
    }
    for (uint32_t i = 0; i <= count; i++) results[i]->type = types[i];
    *out = resume(reader, node, results);
    return NULL;
}

/* Depth: the logarithm of RELAY_ITEMS_MAX. */
static Error *read_cases(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable *tag, uint32_t low, uint32_t high, IrVariable **out) {
    const uint32_t bounds[] = {low, low + (high - low) / 2, high};
    IrVariable *lower;
    if (high - low == 1) return read_case(reader, block, node, low, position, out);
    TRY(relay_port_compute(block, INT_OP_LT, tag, bounds[1], false, &lower));
    return read_branches(reader, block, node, position, tag, lower, bounds, out);
}

static Error *read_option(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable **out) {
    const uint32_t bounds[] = {0, 1, 2};
    IrVariable *some;
    if (node->column == RELAY_PORT_NONE)
        TRY(relay_port_compute(
            block, INT_OP_LT, reader->left[node->cases[0].level], 0, true, &some));
    else
        TRY(read_own(reader, block, node, position, IR_TYPE_BOOL, &some));
    return read_branches(reader, block, node, position, NULL, some, bounds, out);
}

static Error *read_choice(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable **out) {
    TextBuilder OWN_TEXT(text) = {0};
    IrVariable *tag, *fits;
    TRY(read_own(reader, block, node, position, IR_TYPE_INT, &tag));
    text_appendf(&text, "input %s has a number that is not from 0 to %u",
        reader->shape->columns[node->column].name, node->case_count - 1);
    TRY(relay_port_compute(block, INT_OP_LE, tag, 0, true, &fits));
    TRY(relay_port_check(block, fits, &text, &tag));
    TRY(relay_port_compute(block, INT_OP_LT, tag, node->case_count, false, &fits));
    TRY(relay_port_check(block, fits, &text, &tag));
    return read_cases(reader, block, node, position, tag, 0, node->case_count, out);
}

/* ---- data that holds its own type ---- */

/* Makes the function that reads one value: what is left of the levels -> the value, what is left.
 */
static Error *make_reader(RelayPortReader *reader, const RelayPortNode *node) {
    const uint32_t level = node->inner->level;
    IrVariable **outer, **variables, *position, *value;
    IrFunction *made;
    IrType *types;
    uint32_t first;
    const uint32_t count = reach(node, &first);
    TRY(state(reader, node, NULL, &outer));
    TRY(state(reader, node, NULL, &variables));
    TRY(state_types(reader, count, &types));
    TRY(ir_function_create(reader->lower->module, "nested", false, reader->function->body, &made));
    for (uint32_t i = 0; i < count; i++)
        TRY(ir_function_add_parameter(made, "left", &types[1 + i], &variables[1 + i]));
    TRY(ir_function_declare_results(made, count + 1, types));
    reader->functions[level] = made;
    (void)resume(reader, node, variables);
    TRY(relay_port_levels_take_checked(reader, made->body, level, &position));
    TRY(read_node(reader, made->body, node->inner, position, &value));
    TRY(state(reader, node, value, &variables));
    (void)resume(reader, node, outer);
    return ir_function_set_results(made, count + 1, variables, NULL, types);
}

static Error *read_nested(
    RelayPortReader *reader, IrBlock *block, const RelayPortNode *node, IrVariable **out) {
    const uint32_t level = node->inner->level;
    IrVariable **variables, **results;
    uint32_t first;
    const uint32_t count = reach(node, &first);
    if (!reader->functions[level]) TRY(make_reader(reader, node));
    TRY(state(reader, node, NULL, &variables));
    TRY(ir_build_call(ir_at_end(block), reader->functions[level], count, variables + 1, &results));
    *out = resume(reader, node, results);
    return NULL;
}

/* position: of the value among the items of its level. Depth: as of the shape. */
static Error *read_node(RelayPortReader *reader, IrBlock *block, const RelayPortNode *node,
    IrVariable *position, IrVariable **out) {
    switch (node->kind) {
    case RELAY_PORT_TENSOR:
        return read_tensor(reader, block, node, position, out);
    case RELAY_PORT_RECORD:
        return read_fields(reader, block, &node->cases[0], position, NULL, out);
    case RELAY_PORT_LIST:
        return read_list(reader, block, node, position, out);
    case RELAY_PORT_OPTION:
        return read_option(reader, block, node, position, out);
    case RELAY_PORT_CHOICE:
        return read_choice(reader, block, node, position, out);
    case RELAY_PORT_NESTED:
        return read_nested(reader, block, node, out);
    case RELAY_PORT_AGAIN:
        break;
    }
    return read_nested(reader, block, node->target, out);
}

Error *relay_port_read(
    RelayLower *lower, IrFunction *function, const RelayPortShape *shape, IrVariable **out) {
    RelayPortReader reader = {.lower = lower, .function = function, .shape = shape};
    IrVariable *zero;
    TRY(relay_port_levels_begin(&reader));
    TRY(ir_constant_int(lower->module, 0, &zero));
    TRY(read_node(&reader, function->body, shape->root, zero, out));
    return relay_port_levels_end(&reader, out);
}
