#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/instruction/opcode.h"
#include "vm/objects/closure.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"
#include "vm/relax/relax_names.h"
#include "vm/relax/relax_registry.h"

RELAX(make_closure) {
    RELAX_UNUSED();
    if (!value_is(&arguments[0], OBJECT_CLOSURE))
        FAIL(INVALID, "argument 0 is a packed function, not a closure");
    const Closure *from = arguments[0].closure;
    if (from->count > 0 && from->side != CLOSURE_LAST)
        FAIL(INVALID, "argument 0 is a closure that has bound its first arguments");
    uint32_t more = count - 1;
    Closure *closure;
    TRY(closure_create(call->meter, from->function, CLOSURE_LAST, from->count + more, &closure));
    for (uint32_t i = 0; i < more; i++) closure->bound[i] = value_copy(arguments[1 + i]);
    for (uint32_t i = 0; i < from->count; i++)
        closure->bound[more + i] = value_copy(from->bound[i]);
    *out_result = value_object(OBJECT_CLOSURE, closure);
    return NULL;
}

/* Asks for a call of a function with these arguments, and ints behind them. */
static Error *tail_call(PackedCall *call, const Value *callee, const Value *arguments,
    uint32_t count, const ShapeObject *ints) {
    const Closure *closure = value_is(callee, OBJECT_CLOSURE) ? callee->closure : NULL;
    uint32_t bound = closure ? closure->count : 0, more = ints ? ints->count : 0;
    uint32_t total = bound + count + more;
    if (total > INSTRUCTION_OPERANDS_MAX)
        FAIL(INVALID, "%u arguments; there may be %d", total, INSTRUCTION_OPERANDS_MAX);
    void *memory;
    TRY(memory_alloc(total, sizeof(Value), &memory));
    Value *owned = memory;
    bool first = closure && closure->side == CLOSURE_FIRST;
    Value *to = first ? owned + bound : owned;
    for (uint32_t i = 0; i < count; i++) to[i] = value_copy(arguments[i]);
    for (uint32_t i = 0; i < more; i++) to[count + i] = value_int(ints->dims[i]);
    to = first ? owned : owned + count + more;
    for (uint32_t i = 0; i < bound; i++) to[i] = value_copy(closure->bound[i]);
    call->tail_arguments = owned;
    call->tail_argument_count = total;
    if (closure) {
        call->tail_function = closure->function;
    } else {
        refcount_retain(callee->object);
        call->tail_packed = callee->packed_function;
    }
    return NULL;
}

RELAX(invoke_closure) {
    RELAX_UNUSED();
    return tail_call(call, &arguments[1], arguments + 2, count - 2, NULL);
}

RELAX(call_tir_dyn) {
    RELAX_UNUSED();
    if (count < 2 || !value_is(&arguments[count - 1], OBJECT_SHAPE))
        FAIL(INVALID, "the last argument is a %s, not a shape",
            value_kind_name(&arguments[count - 1]));
    return tail_call(call, &arguments[0], arguments + 1, count - 2, arguments[count - 1].shape);
}

RELAX(cuda_graph_run_or_capture) {
    RELAX_UNUSED();
    uint32_t fields;
    const Value *values = value_children(&arguments[2], &fields);
    return tail_call(call, &arguments[1], values, fields, NULL);
}

RELAX(cuda_graph_get_cached_alloc) {
    RELAX_UNUSED();
    return tail_call(call, &arguments[1], NULL, 0, NULL);
}

/* The function that a name stands for: of register_py_func, or of the host. */
static Error *find_function(PackedCall *call, const char *name, Value *out) {
    const Value *known;
    TRY(relax_names_find(call, RELAX_NAME_FUNCTION, name, &known));
    if (known) {
        *out = value_copy(*known);
        return NULL;
    }
    PackedObject *packed;
    TRY(packed_object_create(call->registry, name, &packed));
    *out = value_object(OBJECT_PACKED_FUNCTION, packed);
    return NULL;
}

RELAX(call_py_func) {
    RELAX_UNUSED();
    uint32_t fields, function_count;
    const Value *pair = value_children(&arguments[0], &fields);
    if (fields != 2) FAIL(INVALID, "the tuple has %u fields, not a name and arguments", fields);
    if (!value_is(&pair[0], OBJECT_STRING))
        FAIL(INVALID, "the name is a %s, not a string", value_kind_name(&pair[0]));
    if (!relax_is_tuple(&pair[1]))
        FAIL(INVALID, "the arguments are a %s, not a tuple", value_kind_name(&pair[1]));
    const Value *function_arguments = value_children(&pair[1], &function_count);
    Value function;
    TRY(find_function(call, pair[0].string->text, &function));
    Error *error = tail_call(call, &function, function_arguments, function_count, NULL);
    value_release(&function);
    return error;
}

RELAX(register_py_func) {
    RELAX_UNUSED();
    return relax_names_set(call, RELAX_NAME_FUNCTION, arguments[0].string->text, &arguments[1]);
}

RELAX(get_py_func) {
    RELAX_UNUSED();
    return find_function(call, arguments[0].string->text, out_result);
}

RELAX(clear_py_func_registry) {
    RELAX_UNUSED();
    return relax_names_remove(call, RELAX_NAME_FUNCTION, NULL);
}

/* The debug function's result is dropped, so it cannot be a tail call. */
RELAX(invoke_debug_func) {
    RELAX_UNUSED();
    if (arguments[0].tag != VALUE_NIL)
        FAIL(INVALID, "argument 0, the effect, is a %s, not nil", value_kind_name(&arguments[0]));
    OWN(PackedObject, packed) = NULL;
    TRY(packed_object_create(call->registry, arguments[1].string->text, &packed));
    Value result = value_nil();
    Error *error =
        packed_target_call(&packed->target, packed->name, call, arguments + 2, count - 2, &result);
    value_release(&result);
    TRY(error);
    if (call->tail_packed || call->tail_function != UINT32_MAX)
        FAIL(INVALID, "%s asks for a tail call, which a debug function may not", packed->name);
    return NULL;
}
