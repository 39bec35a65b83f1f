#include "compiler/lower/emit_ports.h"

#include "base/allocator.h"

/* Finds the form (optional, list or both) and leaves the type inside in *inout_type. */
static PortForm port_form(const IrType **inout_type) {
    static const IrType unknown = {.kind = IR_TYPE_UNKNOWN};
    const IrType *type = *inout_type;
    bool optional = type->kind == IR_TYPE_OPTIONAL;
    if (optional) type = type->element ? type->element : &unknown;
    bool list = type->kind == IR_TYPE_LIST;
    if (list) type = type->element ? type->element : &unknown;
    *inout_type = type;
    return optional ? (list ? PORT_OPTIONAL_LIST : PORT_OPTIONAL) : list ? PORT_LIST : PORT_TENSOR;
}

/* True when the declared type is more precise than the inferred one: inference does not know the
 * elements of an empty list, or whether a loop's carried optional is filled. */
static bool prefers_declared(const IrType *declared, const IrType *inferred) {
    if (ir_type_is_container(declared)) return true;
    return declared->kind == IR_TYPE_TENSOR && inferred->kind == IR_TYPE_UNKNOWN;
}

/* Borrows names from the module; the builder copies them. */
static void port_fill(
    const IrModule *module, const IrVariable *variable, const char *name, Port *out) {
    const IrType *type = &variable->type;
    *out = (Port){.name = (char *)(uintptr_t)name};
    out->slot = variable->slot == 0 ? 0 : 1;
    out->form = port_form(&type);
    if (type->kind != IR_TYPE_TENSOR) {
        out->slot = variable->slot == IR_SLOT_NONE ? 0 : out->slot;
        return;
    }
    out->dtype = type->dtype;
    out->rank_known = type->rank_known;
    out->shape.rank = type->rank_known ? type->rank : 0;
    for (uint32_t i = 0; i < out->shape.rank; i++) {
        int64_t dim = type->dims[i];
        out->shape.dims[i] = dim >= 0 ? dim : -1;
        if (!ir_dim_is_symbol(dim)) continue;
        const char *symbol = module->symbols[ir_dim_get_symbol(dim)];
        if (*symbol) out->symbols[i] = (char *)(uintptr_t)symbol;
    }
}

static Error *set_ports(Emitter *emitter, const IrFunction *function, uint32_t index, Port *ports) {
    const IrBlock *body = function->body;
    for (uint32_t i = 0; i < body->parameter_count; i++) {
        const IrVariable *parameter = body->parameters[i];
        port_fill(emitter->module, parameter, parameter->name ? parameter->name : "", &ports[i]);
    }
    TRY(executable_builder_set_parameters(emitter->builder, index, ports, body->parameter_count));
    for (uint32_t i = 0; i < body->result_count; i++) {
        IrVariable result = *body->results[i];
        const char *given = function->result_names ? function->result_names[i] : NULL;
        const IrType *declared = &function->result_types[i];
        if (prefers_declared(declared, &result.type)) result.type = *declared;
        port_fill(emitter->module, &result, given ? given : "", &ports[i]);
    }
    return executable_builder_set_results(emitter->builder, index, ports, body->result_count);
}

Error *emit_ports(Emitter *emitter, const IrFunction *function, uint32_t index) {
    uint32_t count = function->body->parameter_count;
    if (function->body->result_count > count) count = function->body->result_count;
    void *ports;
    TRY(memory_alloc(count + 1, sizeof(Port), &ports));
    Error *error = set_ports(emitter, function, index, ports);
    memory_free(ports);
    return error;
}
