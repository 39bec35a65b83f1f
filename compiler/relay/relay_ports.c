/* Exported functions: a tuple becomes a port for each of its parts, a list or an option one port.
 */
#include <string.h>

#include "base/allocator.h"
#include "compiler/relay/relay_build_internal.h"
#include "compiler/relay/relay_lower_internal.h"

enum { PORTS_MAX = 1000 };

typedef struct Ports {
    RelayLower *lower;
    IrFunction *function;
    uint32_t count;
    IrVariable *results[PORTS_MAX];
    const char *names[PORTS_MAX];
    IrType types[PORTS_MAX];
} Ports;

/* Counts the ports of a type; more than PORTS_MAX where a value has none. */
static uint32_t count_ports(const RelayType *type) {
    RelayPortData data;
    while (type->kind == RELAY_TYPE_VARIABLE && type->instance) type = type->instance;
    if (type->kind == RELAY_TYPE_TENSOR || relay_port_data(type, &data)) return 1;
    if (type->kind != RELAY_TYPE_TUPLE || type->count == 0) return PORTS_MAX + 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->count && count <= PORTS_MAX; i++)
        count += count_ports(type->items[i]);
    return count;
}

bool relay_has_ports(const RelayGlobal *global) {
    const RelayType *type = global->type;
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < type->count && count <= PORTS_MAX; i++)
        count += count_ports(type->items[i]);
    return count <= PORTS_MAX && count_ports(type->items[type->count - 1]) <= PORTS_MAX;
}

static Error *check_ports(const RelayGlobal *global) {
    const RelayType *type = global->type;
    const RelayExpr *function = global->function;
    for (uint32_t i = 0; i < type->count; i++) {
        if (count_ports(type->items[i]) <= PORTS_MAX) continue;
        const bool result = i + 1 == type->count;
        TextBuilder OWN_TEXT(text) = {0};
        relay_type_print(type->items[i], &text);
        FAIL(UNSUPPORTED,
            RELAY_AT ": %s%s of @%s is of type %s; it has to be a tensor, a list or an option of "
                     "tensors, or a tuple of these",
            RELAY_PLACE(result ? global->place : function->parameters[i]->place),
            result ? "the result" : "parameter %", result ? "" : function->parameters[i]->name,
            global->name, text_builder_get(&text));
    }
    FAIL(UNSUPPORTED, RELAY_AT ": @%s has more than %d ports", RELAY_PLACE(global->place),
        global->name, PORTS_MAX);
}

/* A port's type has the written dimensions, which every run checks. */
static void port_type(const RelayType *type, IrType *out) {
    relay_ir_type(type, out);
    for (uint32_t i = 0; i < type->rank; i++)
        out->dims[i] = type->dims[i] < 0 ? IR_DIM_UNKNOWN : type->dims[i];
}

static Error *make_name(const Ports *ports, const char *base, uint32_t index, const char **out) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "%s.%u", base, index);
    TRY(text_builder_check(&text));
    return ir_module_text(ports->lower->module, text_builder_get(&text), out);
}

/* Makes the parameters of a value and puts them together. Depth: as of types. */
static Error *make_input(Ports *ports, const char *name, const RelayType *type, IrVariable **out) {
    while (type->kind == RELAY_TYPE_VARIABLE && type->instance) type = type->instance;
    RelayPortData data;
    IrType port;
    if (type->kind == RELAY_TYPE_TENSOR) {
        port_type(type, &port);
        return ir_function_add_parameter(ports->function, name, &port, out);
    }
    if (relay_port_data(type, &data)) {
        port_type(data.item, &port);
        return relay_port_input(ports->function, name, &data, &port, out);
    }
    IrVariable **items;
    TRY(relay_new(ports->lower->program, type->count, sizeof *items, &items));
    for (uint32_t i = 0; i < type->count; i++) {
        const char *part;
        TRY(make_name(ports, name, i, &part));
        TRY(make_input(ports, part, type->items[i], &items[i]));
    }
    return ir_build_construct(ir_at_end(ports->function->body), NULL, type->count, items, out);
}

static Error *make_output(
    Ports *ports, const char *name, const RelayType *type, IrVariable *value) {
    while (type->kind == RELAY_TYPE_VARIABLE && type->instance) type = type->instance;
    RelayPortData data;
    const bool is_data = relay_port_data(type, &data);
    if (is_data || type->kind == RELAY_TYPE_TENSOR) {
        IrType *port = &ports->types[ports->count];
        relay_ir_type(is_data ? data.item : type, port);
        if (is_data) TRY(relay_port_output(ports->function, &data, port, value, &value));
        ports->names[ports->count] = name;
        ports->results[ports->count++] = value;
        return NULL;
    }
    for (uint32_t i = 0; i < type->count; i++) {
        const char *part;
        IrVariable *field;
        TRY(make_name(ports, name, i, &part));
        TRY(ir_build_get_field(ir_at_end(ports->function->body), value, i, &field));
        relay_ir_type(type->items[i], &field->type);
        TRY(make_output(ports, part, type->items[i], field));
    }
    return NULL;
}

static Error *export_function(Ports *ports, const RelayGlobal *global) {
    const RelayType *type = global->type;
    const uint32_t count = type->count - 1;
    IrVariable **arguments, *result;
    TRY(relay_new(ports->lower->program, count, sizeof *arguments, &arguments));
    TRY(ir_function_create(ports->lower->module, global->name, true, NULL, &ports->function));
    for (uint32_t i = 0; i < count; i++)
        TRY(make_input(
            ports, global->function->parameters[i]->name, type->items[i], &arguments[i]));
    TRY(relay_heap_create(ports->lower, ports->function->body));
    TRY(relay_heap_call(
        ports->lower, ports->function->body, global->made, count, arguments, &result));
    relay_ir_type(type->items[count], &result->type);
    TRY(make_output(ports, "output", type->items[count], result));
    return ir_function_set_results(
        ports->function, ports->count, ports->results, ports->names, ports->types);
}

Error *relay_lower_export(RelayLower *lower, const RelayGlobal *global) {
    void *memory;
    if (!relay_has_ports(global)) return check_ports(global);
    TRY(memory_alloc(1, sizeof(Ports), &memory));
    Ports *ports = memory;
    ports->lower = lower;
    Error *error = export_function(ports, global);
    memory_free(ports);
    return error;
}
