/* Lists and options at ports. There they are the lists and optionals of the virtual machine, in a
 * program they are data. */
#include "compiler/relay/relay_build_internal.h"
#include "compiler/relay/relay_lower_internal.h"

/* The type of a constructor's field in a data type with arguments. */
static const RelayType *field_type(const RelayType *type, RelayType *field) {
    const RelayType *found = relay_type_find(field);
    for (uint32_t i = 0; i < type->data->parameter_count; i++)
        if (found == type->data->parameters[i]) return relay_type_find(type->items[i]);
    return found;
}

/* Whether a field is of the data type itself, with the same arguments. */
static bool is_rest(const RelayData *data, RelayType *field) {
    const RelayType *found = relay_type_find(field);
    if (found->kind != RELAY_TYPE_DATA || found->data != data) return false;
    for (uint32_t i = 0; i < data->parameter_count; i++)
        if (relay_type_find(found->items[i]) != data->parameters[i]) return false;
    return true;
}

bool relay_port_data(const RelayType *type, RelayPortData *out) {
    if (type->kind != RELAY_TYPE_DATA || type->data->constructor_count != 2) return false;
    const RelayData *data = type->data;
    const bool first = data->constructors[0]->field_count > 0;
    const RelayConstructor *full = data->constructors[first ? 0 : 1];
    const RelayConstructor *empty = data->constructors[first ? 1 : 0];
    if (empty->field_count > 0 || full->field_count < 1 || full->field_count > 2) return false;
    *out = (RelayPortData){.is_list = full->field_count == 2, .full = full, .empty = empty};
    out->item = field_type(type, full->fields[0]);
    if (out->item->kind != RELAY_TYPE_TENSOR) return false;
    return !out->is_list || is_rest(data, full->fields[1]);
}

/* ---- into the program ---- */

/* The list is built from its end. */
static Error *list_to_data(IrFunction *function, const RelayPortData *data, const IrType *item,
    IrVariable *list, IrVariable **out) {
    const IrCursor at = ir_at_end(function->body);
    const IrType type = {.kind = IR_TYPE_DATA};
    IrVariable *count, *start, *one, *left, *fields[2], *operands[] = {list, NULL}, *next;
    IrLoop loop;
    TRY(ir_build_call_packed(at, IR_PACKED_LIST_SIZE, &list, &count));
    TRY(ir_build_construct(at, data->empty->made, 0, NULL, &start));
    TRY(ir_build_loop(at, "list", count, NULL, 1, &start, &type, &loop));
    const IrCursor inside = ir_at_end(loop.body);
    TRY(ir_constant_int(function->module, -1, &one));
    TRY(ir_build_int_op(inside, INT_OP_SUB, one, loop.counter, &left)); /* from the list's end */
    operands[1] = left;
    TRY(ir_build_call_packed(inside, IR_PACKED_SEQUENCE_AT, operands, &fields[0]));
    fields[0]->type = *item;
    fields[1] = loop.carried[0];
    TRY(ir_build_construct(inside, data->full->made, 2, fields, &next));
    *out = loop.results[0];
    return ir_build_loop_end(&loop, NULL, &next);
}

static Error *optional_to_data(IrFunction *function, const RelayPortData *data, const IrType *item,
    IrVariable *optional, IrVariable **out) {
    const IrCursor at = ir_at_end(function->body);
    IrVariable *has, *value, *made, **results;
    IrBlock *blocks[2];
    TRY(ir_build_call_packed(at, IR_PACKED_OPTIONAL_HAS_ELEMENT, &optional, &has));
    TRY(ir_build_if(at, has, 1, &blocks[0], &blocks[1], &results));
    const IrCursor full = ir_at_end(blocks[0]);
    TRY(ir_build_call_packed(full, IR_PACKED_OPTIONAL_GET_ELEMENT, &optional, &value));
    value->type = *item;
    TRY(ir_build_construct(full, data->full->made, 1, &value, &made));
    TRY(ir_block_set_results(blocks[0], 1, &made));
    TRY(ir_build_construct(ir_at_end(blocks[1]), data->empty->made, 0, NULL, &made));
    *out = results[0];
    return ir_block_set_results(blocks[1], 1, &made);
}

