/* Exported functions: their parameters and their result as ports. */
#include "compiler/relay/relay_build_internal.h"
#include "compiler/relay/relay_lower_internal.h"

/* The ports of each parameter, then of the result. */
static Error *make_shapes(RelayLower *lower, const RelayGlobal *global, RelayPortShape **out) {
    const RelayType *type = global->type;
    TRY(relay_new(lower->program, type->count, sizeof **out, out));
    for (uint32_t i = 0; i < type->count; i++) {
        const bool result = i + 1 == type->count;
        const char *name = result ? "output" : global->function->parameters[i]->name;
        TRY_WRAP(relay_port_shape_make(lower->program, name, type->items[i], &(*out)[i]), "@%s",
            global->name);
    }
    return NULL;
}

static bool has_ports(const RelayPortShape *shapes, uint32_t count) {
    uint32_t inputs = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (shapes[i].refused) return false;
        if (i + 1 < count) inputs += shapes[i].column_count;
        if (inputs > RELAY_PORTS_MAX) return false;
    }
    return true;
}

static Error *refuse(const RelayGlobal *global, const RelayPortShape *shapes) {
    const RelayType *type = global->type;
    const RelayExpr *function = global->function;
    for (uint32_t i = 0; i < type->count; i++) {
        const bool result = i + 1 == type->count;
        TextBuilder OWN_TEXT(text) = {0}, OWN_TEXT(part) = {0};
        if (!shapes[i].refused || shapes[i].has_too_many) continue;
        relay_type_print(type->items[i], &text);
        relay_type_print(shapes[i].refused, &part);
        FAIL(UNSUPPORTED,
            RELAY_AT ": %s%s of @%s is of type %s; a value of type %s has no port. Ports have "
                     "tensors, and tuples, lists, options and other data of them",
            RELAY_PLACE(result ? global->place : function->parameters[i]->place),
            result ? "the result" : "parameter %", result ? "" : function->parameters[i]->name,
            global->name, text_builder_get(&text), text_builder_get(&part));
    }
    FAIL(UNSUPPORTED, RELAY_AT ": @%s has more than %d ports", RELAY_PLACE(global->place),
        global->name, RELAY_PORTS_MAX);
}

static Error *write_result(
    RelayLower *lower, IrFunction *function, const RelayPortShape *shape, IrVariable *result) {
    IrVariable **ports;
    const char **names;
    IrType *types;
    TRY(relay_new(lower->program, shape->column_count, sizeof *ports, &ports));
    TRY(relay_new(lower->program, shape->column_count, sizeof *names, &names));
    TRY(relay_new(lower->program, shape->column_count, sizeof *types, &types));
    for (uint32_t i = 0; i < shape->column_count; i++) names[i] = shape->columns[i].name;
    TRY(relay_port_write(lower, function->body, shape, result, ports, types));
    return ir_function_set_results(function, shape->column_count, ports, names, types);
}

Error *relay_lower_export(
    RelayLower *lower, const RelayGlobal *global, bool required, bool *out_exported) {
    const uint32_t count = global->type->count - 1;
    RelayPortShape *shapes;
    IrFunction *function;
    IrVariable **arguments, *result;
    TRY(make_shapes(lower, global, &shapes));
    *out_exported = has_ports(shapes, count + 1);
    if (!*out_exported) return required ? refuse(global, shapes) : NULL;
    TRY(relay_new(lower->program, count, sizeof *arguments, &arguments));
    TRY(ir_function_create(lower->module, global->name, true, NULL, &function));
    for (uint32_t i = 0; i < count; i++)
        TRY(relay_port_read(lower, function, &shapes[i], &arguments[i]));
    TRY(relay_heap_create(lower, function->body));
    TRY(relay_heap_call(lower, function->body, global->made, count, arguments, &result));
    relay_ir_type(global->type->items[count], &result->type);
    return write_result(lower, function, &shapes[count], result);
}
