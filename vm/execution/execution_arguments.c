#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/device/device.h"
#include "kernels/tensor/string_tensor.h"
#include "vm/execution/execution.h"
#include "vm/execution/execution_state.h"
#include "vm/objects/list.h"

/* Whether the execution may read a storage as memory of that slot. On a device with queues memory
 * is freed in the order of its pool's stream: memory of another execution's pool might be freed
 * before work that is queued here has read it. */
static bool may_share(const Execution *execution, const Storage *storage, uint8_t slot) {
    const Residency *residency = execution->residency;
    Device *device = residency->devices[slot];
    if (!device_shares_memory(storage->device, device)) return false;
    return !device->class_->stream_create || !storage->pool ||
           storage->pool == execution->pools[slot] || storage->pool == residency->pools[slot];
}

bool execution_owns_memory(const Execution *execution, const Tensor *tensor) {
    const Storage *storage = tensor->storage;
    return storage->slot < SLOT_COUNT && may_share(execution, storage, storage->slot);
}

static void release_owner_storage(void *owner) { storage_release(owner); }

/* Makes a tensor of the same bytes in another slot. Sealed, since two storages now have these
 * bytes. */
static Error *alias_in_slot(Execution *execution, Tensor *tensor, uint8_t slot, Tensor **out) {
    Storage *from = tensor->storage;
    OWN(Storage, alias) = NULL;
    Storage *owner = storage_retain(from);
    Error *error = storage_create_foreign(execution->residency->devices[slot], slot, from->address,
        from->size, owner, release_owner_storage, &alias);
    if (error) {
        storage_release(owner);
        return error;
    }
    alias->sealed = true;
    return tensor_create(alias, tensor->offset, tensor->dtype, &tensor->shape, out);
}

Error *execution_move_tensor(
    Execution *execution, Tensor *tensor, uint8_t slot, MemoryAnswer *out_answer, Tensor **out) {
    *out_answer = (MemoryAnswer){.kind = MEMORY_GRANTED};
    const Storage *from = tensor->storage;
    bool shared = may_share(execution, from, slot);
    if (shared && from->slot == slot) {
        *out = tensor_retain(tensor);
        return NULL;
    }
    if (shared && !from->opaque) return alias_in_slot(execution, tensor, slot, out);
    return execution_copy_tensor(execution, tensor, slot, out_answer, out);
}

Error *execution_copy_tensor(
    Execution *execution, Tensor *tensor, uint8_t slot, MemoryAnswer *out_answer, Tensor **out) {
    OWN(Tensor, moved) = NULL;
    uint64_t bytes = tensor_bytes(tensor);
    if (tensor->dtype == DTYPE_STRING)
        TRY(tensor_create_bytes_in_pool(execution->pools[slot], slot, tensor->dtype, &tensor->shape,
            bytes, out_answer, &moved));
    else
        TRY(tensor_create_in_pool(
            execution->pools[slot], slot, tensor->dtype, &tensor->shape, out_answer, &moved));
    if (out_answer->kind != MEMORY_GRANTED) return NULL;
    if (bytes > 0) TRY(device_transfer(tensor_place(moved), tensor_place(tensor), bytes));
    if (bytes > 0 && slot == SLOT_HOST && tensor->storage->pool == execution->pools[SLOT_DEVICE])
        run_ahead_settle(&execution->ahead); /* the copy has waited for all queued work */
    *out = TAKE(moved);
    return NULL;
}

static Error *check_tensor(const Port *port, const char *name, const Tensor *tensor) {
    if (!tensor->written) FAIL(INVALID, "input %s is not written", name);
    TRY_WRAP(string_tensor_check(tensor), "input %s", name);
    if (!port) return NULL;
    if (port->dtype != DTYPE_NONE && tensor->dtype != port->dtype)
        FAIL(INVALID, "input %s is %s, not %s", name, dtype_name(tensor->dtype),
            dtype_name(port->dtype));
    if (!port->rank_known) return NULL;
    bool fits = tensor->shape.rank == port->shape.rank;
    for (uint32_t i = 0; fits && i < port->shape.rank; i++)
        fits = port->shape.dims[i] < 0 || tensor->shape.dims[i] == port->shape.dims[i];
    if (fits) return NULL;
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(&tensor->shape, &text);
    text_append(&text, ", not ");
    shape_print(&port->shape, &text);
    FAIL(INVALID, "input %s has shape %s", name, text_builder_get(&text));
}

static Error *bind_tensor(
    Execution *execution, const Port *port, const char *name, Tensor *tensor, Value *out) {
    TRY(check_tensor(port, name, tensor));
    uint8_t slot = port ? port->slot : tensor->storage->slot;
    if (tensor->dtype == DTYPE_STRING) slot = SLOT_HOST; /* also for a port of any type */
    if (slot >= SLOT_COUNT) FAIL(INVALID, "input %s is in slot %u", name, slot);
    MemoryAnswer answer;
    Tensor *moved = NULL;
    /* a mutable storage stays with its maker */
    Error *error = tensor->storage->opaque
                       ? execution_copy_tensor(execution, tensor, slot, &answer, &moved)
                       : execution_move_tensor(execution, tensor, slot, &answer, &moved);
    TRY_WRAP(error, "input %s", name);
    if (answer.kind != MEMORY_GRANTED)
        FAIL(EXHAUSTED, "input %s: %" PRIu64 " bytes are not free on %s", name, answer.bytes,
            execution->residency->devices[slot]->name);
    /* the caller may hold the argument, too, so it is never written from here on */
    if (!moved->storage->sealed) moved->storage->sealed = true;
    *out = value_object(OBJECT_TENSOR, moved);
    return NULL;
}