Error *relay_port_input(IrFunction *function, const char *name, const RelayPortData *data,
    const IrType *item, IrVariable **out) {
    const IrTypeKind kind = data->is_list ? IR_TYPE_LIST : IR_TYPE_OPTIONAL;
    IrVariable *port;
    IrType type;
    TRY(ir_type_container(function->module, kind, item, &type));
    TRY(ir_function_add_parameter(function, name, &type, &port));
    if (data->is_list) return list_to_data(function, data, item, port, out);
    return optional_to_data(function, data, item, port, out);
}

/* ---- out of the program ---- */

/* Makes a match of the two constructors. */
static Error *match(IrBlock *block, const RelayPortData *data, const IrType *item,
    IrVariable *value, IrBlock ***out_blocks, IrVariable **out) {
    IrConstructor *const cases[] = {data->full->made, NULL};
    IrVariable **results;
    TRY(ir_build_match(ir_at_end(block), value, 2, cases, 1, out_blocks, &results));
    (*out_blocks)[0]->parameters[0]->type = *item;
    *out = results[0];
    return NULL;
}

/* walk(value, items) = match (value) { full(item, rest) => walk(rest, items + item), _ => items }
 */
static Error *data_to_list(IrFunction *function, const RelayPortData *data, const IrType *item,
    const IrType *type, IrVariable *value, IrVariable **out) {
    const IrType data_type = {.kind = IR_TYPE_DATA};
    IrVariable *next[2], *start[2] = {value, NULL}, *result, **results;
    IrFunction *walk;
    IrBlock **blocks;
    TRY(ir_function_create(function->module, "items", false, NULL, &walk));
    TRY(ir_function_add_parameter(walk, "list", &data_type, &next[0]));
    TRY(ir_function_add_parameter(walk, "items", type, &next[1]));
    TRY(ir_function_declare_results(walk, 1, type));
    TRY(match(walk->body, data, item, next[0], &blocks, &result));
    TRY(ir_block_set_results(blocks[1], 1, &next[1]));
    const IrCursor full = ir_at_end(blocks[0]);
    TRY(ir_build_list_append(full, next[1], blocks[0]->parameters[0], &next[1]));
    next[0] = blocks[0]->parameters[1];
    TRY(ir_build_call(full, walk, 2, next, &results));
    TRY(ir_block_set_results(blocks[0], 1, results));
    TRY(ir_function_set_results(walk, 1, &result, NULL, type));
    const IrCursor at = ir_at_end(function->body);
    TRY(ir_build_list(at, 0, NULL, &start[1]));
    TRY(ir_build_call(at, walk, 2, start, &results));
    *out = results[0];
    return NULL;
}

static Error *data_to_optional(IrFunction *function, const RelayPortData *data, const IrType *item,
    IrVariable *value, IrVariable **out) {
    IrVariable *made;
    IrBlock **blocks;
    TRY(match(function->body, data, item, value, &blocks, out));
    TRY(ir_build_optional(ir_at_end(blocks[0]), blocks[0]->parameters[0], &made));
    TRY(ir_block_set_results(blocks[0], 1, &made));
    TRY(ir_build_optional(ir_at_end(blocks[1]), NULL, &made));
    return ir_block_set_results(blocks[1], 1, &made);
}

Error *relay_port_output(IrFunction *function, const RelayPortData *data, IrType *inout_type,
    IrVariable *value, IrVariable **out) {
    const IrTypeKind kind = data->is_list ? IR_TYPE_LIST : IR_TYPE_OPTIONAL;
    const IrType item = *inout_type;
    TRY(ir_type_container(function->module, kind, &item, inout_type));
    if (data->is_list) return data_to_list(function, data, &item, inout_type, value, out);
    return data_to_optional(function, data, &item, value, out);
}
