#include <string.h>

#include "base/allocator.h"
#include "vm/assembly/assembly_internal.h"

void assembly_ports_deinit(AssemblyPorts *ports) {
    for (uint32_t i = 0; ports->ports && i < ports->count; i++) {
        memory_free(ports->ports[i].name);
        for (uint32_t axis = 0; axis < SHAPE_RANK_MAX; axis++)
            memory_free(ports->ports[i].symbols[axis]);
    }
    memory_free(ports->ports);
    *ports = (AssemblyPorts){0};
}

static Error *read_symbol(Tokens *tokens, Port *port, uint32_t axis) {
    TextBuilder OWN_TEXT(name) = {0};
    TRY(tokens_read_name(tokens, &name));
    TRY(text_builder_take(&name, &port->symbols[axis]));
    bool fixed;
    TRY(tokens_accept(tokens, "=", &fixed));
    if (fixed) return tokens_read_i64(tokens, &port->shape.dims[axis]);
    port->shape.dims[axis] = -1;
    return NULL;
}

static Error *read_dimension(Tokens *tokens, Port *port) {
    uint32_t axis = port->shape.rank;
    if (axis == SHAPE_RANK_MAX) return tokens_fail(tokens, "too many dimensions");
    port->shape.rank++;
    if (tokens->token.kind == TOKEN_NUMBER) return tokens_read_i64(tokens, &port->shape.dims[axis]);
    bool dynamic;
    TRY(tokens_accept(tokens, "?", &dynamic));
    if (!dynamic) return read_symbol(tokens, port, axis);
    port->shape.dims[axis] = -1;
    return NULL;
}

/* [*], or dimensions: a number, ?, a symbol, symbol=number */
static Error *read_dimensions(Tokens *tokens, Port *port) {
    TRY(tokens_expect(tokens, "["));
    bool unknown;
    TRY(tokens_accept(tokens, "*", &unknown));
    port->rank_known = !unknown;
    for (uint32_t i = 0; !unknown && !tokens_at(tokens, "]"); i++) {
        if (i > 0) TRY(tokens_expect(tokens, ","));
        TRY(read_dimension(tokens, port));
    }
    return tokens_expect(tokens, "]");
}

static Error *read_form(Tokens *tokens, PortForm *out) {
    bool optional, list;
    TRY(tokens_accept(tokens, "optional", &optional));
    TRY(tokens_accept(tokens, "list", &list));
    *out = optional ? (list ? PORT_OPTIONAL_LIST : PORT_OPTIONAL) : list ? PORT_LIST : PORT_TENSOR;
    return NULL;
}

/* name: [optional] [list] dtype[dims] [slot N] */
static Error *read_port(Tokens *tokens, Port *port) {
    TextBuilder OWN_TEXT(name) = {0};
    TRY(tokens_read_name(tokens, &name));
    if (name.size == 0) text_append(&name, "");
    TRY(memory_copy_text(text_builder_get(&name), &port->name));
    TRY(tokens_expect(tokens, ":"));
    TRY(read_form(tokens, &port->form));
    bool any;
    TRY(tokens_accept(tokens, "any", &any));
    if (!any) {
        char *text;
        TRY(tokens_copy(tokens, &text));
        port->dtype = dtype_find(text);
        memory_free(text);
        if (port->dtype == DTYPE_NONE) return tokens_fail(tokens, "an element type is missing");
        TRY(tokens_next(tokens));
    }
    if (tokens_at(tokens, "[")) TRY(read_dimensions(tokens, port));
    port->slot = 1;
    bool slot;
    TRY(tokens_accept(tokens, "slot", &slot));
    if (!slot) return NULL;
    int64_t number;
    TRY(tokens_read_i64(tokens, &number));
    if (number != 0 && number != 1) return tokens_fail(tokens, "slot 0 or 1");
    port->slot = (uint8_t)number;
    return NULL;
}

Error *assembly_read_ports(Tokens *tokens, AssemblyPorts *out) {
    size_t capacity = 1;
    void *memory;
    TRY(memory_alloc(capacity, sizeof(Port), &memory));
    out->ports = memory;
    TRY(tokens_expect(tokens, "("));
    while (!tokens_at(tokens, ")")) {
        if (out->count > 0) TRY(tokens_expect(tokens, ","));
        TRY(tokens_skip_newlines(tokens));
        memory = out->ports;
        TRY(memory_grow(&memory, out->count, &capacity, sizeof(Port)));
        out->ports = memory;
        Port *port = &out->ports[out->count];
        *port = (Port){0};
        out->count++;
        TRY(read_port(tokens, port));
    }
    return tokens_expect(tokens, ")");
}

Error *assembly_read_parameters(Tokens *tokens, AssemblyPorts *out) {
    Tokens ahead = *tokens;
    TRY(tokens_expect(&ahead, "("));
    if (ahead.token.kind != TOKEN_NUMBER) return assembly_read_ports(tokens, out);
    int64_t count;
    TRY(tokens_read_i64(&ahead, &count));
    if (count < 0 || count > FUNCTION_REGISTERS_MAX)
        return tokens_fail(&ahead, "a count of parameters is missing");
    TRY(tokens_expect(&ahead, ")"));
    *tokens = ahead;
    out->count = (uint32_t)count;
    return NULL;
}