/* Checks that the value has the port's form; the tensors in it are checked one by one. */
static Error *check_form(const Port *port, const char *name, const Value *value) {
    if (port_is_optional(port) && value->tag == VALUE_NIL) return NULL;
    bool list = port_is_list(port);
    if (value_is(value, list ? OBJECT_LIST : OBJECT_TENSOR)) return NULL;
    bool anything = port->form == PORT_TENSOR && port->dtype == DTYPE_NONE;
    if (anything) return NULL;
    FAIL(INVALID, "input %s is a %s, not a %s", name, value_kind_name(value),
        list ? "list" : "tensor");
}

/* Makes a list of its own, whose tensors are in the port's slot. */
static Error *bind_list(
    Execution *execution, const Port *port, const char *name, const List *from, Value *out) {
    OWN(List, list) = NULL;
    TRY(list_create(execution->meter, from->count, &list));
    for (uint32_t i = 0; i < from->count; i++) {
        Value item;
        if (!value_is(&from->items[i], OBJECT_TENSOR))
            FAIL(INVALID, "item %u of input %s is a %s, not a tensor", i, name,
                value_kind_name(&from->items[i]));
        TRY_WRAP(bind_tensor(execution, port, name, from->items[i].tensor, &item), "item %u", i);
        TRY(list_append(list, item));
    }
    *out = value_object(OBJECT_LIST, TAKE(list));
    return NULL;
}

Error *execution_bind(
    Execution *execution, const Port *port, const char *name, const Value *value, Value *out) {
    if (port) TRY(check_form(port, name, value));
    if (value_is(value, OBJECT_TENSOR))
        return bind_tensor(execution, port, name, value->tensor, out);
    if (port && port_is_list(port) && value_is(value, OBJECT_LIST))
        return bind_list(execution, port, name, value->list, out);
    /* tensors inside are checked by the instruction that uses them */
    uint32_t count;
    (void)value_children(value, &count);
    if (count > 0 || value_is(value, OBJECT_OPAQUE) || value_is(value, OBJECT_STORAGE))
        execution->has_mutable = true;
    *out = value_copy(*value);
    return NULL;
}

/* A symbol with the first size that was seen. */
typedef struct Symbol {
    const char *name;
    const char *port;
    int64_t size;
} Symbol;

static Error *check_symbol(
    Symbol *symbols, size_t *inout_count, const Port *port, uint32_t axis, int64_t size) {
    for (size_t i = 0; i < *inout_count; i++) {
        if (strcmp(symbols[i].name, port->symbols[axis]) != 0) continue;
        if (symbols[i].size == size) return NULL;
        FAIL(INVALID,
            "input %s: dimension %u (%s) is %" PRIi64 ", but input %s has %" PRIi64 " for it",
            port->name, axis, port->symbols[axis], size, symbols[i].port, symbols[i].size);
    }
    symbols[(*inout_count)++] = (Symbol){port->symbols[axis], port->name, size};
    return NULL;
}

static Error *check_symbols(const Function *function, const Value *values) {
    void *memory;
    TRY(memory_alloc((size_t)function->parameter_count * SHAPE_RANK_MAX, sizeof(Symbol), &memory));
    Symbol *symbols = memory;
    size_t count = 0;
    Error *error = NULL;
    for (uint32_t i = 0; !error && i < function->parameter_count; i++) {
        const Port *port = &function->parameters[i];
        if (!value_is(&values[i], OBJECT_TENSOR)) continue;
        for (uint32_t axis = 0; !error && axis < port->shape.rank; axis++)
            if (port->symbols[axis])
                error =
                    check_symbol(symbols, &count, port, axis, values[i].tensor->shape.dims[axis]);
    }
    memory_free(symbols);
    return error;
}

Error *execution_bind_all(Execution *execution, uint32_t index, const Value *arguments,
    uint32_t argument_count, Value *out_values) {
    const Function *function = &execution->executable->functions[index];
    if (argument_count != function->parameter_count)
        FAIL(INVALID, "function %s takes %u inputs, not %u", function->name,
            function->parameter_count, argument_count);
    for (uint32_t i = 0; i < argument_count; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%u", i);
        const Port *port = function->parameters ? &function->parameters[i] : NULL;
        TRY(execution_bind(
            execution, port, port ? port->name : number, &arguments[i], &out_values[i]));
    }
    return function->parameters ? check_symbols(function, out_values) : NULL;
}

Error *execution_check_tensors(const Function *function, const Value *arguments) {
    for (uint32_t i = 0; function->parameters && i < function->parameter_count; i++) {
        const Port *port = &function->parameters[i];
        TRY(check_form(port, port->name, &arguments[i]));
        if (value_is(&arguments[i], OBJECT_TENSOR))
            TRY(check_tensor(port, port->name, arguments[i].tensor));
    }
    return function->parameters ? check_symbols(function, arguments) : NULL;
}
